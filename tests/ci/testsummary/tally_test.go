package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	finishedOK     = `{"id":{"buildFinished":{}},"finished":{"exitCode":{"name":"SUCCESS","code":0}}}`
	finishedFailed = `{"id":{"buildFinished":{}},"finished":{"exitCode":{"name":"TESTS_FAILED","code":3}}}`
)

func write(t *testing.T, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	var content string
	for _, line := range lines {
		content += line + "\n"
	}
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func result(label, status, xmlPath string) string {
	output := ""
	if xmlPath != "" {
		output = fmt.Sprintf(`,"testActionOutput":[{"name":"test.xml","uri":"file://%s"}]`, xmlPath)
	}
	return fmt.Sprintf(`{"id":{"testResult":{"label":%q}},"testResult":{"status":%q%s}}`, label, status, output)
}

func skipped(label string) string {
	return fmt.Sprintf(`{"id":{"targetConfigured":{"label":%q}},"configured":{"testSize":"SMALL"}}`, label) +
		fmt.Sprintf(`{"id":{"targetCompleted":{"label":%q}},"aborted":{"reason":"SKIPPED"}}`, label)
}

func tallyOf(t *testing.T, paths ...string) *tally {
	t.Helper()
	total, err := readAll(paths)
	require.NoError(t, err)
	return total
}

func TestCountsCasesAndTargets(t *testing.T) {
	report := write(t, "test.xml", `<testsuites><testsuite>`,
		`<testcase classname="p" name="TestA"/>`,
		`<testcase classname="p" name="TestB"><failure>no</failure></testcase>`,
		`<testcase classname="p" name="TestC"><skipped/></testcase>`,
		`</testsuite></testsuites>`)
	total := tallyOf(t, write(t, "bep.json", result("//a:go", "FAILED", report), result("//a:sh", "PASSED", ""), finishedFailed))
	require.Equal(t, 2, total.passed)
	require.Equal(t, []string{"//a:go TestB"}, total.failed)
	require.Equal(t, map[string]bool{"//a:go TestC": true}, total.skipped)
}

// TestNothingRan: a target whose report has neither a case nor Bazel's placeholder ran no test, and is no success.
func TestNothingRan(t *testing.T) {
	empty := write(t, "empty.xml", `<testsuites></testsuites>`)
	placeholder := write(t, "placeholder.xml", `<testsuites><testsuite><testcase name="//a:sh"/></testsuite></testsuites>`)
	total := tallyOf(t, write(t, "bep.json", result("//a:go", "PASSED", empty), result("//a:sh", "PASSED", placeholder), finishedFailed))
	require.Equal(t, 1, total.passed)
	require.Equal(t, []string{"//a:go (it ran no test)"}, total.failed)
}

func TestFailureWithoutCaseIsCounted(t *testing.T) {
	report := write(t, "test.xml", `<testsuites><testsuite><testcase classname="p" name="TestA"/></testsuite></testsuites>`)
	total := tallyOf(t, write(t, "bep.json", result("//a:go", "TIMEOUT", report), finishedFailed))
	require.Equal(t, []string{"//a:go (TIMEOUT)"}, total.failed)
}

func TestSkips(t *testing.T) {
	library := `{"id":{"targetConfigured":{"label":"//a:lib"}},"configured":{}}` +
		`{"id":{"targetCompleted":{"label":"//a:lib"}},"aborted":{"reason":"SKIPPED"}}`
	first := write(t, "1.json", library, skipped("//a:real"), skipped("//a:gpu"), result("//a:b", "PASSED", ""), finishedOK)
	second := write(t, "2.json", result("//a:real", "PASSED", ""), finishedOK)
	for _, order := range [][]string{{first, second}, {second, first}} {
		total := tallyOf(t, order...)
		require.Equal(t, map[string]bool{"//a:gpu": true}, total.skipped)
		require.Empty(t, total.problems([]string{"//a:gpu"}))
		require.Equal(t, []string{"skipped, but not listed: //a:gpu"}, total.problems(nil))
		require.Contains(t, total.problems([]string{"//a:gpu", "//a:old"}),
			"listed as skipped, but it was not: //a:old (take it off the list)")
	}
}

func TestRunThatProvesNothingFails(t *testing.T) {
	require.Contains(t, tallyOf(t, write(t, "none.json", finishedOK)).problems(nil),
		"no test passed: a run that tested nothing is a failure")
	require.NotEmpty(t, tallyOf(t, write(t, "cut.json", result("//a:b", "PASSED", ""))).problems(nil))
	require.NotEmpty(t, tallyOf(t, write(t, "build.json", result("//a:b", "PASSED", ""),
		`{"id":{"buildFinished":{}},"finished":{"exitCode":{"name":"BUILD_FAILURE","code":1}}}`)).problems(nil))
	require.NotEmpty(t, tallyOf(t, write(t, "aborted.json", result("//a:b", "PASSED", ""),
		`{"id":{"targetCompleted":{"label":"//a:c"}},"aborted":{"reason":"ANALYSIS_FAILURE"}}`, finishedOK)).problems(nil))
	_, err := readAll([]string{write(t, "garbage.json", "not json")})
	require.ErrorContains(t, err, "is not a build event file")
}

func TestReadSkips(t *testing.T) {
	skips, err := readSkips(write(t, "skips.txt", "# reason", "//a:b  # gfx942", "", "//c:d TestE"))
	require.NoError(t, err)
	require.Equal(t, []string{"//a:b", "//c:d TestE"}, skips)
}

// TestLimits: too long is a failure, and so is not to know how long.
func TestLimits(t *testing.T) {
	const begin = `{"id":{"started":{}},"started":{"startTime":"2026-01-01T10:00:00.500Z"}}`
	end := func(at string) string {
		return `{"id":{"buildFinished":{}},"finished":{"finishTime":"2026-01-01T` + at + `Z","exitCode":{"name":"SUCCESS"}}}`
	}
	cached := `{"id":{"testResult":{"label":"//a:c"}},"testResult":{"status":"PASSED","cachedLocally":true}}`
	quick := write(t, "default.json", begin, result("//a:b", "PASSED", ""), cached, end("10:25:00.500"))
	total := tallyOf(t, quick, write(t, "simulated.json", begin, end("11:00:00.500")))
	require.Equal(t, invocation{time: 25 * time.Minute, results: 2, cached: 1}, total.took["default"])
	limits := map[string]time.Duration{"default": 25 * time.Minute}
	require.Empty(t, total.late(limits))

	slow := tallyOf(t, write(t, "default.json", begin, result("//a:b", "PASSED", ""), end("10:25:01.500")))
	require.Equal(t, []string{"default took 25m1s, its limit is 25m0s"}, slow.late(limits))
	require.Equal(t, []string{"a limit for other, of which there is no event file"}, total.late(map[string]time.Duration{"other": time.Hour}))
	for _, lines := range [][]string{{finishedOK}, {end("10:01:00")}, {begin, end("09:00:00")}, {begin}} {
		require.Equal(t, []string{"a limit for default, whose event file does not say how long it took"},
			tallyOf(t, write(t, "default.json", lines...)).late(limits))
	}
}
