"""Builds of the reference library."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

def refmiopen(name, exports, copts = [], hdrs = [], soname = "libMIOpen.so.1", aliases = False, **kwargs):
    """One build of the reference library, as the shared library that its name says.

    Args:
      name: name of the shared library's file; it may be in a subfolder.
      exports: file with the names that the library exports, one per line.
      copts: further compiler flags.
      hdrs: headers that the flags name.
      soname: DT_SONAME.
      aliases: a renamed library exports the public names too, each as another name for the private one.
      **kwargs: for all targets.
    """
    folder = "_" + name.replace("/", "_").replace(".", "_")
    native.genrule(
        name = folder + "_not_implemented",
        srcs = [
            exports,
            "src/implemented.txt",
        ],
        outs = [folder + "/not_implemented.inc"],
        cmd = "grep -vxFf $(location src/implemented.txt) $(location %s) | sed 's/.*/NOT_IMPLEMENTED(&)/' >$@" % exports,
        **kwargs
    )
    options = []
    if aliases:
        options = [folder + "/aliases.txt"]
        native.genrule(
            name = folder + "_aliases",
            srcs = [exports],
            outs = options,
            cmd = "sed 's/.*/--defsym=&=&_impl/' $< >$@",
            **kwargs
        )
    cc_binary(
        name = name,
        srcs = native.glob([
            "src/*.c",
            "src/*.cpp",
            "src/*.hpp",
            "include/**/*.h",
        ]) + [folder + "_not_implemented"] + hdrs,
        additional_linker_inputs = ["src/libmiopen.map"] + options,
        copts = [
            "-O2",
            "-Itests/refmiopen/include",
            "-I$(GENDIR)/tests/refmiopen/" + folder,
        ] + copts,
        cxxopts = ["-std=c++17"],
        linkopts = [
            "-Wl,-soname," + soname,
            "-Wl,--version-script=$(location src/libmiopen.map)",
            "-Wl,-rpath,$$ORIGIN",
            "-Wl,--enable-new-dtags",
            "-Wl,-z,now",
            "-Wl,--hash-style=gnu",
            "-Wl,--build-id",
            "-ldl",
        ] + ["-Wl,@$(location %s)" % o for o in options],
        linkshared = True,
        **kwargs
    )
