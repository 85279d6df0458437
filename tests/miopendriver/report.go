package miopendriver

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Outcome is what a verdict line says.
type Outcome uint8

// The outcomes. NotRun is a failure too, but of another kind: MIOpen computed nothing that could be compared.
const (
	Verified Outcome = iota + 1
	Differs
	NotRun
)

func (o Outcome) String() string { return [...]string{"", "verified", "differs", "not run"}[o] }

// Verdict is one line about a comparison.
type Verdict struct {
	Check     Check
	Outcome   Outcome
	Error     float64 // NaN when the line has none, or says so
	Tolerance float64 // NaN when the line has none
	Reference string  // "CPU", "GPU", or "" when the line does not say
	Line      string
}

// Solution is the solver that the driver says it used.
type Solution struct {
	Direction Directions
	Algorithm int    // a miopenConvAlgorithm_t
	ID        int    // 0 when the driver does not know
	Solver    string // "UNKNOWN" when the driver does not know
}

// Stats is a line of measurements: values by the names that the line before it gives.
type Stats map[string]string

// Report is the driver's standard output, read.
type Report struct {
	Version   string // of MIOpen as the driver was built with, such as "3.5.1"; "" when it does not say
	Command   string // the line with which the driver repeats its arguments
	Verdicts  []Verdict
	Solutions []Solution
	Stats     []Stats
	Wrote     []string // files of references
	Read      []string // files of references
	Elapsed   []string // lines with times
	Other     []string // lines that say nothing of a result, such as the seed and the machine

	// Doubtful are lines that look like a verdict and have none of the known forms.
	Doubtful []string
	// Cut is what follows the last end of line.
	Cut string
}

var (
	number       = `(\S+)`
	convolution  = regexp.MustCompile(`^(Forward Convolution|Backward Convolution Data|Backward Convolution Weights) (?:FAILED: ` + number + ` > ` + number + `|Verifies OK on (CPU|GPU) reference \(` + number + ` < ` + number + `\))$`)
	gemm         = regexp.MustCompile(`^Forward GEMM (?:FAILED: ` + number + `|Verifies on CPU and GPU \(err=` + number + `\))$`)
	activation   = regexp.MustCompile(`^(Forward|Backward) Activation Verifies on CPU and GPU$`)
	inactivation = regexp.MustCompile(`^Difference in neuron (layer|back-propagation): ` + number + ` too large at .* tolerance = ` + number + `$`)
	solution     = regexp.MustCompile(`^MIOpen (Forward|Backward Data|Backward Weights) Conv\. Algorithm: (\d+), Solution: (\d+)/(\S+)$`)
	machine      = regexp.MustCompile(`^(?:PRNG seed|Timestamp): `)
	version      = regexp.MustCompile(`; MIOpen Driver: ([0-9.]+);`)
	elapsed      = regexp.MustCompile(`^(?:GPU Kernel|Wall-clock|Warm-up).* Elapsed: `)
)

// Beginnings of the lines about files.
const (
	wrote = "Wrote output to file "
	read  = "Read data from input file "
)

// suspicious is in every line by which the driver, in any mode, says that a comparison was made.
var suspicious = regexp.MustCompile(`(?i)fail|verif|passed|differ|mismatch|error|exception|not supported`)

var (
	convolutionChecks = map[string]Check{"Forward Convolution": ForwardConvolution,
		"Backward Convolution Data": BackwardConvolutionData, "Backward Convolution Weights": BackwardConvolutionWeights}
	activationChecks = map[string]Check{"Forward": ForwardActivation, "Backward": BackwardActivation,
		"layer": ForwardActivation, "back-propagation": BackwardActivation}
	solutionDirections = map[string]Directions{"Forward": Forward, "Backward Data": BackwardData, "Backward Weights": BackwardWeights}
)

// Parse reads the driver's standard output. There is nothing that it does not accept: what it cannot read is in the
// report.
func Parse(stdout string) Report {
	var r Report
	var columns []string
	for len(stdout) > 0 {
		line, rest, ended := strings.Cut(stdout, "\n")
		stdout = rest
		if !ended {
			r.Cut = line
			break
		}
		if v, ok := verdict(line); ok {
			r.Verdicts = append(r.Verdicts, v)
			continue
		}
		values, isStats := strings.CutPrefix(line, "stats: ")
		switch m := solution.FindStringSubmatch(line); {
		case m != nil:
			algorithm, err1 := strconv.Atoi(m[2])
			id, err2 := strconv.Atoi(m[3])
			if err1 != nil || err2 != nil { // digits, but too many
				r.Doubtful = append(r.Doubtful, line)
				continue
			}
			r.Solutions = append(r.Solutions, Solution{solutionDirections[m[1]], algorithm, id, m[4]})
		case strings.HasPrefix(line, "MIOpenDriver "):
			r.Command = line
		case isStats && strings.HasPrefix(values, "name, "):
			columns = strings.Split(values, ", ")
		case isStats:
			fields := strings.Split(values, ", ")
			if len(fields) != len(columns) {
				r.Doubtful = append(r.Doubtful, line)
				continue
			}
			s := Stats{}
			for i, name := range columns {
				s[name] = fields[i]
			}
			r.Stats = append(r.Stats, s)
		case strings.HasPrefix(line, wrote):
			r.Wrote = append(r.Wrote, strings.TrimPrefix(line, wrote))
		case strings.HasPrefix(line, read):
			r.Read = append(r.Read, strings.TrimPrefix(line, read))
		case elapsed.MatchString(line):
			r.Elapsed = append(r.Elapsed, line)
		case machine.MatchString(line): // before the next: a host may have any name
			r.Other = append(r.Other, line)
			if m := version.FindStringSubmatch(line); m != nil {
				r.Version = m[1]
			}
		case suspicious.MatchString(line):
			r.Doubtful = append(r.Doubtful, line)
		default:
			r.Other = append(r.Other, line)
		}
	}
	return r
}

