package miopendriver

import (
	"regexp"
	"strings"
)

// A Rule replaces what may differ between two runs that do the same, and says why it may.
type Rule struct {
	Name string
	Why  string

	pattern *regexp.Regexp
	with    string
	only    string // beginning of the lines that the rule is about
}

func (r Rule) apply(line string) string {
	if !strings.HasPrefix(line, r.only) {
		return line
	}
	return r.pattern.ReplaceAllString(line, r.with)
}

// OutputRules are the rules for standard output. There is none for numbers that were computed: where those may differ,
// the caller adds ErrorRule.
var OutputRules = []Rule{
	{Name: "timestamp", Why: "the time of day", only: "Timestamp: ",
		pattern: regexp.MustCompile(`^Timestamp: [^;]*;`), with: "Timestamp: TIME;"},
	{Name: "kernel time", Why: "measured", only: "GPU Kernel ",
		pattern: regexp.MustCompile(`Elapsed: \S+ ms`), with: "Elapsed: TIME ms"},
	{Name: "wall-clock time", Why: "measured", only: "Wall-clock ",
		pattern: regexp.MustCompile(`(: |GWSS: )[0-9.e+-]+( ms|\))`), with: "${1}TIME$2"},
	{Name: "convolution stats", Why: "the last three columns are the measured time and rates derived from it", only: "stats: ",
		pattern: regexp.MustCompile(`^(stats: \S*-conv.*), \S+, \S+, \S+$`), with: "$1, GFLOPS, GB/S, TIME"},
	{Name: "activation stats", Why: "the last two columns are the measured time and a rate derived from it", only: "stats: ",
		pattern: regexp.MustCompile(`^(stats: \S*-activ.*), \S+, \S+$`), with: "$1, GB/S, TIME"},
	{Name: "references", Why: "each run has a folder of its own for them", only: "MIOpenDriver ",
		pattern: regexp.MustCompile(` -C \S+`), with: " -C REFERENCES"},
	{Name: "reference file", Why: "each run has a folder of its own for them", only: "Wrote output to file ",
		pattern: regexp.MustCompile(`file .*/`), with: "file REFERENCES/"},
	{Name: "reference file read", Why: "each run has a folder of its own for them", only: "Read data from input file ",
		pattern: regexp.MustCompile(`file .*/`), with: "file REFERENCES/"},
}

// ErrorRule forgives the size of an error that was within its tolerance: kernels that add in no fixed order have another
// one in each run.
var ErrorRule = Rule{Name: "error", Why: "kernels that use atomic additions round differently in each run",
	pattern: regexp.MustCompile(`(Verifies OK on CPU reference \()\S+`), with: "${1}ERROR"}

// LogRules are the rules for MIOpen's log.
var LogRules = []Rule{
	{Name: "address", Why: "chosen by the allocator and the loader",
		pattern: regexp.MustCompile(`0x[0-9a-f]{5,}`), with: "ADDRESS"},
	{Name: "duration", Why: "measured",
		pattern: regexp.MustCompile(`\b[0-9.]+(?:e[+-]?[0-9]+)? ms\b`), with: "TIME ms"},
	{Name: "lock holder", Why: "the file that a lock is held by ends in the process's number",
		pattern: regexp.MustCompile(`(\.fslock\.\S*)\.[0-9]+\b`), with: "$1.PID"},
	{Name: "database age", Why: "times of files", only: "MIOpen(HIP): Info2 [ValidateUnsafe]",
		pattern: regexp.MustCompile(`: [0-9]+, [0-9]+$`), with: ": TIME, TIME"},
	{Name: "kernel time", Why: "measured", only: "MIOpen(HIP): Info [FindConvolution]",
		pattern: regexp.MustCompile(`\t[0-9.e+-]+\t`), with: "\tTIME\t"},
	{Name: "chosen time", Why: "measured", only: "MIOpen(HIP): Info [FillFindReturnParameters]",
		pattern: regexp.MustCompile(`, [0-9.e+-]+$`), with: ", TIME"},
	{Name: "invoker time", Why: "measured", only: "MIOpen(HIP): Info [EvaluateInvokers]",
		pattern: regexp.MustCompile(`: [0-9.e+-]+( <|,)`), with: ": TIME$1"},
	{Name: "record", Why: "a record of the find database has measured times", only: "MIOpen(HIP): Info2 [SetValues]",
		pattern: regexp.MustCompile(`:[0-9.e+-]+,`), with: ":TIME,"},
	{Name: "out parameter", Why: "MIOpen logs parameters before it has set them: what the caller's variable happened to hold",
		pattern: regexp.MustCompile(`^(MIOpen\(HIP\): \t(?:n|c|h|w|vectorLength|returnedAlgoCount|count|solutionCount) = )\S+$`), with: "${1}UNSET"},
}

// Normalise applies rules to each line of a text.
func Normalise(text string, rules ...Rule) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		for _, r := range rules {
			body = r.apply(body)
		}
		b.WriteString(body)
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Log is MIOpen's log in a form in which two runs can be compared: the lines in their order, and beside them those of
// the thread that keeps locks alive, which come whenever that thread gets to run, by their number.
type Log struct {
	Lines []string
	Locks map[string]int
}

// lockThread begins the lines of MIOpen's thread that refreshes a held lock.
var lockThread = regexp.MustCompile(`^MIOpen\(HIP\): \S+ \[refresh_lock\]`)

// ParseLog reads a log by the rules.
func ParseLog(stderr string, rules ...Rule) Log {
	log := Log{Locks: map[string]int{}}
	for line := range strings.Lines(Normalise(stderr, rules...)) {
		line = strings.TrimSuffix(line, "\n")
		if lockThread.MatchString(line) {
			log.Locks[line]++
		} else {
			log.Lines = append(log.Lines, line)
		}
	}
	return log
}
