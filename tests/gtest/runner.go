package gtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Runner runs one Google Test program.
type Runner struct {
	// Command prepares the program with arguments.
	Command func(ctx context.Context, args ...string) (*exec.Cmd, error)
	// Dir is a directory of the run's own. Each process that Run starts leaves its standard error in process*/stderr.
	Dir string
	// Limit is how long one test may take. What takes longer is stopped and named TimedOut.
	Limit time.Duration
}

// one lets one program run at a time: tests of two processes meet at lock files and caches, even with a HOME each.
var one sync.Mutex

// List is the names of the tests that filter, in Google Test's language, leaves: SUITE.TEST, in the program's order.
func (r Runner) List(ctx context.Context, filter string) ([]string, error) {
	ctx, stop := context.WithTimeout(ctx, r.Limit)
	defer stop()
	cmd, _, err := r.prepare(ctx, "--gtest_list_tests", "--gtest_filter="+filter)
	if err != nil {
		return nil, err
	}
	one.Lock()
	defer one.Unlock()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests: %w\n%s", err, tail(stderr.Bytes()))
	}
	names, err := parseList(string(output))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no test of the program matches the filter %q", filter)
	}
	return names, nil
}

// Run runs the tests called names, as List gave them, each once. Those that failed in a process which then died, and took
// their texts with it, run once more, for the texts alone.
//
// Errors are for a program that cannot be run, or does something else than running those tests. Tests that fail, crash
// or take too long are results. When ctx ends, the results so far come with its error.
func (r Runner) Run(ctx context.Context, names []string) (*Run, error) {
	if len(names) == 0 {
		return nil, errors.New("no tests were named")
	}
	one.Lock()
	defer one.Unlock()
	run := &Run{Results: map[string]Result{}}
	rest := names
	for len(rest) > 0 {
		done, end, err := r.process(ctx, rest)
		for name, result := range done {
			run.Results[name] = result
		}
		run.Ends = append(run.Ends, end)
		if err != nil {
			return run, err
		}
		if len(done) == 0 {
			return run, fmt.Errorf("the program ended (%s) and ran none of %d tests, the first is %s", end, len(rest), rest[0])
		}
		var left []string
		for _, name := range rest {
			if _, found := done[name]; !found {
				left = append(left, name)
			}
		}
		rest = left
	}
	if lost := run.textless(); len(lost) > 0 {
		again, _, err := r.process(ctx, lost)
		if err != nil {
			return run, fmt.Errorf("run %d tests again that failed without a text: %w", len(lost), err)
		}
		for name, result := range again {
			if result.Outcome == Failed {
				run.Results[name] = result
			}
		}
	}
	return run, nil
}

