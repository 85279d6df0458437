package bar

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

// Parse fills arguments, a pointer to a struct with kong's tags, from the command line. A mistake in it ends the
// process with Usage.
func Parse(arguments any, description string, options ...kong.Option) {
	kong.Parse(arguments, append(options, kong.Description(description), kong.Exit(func(code int) {
		if code != 0 {
			code = Usage
		}
		os.Exit(code)
	}))...)
}

// Run measures, writes the report to standard output and ends the process with its exit status. A measurement that
// fails has measured nothing.
func Run(name string, measure func() (*Report, error)) {
	report, err := measure()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(Measured)
	}
	os.Exit(report.Finish(os.Stdout))
}
