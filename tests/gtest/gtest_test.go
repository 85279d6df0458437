package gtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/gtest"
)

// This program is also the Google Test program that the tests run: its tests do what they are called.
const fakeVariable = "FAKE_GOOGLE_TEST"

var fakeTests = []string{"A.passes", "A.fails", "A.skips", "A.DISABLED_fails", "A.prints", "B.crashes", "B.passes", "C.hangs", "C.passes/0"}

func TestMain(m *testing.M) {
	if mode, found := os.LookupEnv(fakeVariable); found {
		fake(mode)
	}
	os.Exit(m.Run())
}

// fake is a Google Test program. Modes are ways to misbehave, "" is none.
func fake(mode string) {
	filter, report := "*", ""
	for _, arg := range os.Args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--gtest_list_tests":
			list(mode)
		case "--gtest_flagfile":
			content, err := os.ReadFile(value)
			if err != nil {
				panic(err)
			}
			_, filter, _ = strings.Cut(strings.TrimSpace(string(content)), "=")
		case "--gtest_output":
			report = strings.TrimPrefix(value, "json:")
		}
	}
	for _, name := range []string{"GTEST_FILTER", "TESTBRIDGE_TEST_ONLY", "TEST_PREMATURE_EXIT_FILE", "XML_OUTPUT_FILE"} {
		if _, found := os.LookupEnv(name); found {
			panic(name)
		}
	}
	if os.TempDir() == "/tmp" {
		panic("no temporary directory of its own")
	}
	switch mode {
	case "refuses":
		fmt.Fprintln(os.Stderr, "cannot open libMIOpen.so.1")
		os.Exit(127)
	case "is idle":
		os.Exit(0)
	}
	var suites []map[string]any
	for _, name := range fakeTests {
		if filter != "*" && (mode != "is deaf" || name != "A.skips") && !slices.Contains(strings.Split(filter, ":"), name) {
			continue
		}
		suite, test, _ := strings.Cut(name, ".")
		entry := map[string]any{"name": test, "status": "RUN", "result": "COMPLETED"}
		if strings.HasPrefix(test, "DISABLED_") {
			entry["status"], entry["result"] = "NOTRUN", "SUPPRESSED"
		} else {
			fmt.Printf("[ RUN      ] %s\n", name)
			mark := "      OK"
			switch test {
			case "fails":
				mark = " FAILED "
				entry["failures"] = []any{map[string]string{"failure": fmt.Sprintf("value at %#x\nis wrong", 0x7fff0000+os.Getpid())}}
			case "skips":
				mark = " SKIPPED"
				entry["result"] = "SKIPPED"
				entry["skipped"] = []any{map[string]string{"message": "not here"}}
			case "prints": // what could be taken for progress
				fmt.Print("[       OK ] A.fails (0 ms)\n[  FAILED  ] A.prints\n[ RUN      ] not.asked\nno end of line")
			case "crashes":
				crash()
			case "hangs":
				time.Sleep(time.Hour)
			}
			fmt.Printf("[ %s ] %s (0 ms)\n", mark, name)
		}
		if mode != "forgets" || name != "A.fails" {
			suites = append(suites, map[string]any{"name": suite, "testsuite": []any{entry}})
		}
	}
	switch mode {
	case "crashes before the report":
		crash()
	case "hangs before the report":
		time.Sleep(time.Hour)
	}
	data, err := json.Marshal(map[string]any{"tests": len(suites), "testsuites": suites})
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(report, data, 0o600); err != nil {
		panic(err)
	}
	if mode == "crashes at exit" {
		crash()
	}
	os.Exit(0)
}

func list(mode string) {
	if mode == "refuses" {
		fmt.Fprintln(os.Stderr, "cannot open libMIOpen.so.1")
		os.Exit(127)
	}
	if mode != "is empty" {
		suite := ""
		for _, name := range fakeTests {
			s, test, _ := strings.Cut(name, ".")
			if s != suite {
				fmt.Println(s + ".")
				suite = s
			}
			fmt.Println("  " + test)
		}
	}
	os.Exit(0)
}

func crash() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// slow is longer than this program needs to start on a busy machine.
const slow = 10 * time.Second

// runner runs the fake program in a mode.
func runner(t *testing.T, mode string) gtest.Runner {
	t.Helper()
	return gtest.Runner{
		Command: func(ctx context.Context, args ...string) (*exec.Cmd, error) {
			cmd := exec.CommandContext(ctx, os.Args[0], args...)
			cmd.Env = append(os.Environ(), fakeVariable+"="+mode)
			return cmd, nil
		},
		Dir:   t.TempDir(),
		Limit: time.Minute,
	}
}

