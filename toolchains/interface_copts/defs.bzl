"""Interface copts: compiler flags that a library wants its users to be compiled with.

Bazel's CcInfo carries include directories and defines to users, but no other flag, and none at all to cgo. A rename
header has to come before everything else, by `-include`, or a name escapes it. So a target may provide
InterfaceCoptsInfo, and these rules honour it:

    load("@miopen_hipdnn_shim//toolchains/interface_copts:defs.bzl", "interface_cc_library", "interface_go_library")

    interface_cc_library(
        name = "plugin",
        srcs = ["plugin.c"],
        deps = [":miopen.private"],
    )

    interface_go_library(
        name = "binding",
        srcs = ["binding.go"],
        importpath = "example.org/binding",
        interface = ":miopen.private",
    )
"""

load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("@rules_go//go:def.bzl", "go_library")

InterfaceCoptsInfo = provider(
    doc = "Compiler flags that every user of a target, direct or not, is to be compiled with.",
    fields = {
        "copts": "depset of tuples of strings: each tuple the flags of one target, as separate arguments, in their order.",
    },
)

# The Make variable by which interface_go_library() takes the flags; see interface_copts().
_MAKE_VARIABLE = "INTERFACE_COPTS"

def interface_copts(copts):
    """What a rule returns beside CcInfo to have its users compiled with copts.

    Args:
      copts: list of strings, separate arguments; an empty list asks for nothing.

    Returns:
      list of providers: InterfaceCoptsInfo, and the Make variable that interface_go_library() needs, since rules_go has no
      other way for flags that come from a target.
    """
    for copt in copts:
        if "," in copt or " " in copt or "$" in copt:
            fail("the interface copt %r has a comma, a space or a dollar sign, which do not get through to cgo" % copt)

    # rules_go replaces Make variables but takes what comes out as one argument: -Wp, passes a list to the preprocessor.
    # In cgo's generated code no flag but the preprocessor's own could matter. Never empty: an empty argument is a file to a compiler.
    return [
        InterfaceCoptsInfo(copts = depset([tuple(copts)] if copts else [])),
        platform_common.TemplateVariableInfo({
            _MAKE_VARIABLE: "-Wp," + ",".join(copts) if copts else "-DNO_INTERFACE_COPTS",
        }),
    ]

def _transitive(targets):
    return depset(transitive = [t[InterfaceCoptsInfo].copts for t in targets if InterfaceCoptsInfo in t])

def _aspect_impl(target, ctx):
    if InterfaceCoptsInfo in target:
        return []
    dependencies = []
    for name in _EDGES:
        value = getattr(ctx.rule.attr, name, None)
        if type(value) == "list":
            dependencies.extend(value)
        elif type(value) == "Target":
            dependencies.append(value)
    return [InterfaceCoptsInfo(copts = _transitive(dependencies))]

# Where headers of a dependency may be seen by users.
_EDGES = ["deps", "actual"]

_collect = aspect(
    implementation = _aspect_impl,
    doc = "Interface copts behind rules that know nothing of them, such as cc_library and alias.",
    attr_aspects = _EDGES,
)

