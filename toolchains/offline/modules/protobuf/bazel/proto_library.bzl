"""Bazel 7 still has this rule built in; rules_go loads it from here."""

def proto_library(**kwargs):
    native.proto_library(**kwargs)
