package gtest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// parseReport reads what --gtest_output=json:PATH writes when all tests are done.
func parseReport(data []byte) (map[string]Result, error) {
	type message struct {
		Failure string `json:"failure"`
		Message string `json:"message"`
	}
	var report struct {
		Tests  *int `json:"tests"`
		Suites []struct {
			Name  string `json:"name"`
			Tests []struct {
				Name     string    `json:"name"`
				Status   string    `json:"status"`
				Result   string    `json:"result"`
				Failures []message `json:"failures"`
				Skipped  []message `json:"skipped"`
			} `json:"testsuite"`
		} `json:"testsuites"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("the report in JSON: %w", err)
	}
	results := map[string]Result{}
	for _, suite := range report.Suites {
		for _, test := range suite.Tests {
			name := suite.Name + "." + test.Name
			var result Result
			var texts []string
			switch {
			case test.Status == "NOTRUN":
				result.Outcome = NotRun
			case test.Status == "RUN" && test.Result == "SKIPPED":
				result.Outcome = Skipped
				for _, m := range test.Skipped {
					texts = append(texts, m.Message)
				}
			case test.Status == "RUN" && test.Result == "COMPLETED" && len(test.Failures) == 0:
				result.Outcome = OK
			case test.Status == "RUN" && test.Result == "COMPLETED":
				result.Outcome = Failed
				for _, m := range test.Failures {
					texts = append(texts, m.Failure)
				}
			default:
				return nil, fmt.Errorf("the report in JSON: %s has status %q and result %q, which have no meaning here", name, test.Status, test.Result)
			}
			result.Text = strings.Join(texts, "\n")
			if _, twice := results[name]; twice {
				return nil, fmt.Errorf("the report in JSON: %s is there twice", name)
			}
			results[name] = result
		}
	}
	if report.Tests == nil || *report.Tests != len(results) {
		return nil, fmt.Errorf("the report in JSON: it has %d tests and does not say so", len(results))
	}
	return results, nil
}

// parseList reads what --gtest_list_tests prints: suites, and indented below them their tests; either may have a
// comment. Lines before the first suite are the program's own.
func parseList(output string) ([]string, error) {
	var names []string
	suite := ""
	for line := range strings.Lines(output) {
		name, _, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "  # ")
		switch test := strings.TrimPrefix(name, "  "); {
		case test != name && suite != "" && !strings.ContainsAny(test, " \t"):
			names = append(names, suite+test)
		case strings.HasSuffix(name, ".") && !strings.ContainsAny(name, " \t"):
			suite = name
		case suite != "":
			return nil, fmt.Errorf("the list of tests has the line %q, which is neither a suite nor a test", line)
		}
	}
	return names, nil
}

// progress follows the lines that a program prints while its tests run, to know what was done when it dies.
type progress struct {
	asked   map[string]bool
	results map[string]Result
	current string // the test that runs, "" between tests
}

var marks = []struct {
	text    string
	outcome Outcome
}{
	{"[       OK ] ", OK},
	{"[  FAILED  ] ", Failed},
	{"[  SKIPPED ] ", Skipped},
}

// line takes one line, and says whether a test started or ended. A mark may follow what the test itself printed without
// an end of line. The list of failed tests at the end of a run is not progress: no test runs then.
func (p *progress) line(line string) bool {
	if _, name, found := strings.Cut(line, "[ RUN      ] "); found {
		if name = strings.TrimSpace(name); p.asked[name] {
			p.current = name
			return true
		}
	}
	if p.current == "" {
		return false
	}
	for _, mark := range marks {
		_, rest, found := strings.Cut(line, mark.text)
		if !found {
			continue
		}
		if rest, found = strings.CutPrefix(rest, p.current); found && (strings.HasPrefix(rest, " (") || strings.HasPrefix(rest, ", where ")) {
			p.results[p.current] = Result{Outcome: mark.outcome}
			p.current = ""
			return true
		}
	}
	return false
}
