"""A Go test as a program that counts which statements it runs."""

def _cover(_settings, attr):
    return {
        "//command_line_option:collect_code_coverage": True,
        # What would put reports of several languages together is not run, nor downloaded.
        "//command_line_option:coverage_output_generator": str(attr.unused),
        "//command_line_option:coverage_report_generator": str(attr.unused),
        "//command_line_option:instrumentation_filter": "^//%s:" % attr.package,
    }

_covered = transition(
    implementation = _cover,
    inputs = [],
    outputs = [
        "//command_line_option:collect_code_coverage",
        "//command_line_option:coverage_output_generator",
        "//command_line_option:coverage_report_generator",
        "//command_line_option:instrumentation_filter",
    ],
)

def _impl(ctx):
    test = ctx.attr.test[0]
    output = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = output, target_file = test[DefaultInfo].files_to_run.executable, is_executable = True)
    return [DefaultInfo(
        executable = output,
        runfiles = test[DefaultInfo].default_runfiles,
    )]

counting_go_program = rule(
    implementation = _impl,
    doc = "The program of a go_test() whose package's own statements are counted: it says how many of them its tests ran.",
    attrs = {
        "package": attr.string(
            doc = "Folder of the package.",
            mandatory = True,
        ),
        "test": attr.label(
            cfg = _covered,
            mandatory = True,
        ),
        "unused": attr.label(default = "//provider/wire/coverage:no_report"),
    },
    executable = True,
)