func verdict(line string) (v Verdict, ok bool) {
	v.Line = line
	var failed bool
	var errorText, toleranceText string
	if m := convolution.FindStringSubmatch(line); m != nil {
		v.Check, v.Reference, failed = convolutionChecks[m[1]], m[4], m[2] != ""
		errorText, toleranceText = m[2]+m[5], m[3]+m[6]
	} else if m := gemm.FindStringSubmatch(line); m != nil {
		v.Check, failed, errorText = ForwardGemm, m[1] != "", m[1]+m[2]
	} else if m := inactivation.FindStringSubmatch(line); m != nil {
		v.Check, failed, errorText, toleranceText = activationChecks[m[1]], true, m[2], m[3]
	} else if m := activation.FindStringSubmatch(line); m != nil {
		v.Check = activationChecks[m[1]]
	} else {
		return Verdict{}, false
	}
	var err1, err2 error
	v.Error, err1 = parseReal(errorText)
	v.Tolerance, err2 = parseReal(toleranceText)
	if err1 != nil || err2 != nil {
		return Verdict{}, false
	}
	switch {
	case !failed:
		v.Outcome = Verified
	case v.Error >= largest && !math.IsInf(v.Error, 1):
		v.Outcome = NotRun
	default:
		v.Outcome = Differs
	}
	return v, true
}

// largest is the driver's error of a direction that did not run, the largest double, as it prints it.
const largest = 1.79769e308

// parseReal reads a number as C++ prints it.
func parseReal(text string) (float64, error) {
	if text == "" || strings.TrimPrefix(text, "-") == "nan" {
		return math.NaN(), nil
	}
	return strconv.ParseFloat(text, 64)
}

// Findings says what keeps the report from proving that each of the checks was made and held; empty when nothing does.
// No checks at all are a finding: a comparison of nothing proves nothing.
func (r Report) Findings(checks []Check) []string {
	findings := r.counted(checks)
	for _, v := range r.Verdicts {
		if v.Outcome != Verified {
			findings = append(findings, fmt.Sprintf("%v %v: %q", v.Check, v.Outcome, v.Line))
		}
		if v.Outcome == Verified && !math.IsNaN(v.Tolerance) && !(v.Error <= v.Tolerance) { // not a number is no small error
			findings = append(findings, fmt.Sprintf("%v: the driver accepts an error above its tolerance: %q", v.Check, v.Line))
		}
	}
	return findings
}

// Undetected says what keeps the report from being that of a run in which every one of the checks was made and found a
// difference, as a control demands. A direction that did not run is no difference.
func (r Report) Undetected(checks []Check) []string {
	findings := r.counted(checks)
	for _, v := range r.Verdicts {
		if v.Outcome != Differs {
			findings = append(findings, fmt.Sprintf("%v %v: %q", v.Check, v.Outcome, v.Line))
		}
	}
	return findings
}

// counted holds the verdicts against the checks that they should be about.
func (r Report) counted(checks []Check) []string {
	var findings []string
	if len(checks) == 0 {
		findings = append(findings, "nothing was to be verified")
	}
	count := map[Check]int{}
	for _, v := range r.Verdicts {
		count[v.Check]++
		if v.Reference == "GPU" {
			findings = append(findings, fmt.Sprintf("%v: compared with the device itself: %q", v.Check, v.Line))
		}
		if !slices.Contains(checks, v.Check) {
			findings = append(findings, fmt.Sprintf("%v: nobody asked for it: %q", v.Check, v.Line))
		}
	}
	for _, check := range checks {
		switch n := count[check]; {
		case n == 0:
			findings = append(findings, fmt.Sprintf("%v: no verdict", check))
		case n > 1:
			findings = append(findings, fmt.Sprintf("%v: %d verdicts", check, n))
		}
	}
	for _, line := range r.Doubtful {
		findings = append(findings, fmt.Sprintf("a line that may be a verdict: %q", line))
	}
	if r.Cut != "" {
		findings = append(findings, fmt.Sprintf("the output ends within a line: %q", r.Cut))
	}
	return findings
}
