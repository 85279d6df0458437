// Command miopen-shim splits a MIOpen library into a wrapper and a private library, checks a split, and shows what a
// library or program needs and exports.
//
// It holds the command line only: what the commands do is in the packages below shim. Results go to standard output,
// everything else to standard error.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	// The first signal ends the command in an orderly way, which removes temporary files; the second one kills it.
	ctx, stop := signal.NotifyContext(context.Background(), heeded(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)...)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], environment{
		Stdout: os.Stdout, Stderr: os.Stderr, CC: os.Getenv("CC"), LibraryPath: os.Getenv("LD_LIBRARY_PATH"),
	}))
}

// heeded is those of the signals that whoever started this process did not ignore. What nohup or a shell's & ignores stays
// ignored, here and in the programs that this one starts.
func heeded(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, signal.Ignored)
}