def _interface_cc_library_impl(ctx):
    cc_toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        cc_toolchain = cc_toolchain,
        ctx = ctx,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    interface = _transitive(ctx.attr.deps)
    copts = [copt for group in interface.to_list() for copt in group]
    infos = [dep[CcInfo] for dep in ctx.attr.deps]
    is_header = lambda f: f.extension in ["h", "hh", "hpp", "inc"]
    package = ctx.label.package
    compilation, objects = cc_common.compile(
        name = ctx.label.name,
        actions = ctx.actions,
        cc_toolchain = cc_toolchain,
        compilation_contexts = [info.compilation_context for info in infos],
        defines = ctx.attr.defines,
        feature_configuration = features,
        local_defines = ctx.attr.local_defines,
        private_hdrs = [f for f in ctx.files.srcs if is_header(f)],
        public_hdrs = ctx.files.hdrs,
        srcs = [f for f in ctx.files.srcs if not is_header(f)],
        system_includes = [
            root + "/" + "/".join([part for part in [ctx.label.workspace_root, package, include] if part and part != "."])
            for include in ctx.attr.includes
            for root in [".", ctx.bin_dir.path]
        ],
        # What the interface asks for stands first, as the target's own flags may build on it.
        user_compile_flags = copts + [ctx.expand_location(ctx.expand_make_variables("copts", copt, {})) for copt in ctx.attr.copts],
    )
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        alwayslink = ctx.attr.alwayslink,
        cc_toolchain = cc_toolchain,
        compilation_outputs = objects,
        # Only an archive: a shared library of this target alone would have to resolve everything that the final link resolves.
        disallow_dynamic_library = True,
        feature_configuration = features,
        linking_contexts = [info.linking_context for info in infos],
        user_link_flags = ctx.attr.linkopts,
    )
    runfiles = ctx.runfiles(ctx.files.data)
    return [
        DefaultInfo(
            files = depset(objects.pic_objects or objects.objects),
            runfiles = runfiles.merge_all([dep[DefaultInfo].default_runfiles for dep in ctx.attr.deps + ctx.attr.data]),
        ),
        CcInfo(compilation_context = compilation, linking_context = linking),
        InterfaceCoptsInfo(copts = interface),
    ]

interface_cc_library = rule(
    implementation = _interface_cc_library_impl,
    doc = """A cc_library that is compiled with the interface copts of everything that it depends on, and passes them on.

They are found behind cc_library and alias targets too; those themselves are compiled without them, which is right for
what includes none of the headers in question, and for nothing else.""",
    attrs = {
        "alwayslink": attr.bool(doc = "Link every object, also those that nothing refers to."),
        "copts": attr.string_list(doc = "Further compiler flags, after those of the interfaces. Make variables are replaced."),
        "data": attr.label_list(
            allow_files = True,
            doc = "Files needed at run time.",
        ),
        "defines": attr.string_list(doc = "Macros for this target and its users."),
        "deps": attr.label_list(
            aspects = [_collect],
            doc = "Libraries; the interface copts of each apply.",
            providers = [CcInfo],
        ),
        "hdrs": attr.label_list(
            allow_files = [".h", ".hh", ".hpp", ".inc"],
            doc = "Headers for this target and its users.",
        ),
        "includes": attr.string_list(doc = "Include directories for this target and its users, relative to the package."),
        "linkopts": attr.string_list(doc = "Linker flags for whoever links this target."),
        "local_defines": attr.string_list(doc = "Macros for this target alone."),
        "srcs": attr.label_list(
            allow_files = [".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".inc", ".S", ".s"],
            doc = "Sources, and headers for this target alone.",
        ),
    },
    fragments = ["cpp"],
    provides = [CcInfo, InterfaceCoptsInfo],
    toolchains = use_cc_toolchain(),
)

def interface_go_library(name, interface, cdeps = [], copts = [], toolchains = [], **kwargs):
    """A go_library with cgo whose C code is compiled with the interface copts of one target.

    gazelle keeps such targets up to date with `# gazelle:map_kind go_library interface_go_library
    @miopen_hipdnn_shim//toolchains/interface_copts:defs.bzl`.

    Args:
      name: name of the target.
      interface: label of a C or C++ library with interface copts of its own, such as the private library of a miopen_shim().
        The C code is compiled and linked against it.
      cdeps: further C and C++ libraries.
      copts: further compiler flags, after those of the interface.
      toolchains: as of go_library.
      **kwargs: attributes of go_library.
    """
    go_library(
        name = name,
        cdeps = cdeps + [interface],
        cgo = True,
        copts = ["$(%s)" % _MAKE_VARIABLE] + copts,
        toolchains = toolchains + [interface],
        **kwargs
    )
