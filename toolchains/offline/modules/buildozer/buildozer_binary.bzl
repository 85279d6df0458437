"""Stands in for the buildozer module: gazelle names this extension and never builds it here."""

_empty = repository_rule(lambda rctx: rctx.file("BUILD.bazel", ""))
buildozer_binary = module_extension(lambda mctx: _empty(name = "buildozer_binary"))
