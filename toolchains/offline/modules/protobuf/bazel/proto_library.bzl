"""Bazel 7 still has this rule built in; rules_go loads it from here."""

load("@protobuf//bazel:proto_library.bzl", "proto_library")

def proto_library(**kwargs):
    proto_library(**kwargs)
