"""Targets built under the compiler's sanitizers, in the same build as the plain ones."""

_FLAGS = {
    "address": ["-fsanitize=address,undefined"],
    "thread": ["-fsanitize=thread"],
}

def _sanitize(settings, attr):
    flags = _FLAGS[attr.sanitizer]
    return {
        "//command_line_option:copt": settings["//command_line_option:copt"] + flags + ["-O1", "-g", "-fno-omit-frame-pointer"],
        "//command_line_option:linkopt": settings["//command_line_option:linkopt"] + flags,
    }

_sanitized = transition(
    implementation = _sanitize,
    inputs = [
        "//command_line_option:copt",
        "//command_line_option:linkopt",
    ],
    outputs = [
        "//command_line_option:copt",
        "//command_line_option:linkopt",
    ],
)

def _impl(ctx):
    outputs = []
    for target in ctx.attr.targets:
        for file in target[DefaultInfo].files.to_list():
            # Under a folder of its own: the plain build of the same target is in the same tree of run files.
            output = ctx.actions.declare_file(ctx.label.name + "/" + file.basename)
            ctx.actions.symlink(output = output, target_file = file)
            outputs.append(output)
    runfiles = ctx.runfiles(outputs).merge_all([target[DefaultInfo].default_runfiles for target in ctx.attr.targets])
    return [DefaultInfo(files = depset(outputs), runfiles = runfiles)]

sanitized = rule(
    implementation = _impl,
    doc = """The files of C, C++ and cgo targets, compiled and linked under sanitizers, in a folder of this target's name.

A library that is opened by a program needs the program to be of the same rule: the sanitizers' run time comes first in a process.
The Go of a cgo target is as it always is.""",
    attrs = {
        "sanitizer": attr.string(
            doc = "`address`, which is with undefined behaviour, or `thread`.",
            mandatory = True,
            values = _FLAGS.keys(),
        ),
        "targets": attr.label_list(
            cfg = _sanitized,
            doc = "What is built so.",
            mandatory = True,
        ),
    },
)
