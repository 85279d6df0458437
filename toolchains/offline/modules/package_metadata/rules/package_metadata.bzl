"""Licence metadata that rules_go attaches to its targets; nothing here reads it."""

_rule = rule(
    implementation = lambda ctx: [DefaultInfo()],
    attrs = {
        "attributes": attr.label_list(),
        "purl": attr.string(),
    },
)

def package_metadata(name, **kwargs):
    _rule(name = name, applicable_licenses = [], **kwargs)
