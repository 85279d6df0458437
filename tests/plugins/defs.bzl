"""One plugin, linked in every way that a provider may be."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library")
load("//toolchains/interface_copts:defs.bzl", "interface_cc_library")

_LINKOPTS = [
    "-Wl,--version-script=$(location src/plugin.map)",
    # Also where nothing binds to it: which library is asked for is what the variants are about.
    "-Wl,--no-as-needed",
]

def plugin_variants(name, shim, **kwargs):
    """The variants for one split: shared libraries `name.VARIANT.so`.

    public: against the wrapper. unrenamed: against the private library, with the public names, as upstream's provider was
    wired. interface_copts: the same source, with the flags that the private library asks for. impl_header: the private names of
    miopen/miopen_impl.h, without flags.

    Args:
      name: prefix of the targets.
      shim: label of a miopen_shim().
      **kwargs: for all targets.
    """
    private = shim + ".private"
    cc_library(name = name + ".public.code", srcs = ["src/plugin.c"], alwayslink = True, deps = [shim], **kwargs)
    cc_library(name = name + ".unrenamed.code", srcs = ["src/plugin.c"], alwayslink = True, deps = [private], **kwargs)
    interface_cc_library(name = name + ".interface_copts.code", srcs = ["src/plugin.c"], alwayslink = True, deps = [private], **kwargs)
    cc_library(
        name = name + ".impl_header.code",
        srcs = ["src/plugin.c"],
        local_defines = ["IMPL_NAMES"],
        alwayslink = True,
        deps = [private],
        **kwargs
    )
    for variant in ["public", "unrenamed", "interface_copts", "impl_header"]:
        cc_binary(
            name = "%s.%s.so" % (name, variant),
            additional_linker_inputs = ["src/plugin.map"],
            linkopts = _LINKOPTS,
            linkshared = True,
            deps = [":%s.%s.code" % (name, variant)],
            **kwargs
        )
