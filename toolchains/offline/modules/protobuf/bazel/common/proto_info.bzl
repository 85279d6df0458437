"""Bazel 7 still has these symbols built in; rules_go loads them from here."""

load(":native.bzl", "NativeProtoInfo")

ProtoInfo = NativeProtoInfo
