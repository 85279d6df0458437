"""The answers for Bazel 7.7 to the questions that rules_go and rules_shell ask."""

bazel_features = struct(
    external_deps = struct(
        is_bzlmod_enabled = True,
        extension_metadata_has_reproducible = True,
        module_extension_has_os_arch_dependent = True,
    ),
    rules = struct(instrumented_files_info_has_baseline_coverage_files = False),
)