// process runs one process for names, and returns what it did of them and how it ended.
func (r Runner) process(ctx context.Context, names []string) (map[string]Result, string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	asked := map[string]bool{}
	for _, name := range names {
		// No option can quote what separates names in a filter or matches several.
		if strings.ContainsAny(name, ":-*?\n") {
			return nil, "not started", fmt.Errorf("the test %q cannot be asked for by name", name)
		}
		if asked[name] {
			return nil, "not started", fmt.Errorf("the test %s is asked for twice", name)
		}
		asked[name] = true
	}
	cmd, dir, err := r.prepare(ctx)
	if err != nil {
		return nil, "not started", err
	}
	// Thousands of names are longer than an argument may be.
	flags := filepath.Join(dir, "flags")
	report := filepath.Join(dir, "report.json")
	if err := os.WriteFile(flags, []byte("--gtest_filter="+strings.Join(names, ":")+"\n"), 0o600); err != nil {
		return nil, "not started", err
	}
	cmd.Args = append(cmd.Args, "--gtest_flagfile="+flags, "--gtest_output=json:"+report, "--gtest_color=no", "--gtest_shuffle=0", "--gtest_repeat=1")
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return nil, "not started", err
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	stdout, write, err := os.Pipe()
	if err != nil {
		return nil, "not started", err
	}
	defer stdout.Close()
	cmd.Stdout = write
	err = cmd.Start()
	write.Close()
	if err != nil {
		return nil, "not started", err
	}

	p := &progress{asked: asked, results: map[string]Result{}}
	var stopped atomic.Bool
	timer := time.AfterFunc(r.Limit, func() {
		stopped.Store(true)
		_ = cmd.Process.Kill()
	})
	defer timer.Stop()
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	read := make(chan error, 1)
	go func() { read <- follow(stdout, p, func() { timer.Reset(r.Limit) }) }()
	end := <-waited
	// A child that the program left behind may hold the pipe: what the program wrote is there already.
	_ = stdout.SetReadDeadline(time.Now().Add(5 * time.Second))
	readErr := <-read
	if readErr != nil && !errors.Is(readErr, os.ErrDeadlineExceeded) {
		return nil, "unknown", fmt.Errorf("read the program's output: %w", readErr)
	}
	how := ending(end)

	data, err := os.ReadFile(report)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, how, err
	}
	if err == nil {
		results, err := parseReport(data)
		if err == nil {
			return results, how, r.complete(asked, results)
		}
		if ctx.Err() == nil && !stopped.Load() {
			return nil, how, err
		}
	}
	if ctx.Err() != nil {
		return p.results, how, fmt.Errorf("stopped after %d of %d tests: %w", len(p.results), len(names), ctx.Err())
	}
	if stopped.Load() {
		how = "stopped"
		if p.current == "" {
			return p.results, how, fmt.Errorf("the program did nothing for %v between two tests, after %d of %d", r.Limit, len(p.results), len(names))
		}
		p.results[p.current] = Result{Outcome: TimedOut, Text: fmt.Sprintf("longer than %v", r.Limit)}
		return p.results, how, nil
	}
	// Google Test writes its report after the last test, so the program did not get there.
	if p.current != "" {
		p.results[p.current] = Result{Outcome: Crashed, Text: how}
	}
	if len(p.results) == 0 {
		text, _ := os.ReadFile(stderr.Name())
		return nil, how, fmt.Errorf("the program ended (%s) before its first test:\n%s", how, tail(text))
	}
	return p.results, how, nil
}

// prepare is the program in an environment where nothing but its arguments tells Google Test what to do, and the
// directory of this process alone.
func (r Runner) prepare(ctx context.Context, args ...string) (*exec.Cmd, string, error) {
	dir, err := os.MkdirTemp(r.Dir, "process")
	if err != nil {
		return nil, "", err
	}
	temporary := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return nil, "", err
	}
	cmd, err := r.Command(ctx, args...)
	if err != nil {
		return nil, "", err
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	var env []string
	for _, entry := range cmd.Env {
		// What Bazel tells the test that runs this program. A program that crashes would leave the file that
		// TEST_PREMATURE_EXIT_FILE names, by which Bazel sees that a test ended too early.
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "GTEST_") || strings.HasPrefix(name, "TESTBRIDGE_") || name == "TEST_PREMATURE_EXIT_FILE" || name == "XML_OUTPUT_FILE" {
			continue
		}
		env = append(env, entry)
	}
	cmd.Env = append(env, "TMPDIR="+temporary)
	return cmd, dir, nil
}

// follow reads lines into p until the end, and calls moved when a test starts or ends.
func follow(output io.Reader, p *progress, moved func()) error {
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadString('\n')
		if p.line(line) {
			moved()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// complete checks that a program which came to its end ran what was asked for.
func (r Runner) complete(asked map[string]bool, results map[string]Result) error {
	for name := range asked {
		if _, found := results[name]; !found {
			return fmt.Errorf("the program ended and said nothing of %s", name)
		}
	}
	for name := range results {
		if !asked[name] {
			return fmt.Errorf("the program ran %s, which was not asked for", name)
		}
	}
	return nil
}

func ending(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// tail is the end of a program's messages.
func tail(text []byte) string {
	const most = 2000
	text = bytes.TrimSpace(text)
	if len(text) > most {
		text = append([]byte("..."), text[len(text)-most:]...)
	}
	return string(text)
}
