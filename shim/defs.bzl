"""Rules that put the shim in front of a MIOpen library.

    load("@miopen_hipdnn_shim//shim:defs.bzl", "miopen_shim")

    miopen_shim(
        name = "miopen",
        headers = "@rocm_local//:headers",
        miopen = "@rocm_local//:miopen",
    )

`:miopen` is linked against like any cc_library and gives libMIOpen.so.1, the wrapper, and
libMIOpen_private.so.1, the implementation with every public entry point renamed miopenFoo_impl.
`:miopen.private` is the implementation alone, for code that must not come back through the wrapper. It asks for compiler
flags that rename the entry points; //toolchains/interface_copts:defs.bzl has the rules that honour them. Code that is
compiled by other rules includes miopen/miopen_impl.h and uses the private names.

With `--@miopen_hipdnn_shim//shim:hipdnn_wrapper=false` the same targets give the legacy layout: the stock
library as it is, and no private library.
"""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("@rules_cc//cc:action_names.bzl", "ACTION_NAMES")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//toolchains/interface_copts:defs.bzl", "InterfaceCoptsInfo", "interface_copts")

# target_compatible_with for targets that use the `_impl` names: the legacy layout has none.
SPLIT_LAYOUT = select({
    Label("//shim:legacy_layout"): [Label("//shim:needs_hipdnn_wrapper")],
    "//conditions:default": [],
})

# How whoever uses the private library by its public header is compiled. The names are those with which MIOpen itself is
# compiled into a private library.
PRIVATE_INTERFACE_COPTS = [
    "-DMIOPEN_BUILDING_PRIVATE",
    "-include",
    "miopen_private_rename.h",
]

MiopenShimInfo = provider(
    doc = "The files of one MIOpen installation, split or legacy.",
    fields = {
        "cxx_linker_script": "File: libMIOpen.so for consumers that need the private library's C++ names too, None in the legacy layout.",
        "development_link": "File: libMIOpen.so, the symbolic link that -lMIOpen and dlopen by hosts use.",
        "headers": "depset of File: the generated headers, empty in the legacy layout.",
        "include_dir": "string: the directory of the generated headers, None in the legacy layout.",
        "layout": "string: `split` or `legacy`.",
        "library": "File: libMIOpen.so.1, the wrapper, or the stock library in the legacy layout.",
        "manifest": "File: manifest.json, None in the legacy layout.",
        "private_library": "File: libMIOpen_private.so.1, None in the legacy layout.",
        "stock": "File: the library that was split.",
        "symbols": "File: Debian symbols file of libMIOpen.so.1, None in the legacy layout.",
    },
)

def _library_file(files, attribute):
    libraries = [f for f in files if ".so" in f.basename]
    if len(libraries) != 1:
        fail("%s must give exactly one shared library, it gives %s" % (attribute, [f.short_path for f in files]))
    return libraries[0]

def _api_header(compilation_context):
    for f in compilation_context.headers.to_list():
        if f.path.endswith("miopen/miopen.h"):
            return f
    return None

def _dynamic_linking_context(ctx, cc_toolchain, features, libraries):
    return cc_common.create_linking_context(linker_inputs = depset([cc_common.create_linker_input(
        owner = ctx.label,
        libraries = depset([
            cc_common.create_library_to_link(
                actions = ctx.actions,
                cc_toolchain = cc_toolchain,
                dynamic_library = library,
                feature_configuration = features,
                interface_library = interface,
            )
            for library, interface in libraries
        ]),
    )]))

