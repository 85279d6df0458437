"""Bazel 7 still has these symbols built in; rules_go loads them from here."""

proto_common = proto_common_do_not_use
