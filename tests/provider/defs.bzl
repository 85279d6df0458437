"""The plugin in the other layout, in the same build."""

load("//provider:defs.bzl", "HipdnnPluginInfo")
load("//tests/hermetic:defs.bzl", "legacy_transition")

def _impl(ctx):
    info = ctx.attr.plugin[0][HipdnnPluginInfo]
    if info.library.basename != "libMIOpen.so.1":
        fail("in the legacy layout %s is linked against %s" % (ctx.attr.plugin[0].label, info.library.basename))

    # Under a name of its own: in a tree of run files the layouts of one target would be one file.
    plugin = ctx.actions.declare_file(ctx.label.name + "/" + info.file.basename)
    ctx.actions.symlink(output = plugin, target_file = info.file)
    return [DefaultInfo(files = depset([plugin]))]

legacy_plugin = rule(
    implementation = _impl,
    doc = "The file of a hipdnn_provider_plugin() as built with --//shim:hipdnn_wrapper=false.",
    attrs = {
        "plugin": attr.label(
            cfg = legacy_transition,
            doc = "A hipdnn_provider_plugin().",
            mandatory = True,
            providers = [HipdnnPluginInfo],
        ),
    },
)