func TestRun(t *testing.T) {
	for _, name := range []string{"GTEST_FILTER", "TESTBRIDGE_TEST_ONLY", "TEST_PREMATURE_EXIT_FILE", "XML_OUTPUT_FILE"} {
		t.Setenv(name, "x")
	}
	r := runner(t, "")
	names, err := r.List(t.Context(), "*")
	require.NoError(t, err)
	require.Equal(t, fakeTests, names)

	run, err := r.Run(t.Context(), names[:5])
	require.NoError(t, err)
	require.Equal(t, []string{"exit status 0"}, run.Ends)
	require.Equal(t, "5 tests, 2 ok, 1 failed, 1 skipped, 1 not run", run.String())
	require.Regexp(t, `^failed: value at 0x7f\w+\nis wrong$`, run.Results["A.fails"].String())
	require.Equal(t, gtest.Result{Outcome: gtest.Skipped, Text: "not here"}, run.Results["A.skips"])
}

// The tests after one that crashes or hangs run too, and those before it keep their results.
func TestCrashAndHang(t *testing.T) {
	r := runner(t, "")
	r.Limit = slow
	run, err := r.Run(t.Context(), fakeTests)
	require.NoError(t, err)
	require.Equal(t, "9 tests, 4 ok, 1 failed, 1 skipped, 1 not run, 1 crashed, 1 timed out", run.String())
	require.Equal(t, []string{"signal: killed", "stopped", "exit status 0"}, run.Ends)
	require.Equal(t, gtest.Result{Outcome: gtest.Crashed, Text: "signal: killed"}, run.Results["B.crashes"])
	require.Equal(t, gtest.Result{Outcome: gtest.TimedOut, Text: "longer than " + slow.String()}, run.Results["C.hangs"])
	require.Equal(t, gtest.Result{Outcome: gtest.OK}, run.Results["A.prints"])

	// What the process that crashed knew of a failure, it tells again, so that both are compared.
	require.Regexp(t, `^failed: value at 0x7f\w+\nis wrong$`, run.Results["A.fails"].String())
	again, err := r.Run(t.Context(), []string{"A.fails"})
	require.NoError(t, err)
	run.Results = map[string]gtest.Result{"A.fails": run.Results["A.fails"]}
	c, err := gtest.Compare(run, again, gtest.WithoutAddresses)
	require.NoError(t, err)
	require.Equal(t, &gtest.Comparison{Compared: 1}, c)
}

