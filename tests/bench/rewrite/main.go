// Command rewrite measures shim/elf on a library of a gigabyte: its time against `cp` of the same file, paired
// in one run, and its memory against the size of the file.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/schollz/progressbar/v3"

	"example.com/miopen_hipdnn_shim/shim/elf"
	"example.com/miopen_hipdnn_shim/tests/bench/bar"
)

type arguments struct {
	Size   int64  `help:"Bytes of data in the library." default:"1073741824"`
	Runs   int    `help:"Pairs that are measured, after one that is not." default:"5"`
	Dir    string `help:"Where to build the library; three times its size is needed." default:"${tmp}" type:"existingdir"`
	CC     string `help:"C compiler that links the library." default:"cc"`
	Worker string `help:"Rewrite this library once and exit: the measured process." hidden:""`
}

func main() {
	var args arguments
	bar.Parse(&args, "Time and memory of the rewriter on a large library.", kong.Vars{"tmp": os.TempDir()})
	if args.Worker != "" {
		if _, err := elf.Rewrite(args.Worker, args.Worker+".out", edit()); err != nil {
			fmt.Fprintln(os.Stderr, "rewrite:", err)
			os.Exit(bar.Measured)
		}
		return
	}
	bar.Run("rewrite", func() (*bar.Report, error) { return measure(args) })
}

const functions = 1000

func edit() elf.Edit {
	rename := map[string]string{}
	for i := range functions {
		rename[fmt.Sprintf("miopenFunction%d", i)] = fmt.Sprintf("miopenFunction%d_impl", i)
	}
	return elf.Edit{Rename: rename, SONAME: "libLarge_private.so.1"}
}

func measure(args arguments) (*bar.Report, error) {
	dir, err := os.MkdirTemp(args.Dir, "rewrite-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	library := filepath.Join(dir, "libLarge.so")
	if err := build(dir, library, args); err != nil {
		return nil, err
	}
	info, err := os.Stat(library)
	if err != nil {
		return nil, err
	}

	var copies, rewrites, excess, memory bar.Samples
	progress := progressbar.NewOptions(args.Runs+1, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("rewriting"))
	for run := -1; run < args.Runs; run++ {
		cp, _, err := timed(exec.Command("cp", library, library+".copy"))
		if err != nil {
			return nil, err
		}
		rewritten, peak, err := timed(exec.Command(os.Args[0], "--worker", library))
		if err != nil {
			return nil, err
		}
		if run >= 0 { // the first pair warms the page cache
			copies.Seconds(cp)
			rewrites.Seconds(rewritten)
			excess = append(excess, (rewritten.Seconds()-0.2)/cp.Seconds())
			memory = append(memory, float64(peak)/float64(info.Size()))
		}
		_ = progress.Add(1)
	}
	fmt.Fprintln(os.Stderr)

	var report bar.Report
	report.Row(fmt.Sprintf("cp of %d MB", info.Size()>>20), copies, "s")
	report.Row("rewrite, whole process", rewrites, "s")
	report.Row("(rewrite - 0.2 s) / cp", excess, "x")
	report.Row("peak memory / file", memory, "x")
	report.AtMost("rewrite-time-over-cp", excess.Median(), "x", 3)
	report.AtMost("rewrite-memory-over-file", memory.Median(), "x", 2)
	return &report, nil
}

// timed runs a command and removes what it wrote; peak is its largest resident size in bytes.
func timed(cmd *exec.Cmd) (elapsed time.Duration, peak int64, err error) {
	cmd.Stderr = os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", cmd, err)
	}
	elapsed = time.Since(start)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, fmt.Errorf("%s: no resource usage", cmd)
	}
	out := cmd.Args[len(cmd.Args)-1]
	if !strings.HasSuffix(out, ".copy") {
		out += ".out"
	}
	return elapsed, usage.Maxrss << 10, os.Remove(out)
}

// build links a library of args.Size bytes of data that does not compress or sparsify, and the functions.
func build(dir, library string, args arguments) error {
	fmt.Fprintf(os.Stderr, "building a library of %d MB\n", args.Size>>20)
	data := filepath.Join(dir, "data")
	if err := fill(data, args.Size); err != nil {
		return err
	}
	var source strings.Builder
	fmt.Fprintf(&source, "__asm__(\".section .rodata\\n.incbin \\\"%s\\\"\\n.text\");\n", data)
	for i := range functions {
		fmt.Fprintf(&source, "int miopenFunction%d(void) { return %d; }\nint (*pointer%d)(void) = miopenFunction%d;\n", i, i, i, i)
	}
	c := filepath.Join(dir, "large.c")
	if err := os.WriteFile(c, []byte(source.String()), 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, args.CC, "-shared", "-fPIC", "-nostdlib", "-o", library, c).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s could not link the library: %w\n%s", args.CC, err, out)
	}
	return os.Remove(data)
}

func fill(path string, size int64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	block := make([]byte, 1<<20)
	state := uint64(1)
	for i := range block {
		state = state*6364136223846793005 + 1442695040888963407
		block[i] = byte(state >> 56)
	}
	for written := int64(0); written < size; written += int64(len(block)) {
		if _, err := file.Write(block[:min(int64(len(block)), size-written)]); err != nil {
			return err
		}
	}
	return file.Close()
}
