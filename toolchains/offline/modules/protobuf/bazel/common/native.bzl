"""The built-in provider under another name, since a .bzl file cannot re-export a global."""

NativeProtoInfo = ProtoInfo
