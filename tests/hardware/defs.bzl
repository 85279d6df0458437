"""Tests that need a device: a GPU, or a simulated one."""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("@rules_go//go:def.bzl", "go_test")
load("//toolchains/gpu:defs.bzl", "ARCHITECTURES", "DEVICE_POOL", "NEEDS_DEVICE", "device_tags")

def _rlocation(ctx, file):
    if file.short_path.startswith("../"):
        return file.short_path.removeprefix("../")
    return ctx.workspace_name + "/" + file.short_path

def _device_description_impl(ctx):
    architectures = [
        value.label.name
        for value in ctx.attr._architectures
        if ctx.target_platform_has_constraint(value[platform_common.ConstraintValueInfo])
    ]
    if len(architectures) != 1:
        fail("the target platform has no architecture of //toolchains/gpu: choose one with --config=gfx942 or --config=simulated")
    kind = ctx.attr._device[BuildSettingInfo].value
    description = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(description, json.encode_indent({
        "architecture": architectures[0],
        "kind": kind,
        "libraries": [_rlocation(ctx, file) for file in ctx.files.libraries],
    }, indent = "  ") + "\n")
    return [DefaultInfo(
        files = depset([description]),
        runfiles = ctx.runfiles([description] + ctx.files.libraries),
    )]

device_description = rule(
    implementation = _device_description_impl,
    doc = "A file that tells the Go package tests/hardware/device which device tests run on. Its runfiles bring the libraries.",
    attrs = {
        "libraries": attr.label_list(
            doc = "HIP's runtime for a simulated device, empty for a GPU.",
            allow_files = True,
        ),
        "_architectures": attr.label_list(
            default = [Label("//toolchains/gpu:" + architecture) for architecture in ARCHITECTURES],
            providers = [platform_common.ConstraintValueInfo],
        ),
        "_device": attr.label(
            default = "//toolchains/gpu:device",
            providers = [BuildSettingInfo],
        ),
    },
)

def device_test(name, data = [], env = {}, tags = [], target_compatible_with = [], **kwargs):
    """A go_test that runs the real MIOpen, stock and split, on a device.

    The test is skipped unless a device was chosen (see //toolchains/gpu), and the same target runs on whichever it is:
    device.Take(t) in tests/hardware/device gives it. All it uses is declared, save an installed ROCm, which is used
    where it is and whose layout.json, with the library's checksum, is an input.

    The test finds in its environment, for tests/runfile:
      DEVICE  the description of the device
      LAYOUT  layout.json of the ROCm, see toolchains/rocm/layout
      SHIM    the files of the split

    Args:
      name: name of the test
      data: files besides those
      env: variables besides those
      tags: tags besides those that say which GPUs it is for
      target_compatible_with: what it needs besides a device
      **kwargs: for go_test
    """
    go_test(
        name = name,
        data = data + [
            "//tests/hardware:device_description",
            "//tests/realmiopen:shim",
            "//toolchains/rocm:layout",
        ],
        env = env | {
            "DEVICE": "$(rlocationpath //tests/hardware:device_description)",
            "LAYOUT": "$(rlocationpath //toolchains/rocm:layout)",
            "SHIM": "$(rlocationpaths //tests/realmiopen:shim)",
        },
        exec_properties = DEVICE_POOL,
        tags = tags + device_tags(),
        target_compatible_with = NEEDS_DEVICE + target_compatible_with,
        **kwargs
    )
