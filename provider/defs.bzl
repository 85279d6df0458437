"""The hipDNN engine plugin for one MIOpen.

    load("@miopen_hipdnn_shim//provider:defs.bzl", "hipdnn_provider_plugin")
    load("@miopen_hipdnn_shim//shim:defs.bzl", "miopen_shim")

    miopen_shim(name = "miopen", ...)
    hipdnn_provider_plugin(name = "plugin", shim = ":miopen")

`:plugin` is libmiopen_private_plugin.so, linked against the private library of `:miopen`. It is to be installed as a
regular file, since hipDNN passes over links, in hipdnn_plugins/engines beside libMIOpen_private.so.1 and libmiopen_hipdnn.so.1.
"""

load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//shim:defs.bzl", "MiopenShimInfo")
load("//toolchains/interface_copts:defs.bzl", "interface_cc_library")

HipdnnPluginInfo = provider(
    doc = "A hipDNN engine plugin, and where it belongs.",
    fields = {
        "file": "File: the plugin.",
        "folder": "string: its folder, relative to that of the MIOpen libraries.",
        "library": "File: the MIOpen library that it is linked against.",
    },
)

# Where hipDNN looks for engine plugins, relative to its own library. MIOpen's libraries are installed in the same folder.
_FOLDER = "hipdnn_plugins/engines"

def _plugin_impl(ctx):
    cc_toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        cc_toolchain = cc_toolchain,
        ctx = ctx,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    shim = ctx.attr.shim[MiopenShimInfo]
    library = shim.private_library or shim.library
    objects = [f for f in ctx.files.api if f.extension == "o"]
    if len(objects) != 1:
        fail("%s must give one object, it gives %s" % (ctx.attr.api.label, [f.short_path for f in ctx.files.api]))

    # The library is an input and not a dependency: a dependency would add the folders of this build to the RUNPATH.
    linked = cc_common.link(
        name = ctx.label.name + "/miopen_private_plugin",
        actions = ctx.actions,
        additional_inputs = [library, ctx.file._exports],
        cc_toolchain = cc_toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = depset(objects),
            pic_objects = depset(objects),
        ),
        feature_configuration = features,
        linking_contexts = [ctx.attr._code[CcInfo].linking_context],
        output_type = "dynamic_library",
        user_link_flags = [
            "-Wl,-soname,libmiopen_private_plugin.so",
            "-Wl,--version-script=" + ctx.file._exports.path,
            "-Wl,-rpath,$ORIGIN/" + "/".join([".." for _ in _FOLDER.split("/")]),
            "-Wl,--enable-new-dtags",
            "-Wl,--build-id",
            "-Wl,-z,now",
            "-Wl,-z,relro",
            # Handlers of forks and of the ends of threads stay behind.
            "-Wl,-z,nodelete",
            # Nothing may be left to be found in some other library of the process.
            "-Wl,-z,defs",
            "-Wl,--no-as-needed",
            library.path,
            "-Wl,--as-needed",
            "-lpthread",
            "-ldl",
        ],
    ).library_to_link.resolved_symlink_dynamic_library
    return [
        DefaultInfo(
            files = depset([linked]),
            runfiles = ctx.runfiles([linked]),
        ),
        HipdnnPluginInfo(file = linked, folder = _FOLDER, library = library),
    ]

_hipdnn_provider_plugin = rule(
    implementation = _plugin_impl,
    doc = "Links the plugin. Use hipdnn_provider_plugin().",
    attrs = {
        "api": attr.label(
            doc = "The table of MIOpen's functions, compiled for this shim.",
            mandatory = True,
        ),
        "shim": attr.label(
            doc = "A miopen_shim(), or its private library.",
            mandatory = True,
            providers = [MiopenShimInfo],
        ),
        "_code": attr.label(
            default = "//provider/plugin",
            providers = [CcInfo],
        ),
        "_exports": attr.label(
            allow_single_file = True,
            default = "//provider/plugin:src/plugin.map",
        ),
    },
    fragments = ["cpp"],
    provides = [HipdnnPluginInfo],
    toolchains = use_cc_toolchain(),
)

def hipdnn_provider_plugin(name, shim, **kwargs):
    """The engine plugin libmiopen_private_plugin.so for one MIOpen.

    In the legacy layout it is linked against the one MIOpen library that there is.

    Args:
      name: name of the target; the file is in a folder of this name.
      shim: label of a miopen_shim() with headers.
      **kwargs: visibility, tags, target_compatible_with and the like.
    """
    private = native.package_relative_label(shim)
    private = private.same_package_label(private.name + ".private")
    interface_cc_library(
        name = name + ".api",
        srcs = [Label("//provider/plugin:src/private_api.cpp")],
        copts = [
            "-O2",
            "-std=c++17",
            "-fvisibility=hidden",
            "-fno-exceptions",
            "-fno-rtti",
        ],
        deps = [
            Label("//provider/plugin:private_api_header"),
            private,
        ],
        **kwargs
    )
    _hipdnn_provider_plugin(
        name = name,
        api = ":" + name + ".api",
        shim = shim,
        **kwargs
    )
