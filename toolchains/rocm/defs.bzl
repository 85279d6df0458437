"""For targets that need a real MIOpen."""

# target_compatible_with for them: with --//toolchains/rocm:miopen=none Bazel skips the target, and names
# //toolchains/rocm:needs_config_realmiopen as the constraint that no platform has. Targets that depend on the aliases
# in //toolchains/rocm do not need it, since an incompatible dependency makes its user incompatible too.
REAL_MIOPEN = select({
    Label("//toolchains/rocm:miopen_is_none"): [Label("//toolchains/rocm:needs_config_realmiopen")],
    "//conditions:default": [],
})
