"""Bazel 7 still has these symbols built in; rules_go loads them from here."""

ProtoLangToolchainInfo = proto_common_do_not_use.ProtoLangToolchainInfo