// A program that dies after its last test has done them all, which is seen from how it ended.
func TestCrashAfterTests(t *testing.T) {
	for _, mode := range []string{"crashes before the report", "crashes at exit"} {
		t.Run(mode, func(t *testing.T) {
			run, err := runner(t, mode).Run(t.Context(), []string{"A.passes", "A.fails"})
			require.NoError(t, err)
			require.Equal(t, "2 tests, 1 ok, 1 failed", run.String())
			require.Equal(t, []string{"signal: killed"}, run.Ends)

			// A text that is lost for good makes no difference, and is not passed over either.
			c, err := gtest.Compare(run, run, gtest.WithoutAddresses)
			require.NoError(t, err)
			require.Empty(t, c.Differences)
			if mode == "crashes before the report" {
				require.Equal(t, []string{"A.fails"}, c.Textless)
			} else {
				require.Empty(t, c.Textless)
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	for mode, says := range map[string]string{
		"refuses": "exit status 127) before its first test:\ncannot open libMIOpen.so.1",
		"is idle": "exit status 0) before its first test",
		"is deaf": "ran A.skips, which was not asked for",
		"forgets": "said nothing of A.fails",
	} {
		t.Run(mode, func(t *testing.T) {
			_, err := runner(t, mode).Run(t.Context(), []string{"A.passes", "A.fails"})
			require.ErrorContains(t, err, says)
		})
	}
	r := runner(t, "hangs before the report")
	r.Limit = slow
	run, err := r.Run(t.Context(), []string{"A.passes", "A.DISABLED_fails"})
	require.ErrorContains(t, err, "did nothing for "+slow.String()+" between two tests, after 1 of 2")
	require.Equal(t, "1 tests, 1 ok", run.String())

	r = runner(t, "")
	_, err = r.Run(t.Context(), nil)
	require.ErrorContains(t, err, "no tests were named")
	_, err = r.Run(t.Context(), []string{"A.passes", "A.*"})
	require.ErrorContains(t, err, "cannot be asked for by name")
	_, err = r.Run(t.Context(), []string{"A.passes", "A.passes"})
	require.ErrorContains(t, err, "asked for twice")
}

func TestListRefuses(t *testing.T) {
	_, err := runner(t, "refuses").List(t.Context(), "*")
	require.ErrorContains(t, err, "cannot open libMIOpen.so.1")
	_, err = runner(t, "is empty").List(t.Context(), "No.*")
	require.ErrorContains(t, err, `matches the filter "No.*"`)
}

// Results so far outlive the end of the caller's time.
func TestRunEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), slow)
	defer cancel()
	run, err := runner(t, "").Run(ctx, []string{"A.passes", "C.hangs", "C.passes/0"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, map[string]gtest.Result{"A.passes": {Outcome: gtest.OK}}, run.Results)
}

func result(outcome gtest.Outcome, text string) gtest.Result {
	return gtest.Result{Outcome: outcome, Text: text}
}

func TestCompare(t *testing.T) {
	base := func() *gtest.Run {
		return &gtest.Run{Results: map[string]gtest.Result{
			"A.ok":      result(gtest.OK, ""),
			"A.failed":  result(gtest.Failed, "at 0x55f0a1b2c3d4: 1 is not 0x10"),
			"A.skipped": result(gtest.Skipped, "why"),
			"B.ok":      result(gtest.OK, ""),
		}}
	}
	same, err := gtest.Compare(base(), base(), gtest.WithoutAddresses)
	require.NoError(t, err)
	require.Equal(t, &gtest.Comparison{Compared: 3}, same)
	require.Equal(t, []string{"A.failed", "A.ok", "A.skipped", "B.ok"}, base().Names())

	for name, c := range map[string]struct {
		change func(map[string]gtest.Result)
		says   []string
	}{
		"another address": {func(r map[string]gtest.Result) {
			r["A.failed"] = result(gtest.Failed, "at 0x7fff00000010: 1 is not 0x10")
		}, nil},
		"another failure": {func(r map[string]gtest.Result) {
			r["A.failed"] = result(gtest.Failed, "at 0x55f0a1b2c3d4: 1 is not 0x11")
		}, []string{"A.failed\n"}},
		"failed":           {func(r map[string]gtest.Result) { r["A.ok"] = result(gtest.Failed, "x") }, []string{"A.ok\n  first:  ok\n  second: failed: x"}},
		"skipped":          {func(r map[string]gtest.Result) { r["A.ok"] = result(gtest.Skipped, "") }, []string{"A.ok\n"}},
		"another reason":   {func(r map[string]gtest.Result) { r["A.skipped"] = result(gtest.Skipped, "x") }, []string{"A.skipped\n"}},
		"test is missing":  {func(r map[string]gtest.Result) { delete(r, "A.ok") }, []string{"A.ok\n  first:  ok\n  second: no such test"}},
		"test is added":    {func(r map[string]gtest.Result) { r["B.more"] = result(gtest.OK, "") }, []string{"B.more\n  first:  no such test"}},
		"two, in an order": {func(r map[string]gtest.Result) { delete(r, "A.ok"); delete(r, "A.failed") }, []string{"A.failed\n", "A.ok\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			other := base()
			c.change(other.Results)
			got, err := gtest.Compare(base(), other, gtest.WithoutAddresses)
			require.NoError(t, err)
			require.Empty(t, got.Undecided)
			require.Len(t, got.Differences, len(c.says))
			for i, says := range c.says {
				require.Contains(t, got.Differences[i].String(), says)
			}
		})
	}

	slow := base()
	slow.Results["A.ok"] = result(gtest.TimedOut, "x")
	got, err := gtest.Compare(base(), slow, gtest.WithoutAddresses)
	require.NoError(t, err)
	require.Equal(t, &gtest.Comparison{Compared: 2, Undecided: []string{"A.ok"}}, got)
}

func TestNormal(t *testing.T) {
	const text = "gfx942 at 0x55f0a1b2c3d4: -0.25, 1e-05, 3, nan is not 0x10"
	require.Equal(t, "gfx942 at ADDRESS: -0.25, 1e-05, 3, nan is not 0x10", gtest.WithoutAddresses(text))
	require.Equal(t, "gfx942 at ADDRESS: NUMBER, NUMBER, NUMBER, NUMBER is not 0x10", gtest.WithoutNumbers(text))
}

// A comparison that had nothing to compare is an error, not the absence of differences.
func TestCompareNothing(t *testing.T) {
	some := &gtest.Run{Results: map[string]gtest.Result{"A.ok": result(gtest.OK, "")}}
	for name, c := range map[string][2]*gtest.Run{
		"both are empty":    {{}, {}},
		"one is empty":      {some, {}},
		"nothing ran":       {{Results: map[string]gtest.Result{"A.x": result(gtest.Skipped, "")}}, {Results: map[string]gtest.Result{"A.x": result(gtest.NotRun, "")}}},
		"nothing in time":   {some, {Results: map[string]gtest.Result{"A.ok": result(gtest.TimedOut, "")}}},
		"nothing in common": {some, {Results: map[string]gtest.Result{"B.ok": result(gtest.OK, "")}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := gtest.Compare(c[0], c[1], gtest.WithoutAddresses)
			require.ErrorIs(t, err, gtest.ErrNothing)
		})
	}
}
