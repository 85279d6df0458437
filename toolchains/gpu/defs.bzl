"""The architectures of GPUs that targets can ask for."""

# One line for each. What follows from a line: the constraint //toolchains/gpu:<architecture>, the platform
# //toolchains/gpu:<architecture>_platform, and the tags of device tests. A --config in .bazelrc is the other half.
ARCHITECTURES = [
    "gfx942",
]

# target_compatible_with for what needs a device: one of the architectures as the target platform, and a choice whether
# the device is real. Bazel names the constraint that is missing when it skips such a target.
NEEDS_DEVICE = select({
    Label("//toolchains/gpu:" + architecture): [Label("//toolchains/gpu:" + architecture)]
    for architecture in ARCHITECTURES
} | {"//conditions:default": [Label("//toolchains/gpu:" + ARCHITECTURES[0])]}) + select({
    Label("//toolchains/gpu:device_is_none"): [Label("//toolchains/gpu:needs_config_gfx942_or_simulated")],
    "//conditions:default": [],
})

# exec_properties for tests that need a device: remote execution runs the test, not the actions that build it, in the
# pool of the architecture. Pool is what BuildBuddy calls it; Buildbarn's workers have whatever properties their
# configuration lists. Nothing is asked for when the device is simulated.
DEVICE_POOL = select({
    Label("//toolchains/gpu:hardware_" + architecture): {"test.Pool": architecture}
    for architecture in ARCHITECTURES
} | {"//conditions:default": {}})

def device_tags(architectures = ARCHITECTURES):
    """The tags of a test that needs a device.

    Args:
      architectures: those that it can run on

    Returns:
      for each architecture its name and requires-gpu-<architecture>, for --test_tag_filters; and resources:gpu:1, so
      that Bazel starts no more such tests at once on this machine than --local_resources=gpu=N says there are GPUs
    """
    tags = ["resources:gpu:1"]
    for architecture in architectures:
        tags += [architecture, "requires-gpu-" + architecture]
    return tags
