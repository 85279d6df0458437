"""The other layout, in the same build."""

load("//shim:defs.bzl", "MiopenShimInfo")

legacy_transition = transition(
    implementation = lambda settings, attr: {"//shim:hipdnn_wrapper": False},
    inputs = [],
    outputs = ["//shim:hipdnn_wrapper"],
)

def _impl(ctx):
    info = ctx.attr.target[0][MiopenShimInfo]
    files = sorted([f.basename for f in ctx.attr.target[0][DefaultInfo].files.to_list()])
    if info.layout != "legacy" or info.private_library or files != ["libMIOpen.so", "libMIOpen.so.1"]:
        fail("the %s layout of %s has %s" % (info.layout, ctx.attr.target[0].label, files))

    # Under a name of its own: in a tree of run files the layouts of one target would be one file.
    library = ctx.actions.declare_file(ctx.label.name + "/" + info.library.basename)
    ctx.actions.symlink(output = library, target_file = info.library)
    return [DefaultInfo(files = depset([library]))]

legacy_layout = rule(
    implementation = _impl,
    doc = "libMIOpen.so.1 of a miopen_shim() as built with --//shim:hipdnn_wrapper=false, and only that if that is all.",
    attrs = {
        "target": attr.label(
            cfg = legacy_transition,
            doc = "A miopen_shim().",
            providers = [MiopenShimInfo],
            mandatory = True,
        ),
    },
)
