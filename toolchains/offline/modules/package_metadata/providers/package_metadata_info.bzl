"""Licence metadata that rules_go attaches to its targets; nothing here reads it."""

PackageMetadataInfo = provider(
    "Where a package's licence metadata is.",
    fields = ["metadata", "files"],
)
