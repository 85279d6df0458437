"""Licence metadata that rules_go attaches to its targets; nothing here reads it."""

PackageMetadataInfo = provider(fields = ["metadata", "files"])
