"""Builds of the simulated HIP runtime."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

def simhip(name, soname, **kwargs):
    """One build of simhip, as the shared library that its name says.

    Args:
      name: name of the shared library's file; it may be in a subfolder.
      soname: DT_SONAME: which major version of HIP's runtime it stands in for.
      **kwargs: for the target.
    """
    cc_binary(
        name = name,
        srcs = native.glob([
            "src/*.cpp",
            "src/*.hpp",
        ]),
        additional_linker_inputs = ["libamdhip64.map"],
        copts = [
            "-O2",
            "-fvisibility=hidden",
            "-fvisibility-inlines-hidden",
            "-Itests/simhip/src",
        ],
        cxxopts = ["-std=c++17"],
        linkopts = [
            "-Wl,-soname," + soname,
            "-Wl,--version-script=$(location libamdhip64.map)",
            # Streams' threads run until the process ends, so the code must stay.
            "-Wl,-z,nodelete",
            "-Wl,-z,now",
            "-Wl,--build-id",
            "-Wl,--no-undefined",
            "-pthread",
            "-ldl",
            # It runs under the C library of the ROCm's prefix, whose libstdc++ may be any: so this one's is inside. The
            # toolchain names -lstdc++ once more behind these, which is then not needed.
            "-static-libgcc",
            "-Wl,--push-state,-Bstatic",
            "-lstdc++",
            "-Wl,--pop-state",
            "-Wl,--as-needed",
        ],
        linkshared = True,
        deps = [
            ":headers",
            "//tests/simhip/src/isa",
            "//tests/simhip/src/kernels",
        ],
        **kwargs
    )