def _miopen_shim_impl(ctx):
    cc_toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        cc_toolchain = cc_toolchain,
        ctx = ctx,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    stock = _library_file(ctx.files.miopen, "miopen")
    public_headers = ctx.attr.headers[CcInfo].compilation_context if ctx.attr.headers else cc_common.create_compilation_context()

    def output(path):
        return ctx.actions.declare_file(ctx.label.name + "/" + path)

    library = output("libMIOpen.so.1")
    development_link = ctx.actions.declare_symlink(ctx.label.name + "/libMIOpen.so")

    if not ctx.attr._hipdnn_wrapper[BuildSettingInfo].value:
        ctx.actions.symlink(output = library, target_file = stock)
        ctx.actions.symlink(output = development_link, target_path = library.basename)
        info = MiopenShimInfo(
            cxx_linker_script = None,
            development_link = development_link,
            headers = depset(),
            include_dir = None,
            layout = "legacy",
            library = library,
            manifest = None,
            private_library = None,
            stock = stock,
            symbols = None,
        )
        libraries = [(library, None)]
        at_run_time = [library, development_link]
        packaged = []
    else:
        info = _split(ctx, cc_toolchain, features, stock, library, development_link, public_headers, output)

        # The private library travels with the wrapper at run time, in the same directory, but has nothing for
        # the linker: an interface library that is an empty linker script adds neither names nor DT_NEEDED. It is in
        # a folder of its own, since the split owns the one with the libraries and refuses what it did not make.
        nothing = ctx.actions.declare_file(ctx.label.name + ".link/libMIOpen_private.ifso")
        ctx.actions.write(nothing, "/* libMIOpen_private.so.1: loaded by libMIOpen.so.1, not linked against. */\n")
        libraries = [(library, None), (info.private_library, nothing)]
        at_run_time = [library, info.private_library, development_link]
        packaged = [info.cxx_linker_script, info.manifest, info.symbols]

    return [
        DefaultInfo(
            files = depset(at_run_time + packaged, transitive = [info.headers]),
            runfiles = ctx.runfiles(at_run_time),
        ),
        info,
        CcInfo(
            compilation_context = public_headers,
            linking_context = _dynamic_linking_context(ctx, cc_toolchain, features, libraries),
        ),
        OutputGroupInfo(
            headers = info.headers,
            manifest = depset([f for f in [info.manifest] if f]),
            symbols = depset([f for f in [info.symbols] if f]),
        ),
    ]

def _split(ctx, cc_toolchain, features, stock, library, development_link, public_headers, output):
    api_header = _api_header(public_headers)
    private_library = output("libMIOpen_private.so.1")
    cxx = output("cxx/libMIOpen.so")
    headers = [output("include/miopen_private_rename.h"), output("include/miopen/miopen_hipdnn_shim.h")]
    if api_header:
        headers.append(output("include/miopen/miopen_impl.h"))
    manifest = output("manifest.json")
    symbols = output("libmiopen1.symbols")

    compiler = cc_common.get_tool_for_action(
        action_name = ACTION_NAMES.c_compile,
        feature_configuration = features,
    )
    variables = cc_common.create_compile_variables(cc_toolchain = cc_toolchain, feature_configuration = features)
    arguments = ctx.actions.args()
    arguments.add("split")
    arguments.add("--quiet")
    arguments.add("--in", stock)
    arguments.add("--out", manifest.dirname)
    arguments.add("--cc", compiler)
    if cc_toolchain.sysroot:
        arguments.add("--cc-flag=--sysroot=" + cc_toolchain.sysroot)
    inputs = [cc_toolchain.all_files]
    if api_header:
        # The header is compiled, for the types of the entry points, with all that it includes.
        arguments.add("--header", api_header)
        arguments.add_all(
            depset(transitive = [
                public_headers.includes,
                public_headers.system_includes,
                public_headers.external_includes,
            ]),
            before_each = "--include",
        )
        arguments.add_all(public_headers.defines, format_each = "--cc-flag=-D%s")
        inputs.append(public_headers.headers)
    arguments.add_all(ctx.attr.runpath, format_each = "--runpath=%s")
    ctx.actions.run(
        arguments = [arguments],
        env = cc_common.get_environment_variables(
            action_name = ACTION_NAMES.c_compile,
            feature_configuration = features,
            variables = variables,
        ),
        executable = ctx.executable._tool,
        inputs = depset([stock], transitive = inputs),
        mnemonic = "MiopenSplit",
        outputs = [library, private_library, development_link, cxx, manifest, symbols] + headers,
        progress_message = "Splitting " + stock.short_path,
        use_default_shell_env = True,
    )
    return MiopenShimInfo(
        cxx_linker_script = cxx,
        development_link = development_link,
        headers = depset(headers),
        include_dir = manifest.dirname + "/include",
        layout = "split",
        library = library,
        manifest = manifest,
        private_library = private_library,
        stock = stock,
        symbols = symbols,
    )

