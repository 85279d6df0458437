package main

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tally is what all invocations together did. A name is a target's label, or label and test case joined by a
// space where the target reports cases.
type tally struct {
	passed  int
	failed  []string
	skipped map[string]bool
	tested  map[string]bool // labels with a result: one invocation's skip gives way to another's run
	took    map[string]invocation
}

// invocation is what one run of Bazel cost, by the name of its event file without .json.
type invocation struct {
	time            time.Duration // on the clock on the wall, loading and building included
	results, cached int           // of tests
}

func newTally() *tally {
	return &tally{skipped: map[string]bool{}, tested: map[string]bool{}, took: map[string]invocation{}}
}

// event holds the few fields of build_event_stream.proto that matter here.
type event struct {
	ID struct {
		TestResult *struct {
			Label string `json:"label"`
		} `json:"testResult"`
		TargetConfigured *struct {
			Label string `json:"label"`
		} `json:"targetConfigured"`
		TargetCompleted *struct {
			Label string `json:"label"`
		} `json:"targetCompleted"`
		Started       *struct{} `json:"started"`
		BuildFinished *struct{} `json:"buildFinished"`
	} `json:"id"`
	Started *struct {
		Time time.Time `json:"startTime"`
	} `json:"started"`
	TestResult *struct {
		Status        string `json:"status"`
		CachedLocally bool   `json:"cachedLocally"`
		Output        []struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"testActionOutput"`
	} `json:"testResult"`
	Configured *struct {
		TestSize string `json:"testSize"` // tests only
	} `json:"configured"`
	Aborted *struct {
		Reason      string `json:"reason"`
		Description string `json:"description"`
	} `json:"aborted"`
	Finished *struct {
		Time     time.Time `json:"finishTime"`
		ExitCode struct {
			Name string `json:"name"`
			Code int    `json:"code"`
		} `json:"exitCode"`
	} `json:"finished"`
}

func (t *tally) addEventFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	finished := false
	var started time.Time
	var cost invocation
	tests := map[string]bool{}
	decoder := json.NewDecoder(bufio.NewReader(file))
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("%s is not a build event file: %w", path, err)
		}
		switch {
		case e.ID.TestResult != nil && e.TestResult != nil:
			t.addResult(e.ID.TestResult.Label, &e)
			cost.results++
			if e.TestResult.CachedLocally {
				cost.cached++
			}
		case e.ID.Started != nil && e.Started != nil:
			started = e.Started.Time
		case e.ID.TargetConfigured != nil && e.Configured != nil:
			tests[e.ID.TargetConfigured.Label] = e.Configured.TestSize != ""
		case e.ID.TargetCompleted != nil && e.Aborted != nil:
			t.addAborted(e.ID.TargetCompleted.Label, e.Aborted.Reason, tests[e.ID.TargetCompleted.Label])
		case e.ID.BuildFinished != nil && e.Finished != nil:
			finished = true
			if !started.IsZero() && e.Finished.Time.After(started) {
				cost.time = e.Finished.Time.Sub(started)
			}
			// 0 passed, 3 tests failed (counted above); anything else is a failure with no test of its own
			if code := e.Finished.ExitCode; code.Code != 0 && code.Code != 3 {
				t.failed = append(t.failed, fmt.Sprintf("bazel itself (%s, exit %d)", code.Name, code.Code))
			}
		}
	}
	if !finished {
		t.failed = append(t.failed, "bazel itself ("+path+" ends before the build finished)")
	}
	t.took[strings.TrimSuffix(filepath.Base(path), ".json")] = cost
	return nil
}

func (t *tally) addResult(label string, e *event) {
	delete(t.skipped, label)
	t.tested[label] = true
	ok := e.TestResult.Status == "PASSED"
	before := len(t.failed)
	cases, placeholder := 0, true // without a test.xml, the target is the case
	for _, output := range e.TestResult.Output {
		if output.Name == "test.xml" {
			var err error
			if cases, placeholder, err = t.addCases(label, output.URI); err != nil {
				t.failed = append(t.failed, fmt.Sprintf("%s (%v)", label, err))
			}
		}
	}
	switch {
	case !ok && len(t.failed) == before:
		t.failed = append(t.failed, label+" ("+e.TestResult.Status+")")
	case ok && cases == 0 && len(t.failed) == before && placeholder:
		t.passed++
	case ok && cases == 0 && len(t.failed) == before:
		t.failed = append(t.failed, label+" (it ran no test)")
	}
}

// addCases counts the cases of a test.xml and returns how many there were, and whether there was Bazel's own placeholder,
// which it writes for a target that reports none.
func (t *tally) addCases(label, uri string) (count int, placeholder bool, err error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return 0, false, fmt.Errorf("its test.xml is not on this machine: %s", uri)
	}
	file, err := os.Open(u.Path)
	if err != nil {
		return 0, false, err
	}
	defer file.Close()
	type testCase struct {
		Name    string    `xml:"name,attr"`
		Class   string    `xml:"classname,attr"`
		Failure *struct{} `xml:"failure"`
		Error   *struct{} `xml:"error"`
		Skipped *struct{} `xml:"skipped"`
	}
	var report struct {
		Suites []struct {
			Cases []testCase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.NewDecoder(file).Decode(&report); err != nil {
		return 0, false, fmt.Errorf("%s: %w", u.Path, err)
	}
	for _, suite := range report.Suites {
		for _, c := range suite.Cases {
			if c.Class == "" {
				placeholder = true
				continue
			}
			count++
			name := label + " " + c.Name
			switch {
			case c.Failure != nil || c.Error != nil:
				t.failed = append(t.failed, name)
			case c.Skipped != nil:
				t.skipped[name] = true
			default:
				t.passed++
			}
		}
	}
	return count, placeholder, nil
}

// addAborted notes a target that Bazel did not finish. One that is skipped counts when it is a test; one that
// could not be built counts always.
func (t *tally) addAborted(label, reason string, isTest bool) {
	switch {
	case reason != "SKIPPED":
		t.failed = append(t.failed, fmt.Sprintf("%s (%s)", label, reason))
	case isTest && !t.tested[label]:
		t.skipped[label] = true
	}
}

// late says which invocations took longer than their limits, or cannot be held against them.
func (t *tally) late(limits map[string]time.Duration) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		cost, found := t.took[name]
		switch {
		case !found:
			out = append(out, fmt.Sprintf("a limit for %s, of which there is no event file", name))
		case cost.time == 0:
			out = append(out, fmt.Sprintf("a limit for %s, whose event file does not say how long it took", name))
		case cost.time > limits[name]:
			out = append(out, fmt.Sprintf("%s took %v, its limit is %v", name, cost.time.Round(time.Second), limits[name]))
		}
	}
	return out
}

// problems says what keeps this run from being good, one sentence each.
func (t *tally) problems(expectedSkips []string) []string {
	var out []string
	for _, name := range t.failed {
		out = append(out, "failed: "+name)
	}
	if t.passed == 0 {
		out = append(out, "no test passed: a run that tested nothing is a failure")
	}
	expected := map[string]bool{}
	for _, name := range expectedSkips {
		expected[name] = true
		if !t.skipped[name] {
			out = append(out, "listed as skipped, but it was not: "+name+" (take it off the list)")
		}
	}
	for name := range t.skipped {
		if !expected[name] {
			out = append(out, "skipped, but not listed: "+name)
		}
	}
	slices.Sort(out[len(t.failed):])
	return out
}

func readSkips(path string) ([]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var skips []string
	for line := range strings.Lines(string(content)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			skips = append(skips, line)
		}
	}
	return skips, nil
}
