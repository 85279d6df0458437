"""Who is compiled with interface copts and who is not, without compiling anything."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//shim:defs.bzl", "PRIVATE_INTERFACE_COPTS")
load(":defs.bzl", "InterfaceCoptsInfo", "interface_cc_library")

def _copts(target):
    if InterfaceCoptsInfo not in target:
        return None
    return [copt for group in target[InterfaceCoptsInfo].copts.to_list() for copt in group]

def _rename_headers(target):
    return [f.basename for f in target[CcInfo].compilation_context.headers.to_list() if f.basename in [
        "miopen_private_rename.h",
        "miopen_impl.h",
    ]]

def _asks_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, ctx.attr.copts, _copts(target))
    asserts.equals(env, 2 if ctx.attr.copts else 0, len(_rename_headers(target)))
    return analysistest.end(env)

_asks_test = analysistest.make(_asks_impl, attrs = {"copts": attr.string_list()})
_asks_in_legacy_test = analysistest.make(
    _asks_impl,
    attrs = {"copts": attr.string_list()},
    config_settings = {str(Label("//shim:hipdnn_wrapper")): False},
)

def _asks_nothing_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, None, _copts(target))
    asserts.equals(env, [], _rename_headers(target))
    asserts.true(env, target[CcInfo].compilation_context.headers.to_list(), "the public headers are there")
    return analysistest.end(env)

_asks_nothing_test = analysistest.make(_asks_nothing_impl)

def _compiled_impl(ctx):
    env = analysistest.begin(ctx)
    compiled = [a for a in analysistest.target_actions(env) if a.mnemonic == "CppCompile"]
    asserts.equals(env, 1, len(compiled))
    for action in compiled:
        times = len([a for a in action.argv if a == "miopen_private_rename.h"])
        asserts.equals(env, 1 if ctx.attr.renamed else 0, times)
    return analysistest.end(env)

_compiled_test = analysistest.make(_compiled_impl, attrs = {"renamed": attr.bool()})

def interface_copts_test_suite(name):
    """The tests, on the reference library's split.

    Args:
      name: name of the test_suite.
    """
    native.genrule(name = "source", outs = ["source.c"], cmd = "echo 'int translation_unit;' >$@", tags = ["manual"])
    private = "//tests/refmiopen:shim.private"

    # As code between the private library and a plugin may stand: a plain library, and another name for it.
    cc_library(name = "plain", srcs = [":source"], deps = [private], tags = ["manual"])
    native.alias(name = "another_name", actual = ":plain", tags = ["manual"])
    interface_cc_library(name = "direct", srcs = [":source"], deps = [private], tags = ["manual"])
    interface_cc_library(name = "behind", srcs = [":source"], deps = [":another_name", ":direct"], tags = ["manual"])
    interface_cc_library(name = "public", srcs = [":source"], deps = ["//tests/refmiopen:shim"], tags = ["manual"])

    _asks_test(name = "private_test", copts = PRIVATE_INTERFACE_COPTS, target_under_test = private)
    _asks_test(name = "behind_test", copts = PRIVATE_INTERFACE_COPTS, target_under_test = ":behind")
    _asks_in_legacy_test(name = "legacy_test", copts = [], target_under_test = private)
    _asks_nothing_test(name = "public_test", target_under_test = "//tests/refmiopen:shim")
    _compiled_test(name = "direct_compiled_test", renamed = True, target_under_test = ":direct")
    _compiled_test(name = "behind_compiled_test", renamed = True, target_under_test = ":behind")
    _compiled_test(name = "plain_compiled_test", renamed = False, target_under_test = ":plain")
    _compiled_test(name = "public_compiled_test", renamed = False, target_under_test = ":public")
    native.test_suite(name = name, tests = [
        ":behind_compiled_test",
        ":behind_test",
        ":direct_compiled_test",
        ":legacy_test",
        ":plain_compiled_test",
        ":private_test",
        ":public_compiled_test",
        ":public_test",
    ])