_miopen_shim = rule(
    implementation = _miopen_shim_impl,
    doc = "Splits a MIOpen library and presents the wrapper as a C and C++ library. Use miopen_shim().",
    attrs = {
        "headers": attr.label(
            doc = "MIOpen's headers and those that they include, a cc_library. Without them no miopen_impl.h is made, and traces have no durations.",
            providers = [CcInfo],
        ),
        "miopen": attr.label(
            allow_files = True,
            doc = "The stock libMIOpen.so.1, or one compiled with -DMIOPEN_BUILDING_PRIVATE -include miopen_private_rename.h.",
            mandatory = True,
        ),
        "runpath": attr.string_list(
            doc = "DT_RUNPATH of the private library, in order. Empty: as the stock library has it, which leads elsewhere when it is relative to $ORIGIN.",
        ),
        "_hipdnn_wrapper": attr.label(default = "//shim:hipdnn_wrapper"),
        "_tool": attr.label(
            cfg = "exec",
            default = "//shim/cmd/miopen-shim",
            executable = True,
        ),
    },
    fragments = ["cpp"],
    provides = [CcInfo, MiopenShimInfo],
    toolchains = use_cc_toolchain(),
)

def _private_impl(ctx):
    info = ctx.attr.shim[MiopenShimInfo]
    public = ctx.attr.shim[CcInfo]
    if info.layout == "legacy":
        # buildifier: disable=print
        print("%s: the legacy single-library layout has no private library, the public one stands in" % ctx.label)
        return [ctx.attr.shim[DefaultInfo], info, public] + interface_copts([])
    cc_toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        cc_toolchain = cc_toolchain,
        ctx = ctx,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    generated = cc_common.create_compilation_context(
        headers = info.headers,
        includes = depset([info.include_dir]),
    )
    return [
        DefaultInfo(files = depset([info.private_library]), runfiles = ctx.runfiles([info.private_library])),
        info,
        CcInfo(
            compilation_context = cc_common.merge_compilation_contexts(
                compilation_contexts = [public.compilation_context, generated],
            ),
            linking_context = _dynamic_linking_context(ctx, cc_toolchain, features, [(info.private_library, None)]),
        ),
    ] + interface_copts(PRIVATE_INTERFACE_COPTS)

_miopen_shim_private = rule(
    implementation = _private_impl,
    doc = "The private library of a miopen_shim() as a C and C++ library, with its generated headers.",
    attrs = {"shim": attr.label(
        doc = "A miopen_shim().",
        mandatory = True,
        providers = [MiopenShimInfo, CcInfo],
    )},
    fragments = ["cpp"],
    provides = [CcInfo, InterfaceCoptsInfo, MiopenShimInfo, platform_common.TemplateVariableInfo],
    toolchains = use_cc_toolchain(),
)

def miopen_shim(name, miopen, headers = None, runpath = [], **kwargs):
    """Puts the shim in front of one MIOpen library.

    Targets: `name`, the wrapper to link against; `name.private`, the private library with
    miopen_private_rename.h and miopen/miopen_impl.h on the include path, and interface copts that rename what miopen/miopen.h
    declares.

    Args:
      name: name of the public target; files go to a directory of this name.
      miopen: label of the stock libMIOpen.so.1, or of one that was renamed when it was compiled.
      headers: label of a cc_library with MIOpen's headers.
      runpath: DT_RUNPATH of the private library, a list; empty keeps what the stock library has. A ROCm whose libraries
        find each other by $ORIGIN needs LIBRARY_PATH of its repository's status.bzl here.
      **kwargs: visibility, tags, target_compatible_with and the like, for both targets.
    """
    _miopen_shim(name = name, miopen = miopen, headers = headers, runpath = runpath, **kwargs)
    _miopen_shim_private(name = name + ".private", shim = ":" + name, **kwargs)
