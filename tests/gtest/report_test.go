package gtest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The files in testdata are what miopen_gtest of MIOpen 3.5.1 printed and wrote for six of its tests.
func recorded(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return string(data)
}

var recordedOutcomes = map[string]Outcome{
	"CPU_Cache_NONE.check_kern_db":                                 OK,
	"CPU_DBSync_NONE.DISABLED_DynamicFDBSync":                      NotRun,
	"CPU_Dump_NAN_FP32.testDump":                                   Failed,
	"CPU_HandleHipDevice_NONE.MultipleValidDevicesSwitchCorrectly": Skipped,
	"CPU_TuningPolicy_NONE.TestNullPolicyPointer":                  OK,
	"Smoke/CPU_DBSync_NONE.StaticFDBSync/3":                        Failed,
}

func outcomesOf(results map[string]Result) map[string]Outcome {
	got := map[string]Outcome{}
	for name, result := range results {
		got[name] = result.Outcome
	}
	return got
}

func TestParseReport(t *testing.T) {
	results, err := parseReport([]byte(recorded(t, "report.json")))
	require.NoError(t, err)
	require.Equal(t, recordedOutcomes, outcomesOf(results))
	require.Contains(t, results["CPU_Dump_NAN_FP32.testDump"].Text, "Was expecting NAN value in tensor")
	require.Contains(t, results["Smoke/CPU_DBSync_NONE.StaticFDBSync/3"].Text, "Db file does not exist")
	require.Contains(t, results["Smoke/CPU_DBSync_NONE.StaticFDBSync/3"].Text, "thrown in the test body")
	require.Contains(t, results["CPU_HandleHipDevice_NONE.MultipleValidDevicesSwitchCorrectly"].Text, "Need at least 2 devices")
}

// Controls: one changed word of the report is one difference, or an error.
func TestMutatedReport(t *testing.T) {
	report := recorded(t, "report.json")
	original, err := parseReport([]byte(report))
	require.NoError(t, err)
	for name, c := range map[string]struct{ from, to, test string }{
		"failure gone": {`"failures": [
            {
              "failure": "test\/gtest\/dump`, `"no_failures": [
            {
              "failure": "test\/gtest\/dump`, "CPU_Dump_NAN_FP32.testDump"},
		"failure's text": {"thrown in the test body", "thrown elsewhere", "Smoke/CPU_DBSync_NONE.StaticFDBSync/3"},
		"skip gone":      {`"result": "SKIPPED"`, `"result": "COMPLETED"`, "CPU_HandleHipDevice_NONE.MultipleValidDevicesSwitchCorrectly"},
		"run after all":  {`"result": "SUPPRESSED"`, `"result": "SUPPRESSED", "status": "RUN", "result": "COMPLETED"`, "CPU_DBSync_NONE.DISABLED_DynamicFDBSync"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, report, c.from)
			mutated, err := parseReport([]byte(strings.Replace(report, c.from, c.to, 1)))
			require.NoError(t, err)
			got, err := Compare(&Run{Results: original}, &Run{Results: mutated}, WithoutAddresses)
			require.NoError(t, err)
			require.Len(t, got.Differences, 1)
			require.Equal(t, c.test, got.Differences[0].Test)
		})
	}
	for name, c := range map[string]struct{ from, to, says string }{
		"another format":   {`"tests": 6`, `"number": 6`, "does not say so"},
		"a test too few":   {`"tests": 6`, `"tests": 7`, "does not say so"},
		"unknown result":   {`"result": "SKIPPED"`, `"result": "MAYBE"`, `result "MAYBE"`},
		"truncated":        {report[len(report)/2:], "", "unexpected end of JSON"},
		"nothing at all":   {report, "", "unexpected end of JSON"},
		"not of this kind": {report, "{}", "does not say so"},
	} {
		t.Run(name, func(t *testing.T) {
			mutated := strings.Replace(report, c.from, c.to, 1)
			require.NotEqual(t, report, mutated)
			_, err := parseReport([]byte(mutated))
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestTestTwice(t *testing.T) {
	const one = `{"name": "x", "status": "RUN", "result": "COMPLETED"}`
	_, err := parseReport([]byte(`{"tests": 2, "testsuites": [{"name": "A", "testsuite": [` + one + "," + one + `]}]}`))
	require.ErrorContains(t, err, "A.x is there twice")
}

// Until the report is written, the progress lines are all there is: they must say the same.
func TestProgress(t *testing.T) {
	p := &progress{asked: map[string]bool{}, results: map[string]Result{}}
	for name := range recordedOutcomes {
		p.asked[name] = true
	}
	text := recorded(t, "progress.txt")
	require.NoError(t, follow(strings.NewReader(text), p, func() {}))
	want := map[string]Outcome{}
	for name, outcome := range recordedOutcomes {
		if outcome != NotRun {
			want[name] = outcome
		}
	}
	require.Equal(t, want, outcomesOf(p.results))
	require.Empty(t, p.current)

	// Cut off inside the second test, as by a crash.
	cut := strings.Index(text, "Was expecting")
	p = &progress{asked: p.asked, results: map[string]Result{}}
	require.NoError(t, follow(strings.NewReader(text[:cut]), p, func() {}))
	require.Equal(t, map[string]Outcome{"CPU_Cache_NONE.check_kern_db": OK}, outcomesOf(p.results))
	require.Equal(t, "CPU_Dump_NAN_FP32.testDump", p.current)
}

func TestParseList(t *testing.T) {
	names, err := parseList(recorded(t, "list.txt"))
	require.NoError(t, err)
	require.Equal(t, []string{
		"CPU_Cache_NONE.check_bz2_compress",
		"CPU_Cache_NONE.check_kern_db",
		"CPU_GraphApiOperationConvolutionBuilder_NONE/0.ValidateAttributes",
		"Smoke/CPU_DBSync_NONE.StaticFDBSync/0",
		"Smoke/CPU_tensor_n4d_NONE.TestGet4DTensor/1",
	}, names)
	_, err = parseList("A.\n  one\nsomething else\n")
	require.ErrorContains(t, err, "something else")
	names, err = parseList("no tests\n")
	require.NoError(t, err)
	require.Empty(t, names)
}
