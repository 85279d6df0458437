"""The built-in provider under another name, since a .bzl file cannot re-export a global."""

load("@protobuf//bazel/common:proto_info.bzl", "ProtoInfo")

NativeProtoInfo = ProtoInfo
