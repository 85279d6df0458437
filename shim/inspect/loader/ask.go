package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// DefaultProgram is the loader that x86-64 programs name.
const DefaultProgram = "/lib64/ld-linux-x86-64.so.2"

// Program is a dynamic loader to be asked, instead of predicted. It maps an object and all that it needs and resolves
// every reference at once, as dlopen with RTLD_NOW does; no code of the objects is run (the mode of `ldd -r`).
type Program struct {
	Path        string   // empty: DefaultProgram
	LibraryPath []string // as LD_LIBRARY_PATH
}

// Bound is one reference as the loader bound it: file From uses Symbol of file To. Both are as the loader prints them.
type Bound struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Symbol string `json:"symbol"`
}

// Answer is what the loader said of an object.
type Answer struct {
	Bindings []Bound
	// Failures are why the load would fail, in the loader's words: libraries that were not found, symbols that bind to nothing.
	Failures []string
}

var (
	boundLine    = regexp.MustCompile("binding file (\\S+) \\[\\d+\\] to (\\S+) \\[\\d+\\]: (?:normal|protected) symbol [`']([^']+)'")
	notFoundLine = regexp.MustCompile(`^\s+(\S+) => not found`)
	failureLine  = regexp.MustCompile(`^(undefined symbol: [^\t]+|symbol \S+ version \S+ not defined[^\t]*)\t\(`)
	fatalLine    = regexp.MustCompile(`error while loading shared libraries: (.*)`)
)

// ParseBindings reads what glibc's loader prints for LD_DEBUG=bindings and passes over lines of others.
func ParseBindings(output string) []Bound {
	var bindings []Bound
	for line := range strings.Lines(output) {
		if m := boundLine.FindStringSubmatch(line); m != nil {
			bindings = append(bindings, Bound{From: m[1], To: m[2], Symbol: m[3]})
		}
	}
	return bindings
}

// Ask has the loader resolve the object at path in a process that has the objects of preload already, in the scope that
// comes before the object's own. The error says why the loader could not be asked; what it finds is in the answer.
func (p Program) Ask(ctx context.Context, path string, preload ...string) (Answer, error) {
	program := p.Path
	if program == "" {
		program = DefaultProgram
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return Answer{}, err
	}
	args := []string{}
	if len(p.LibraryPath) > 0 {
		args = append(args, "--library-path", strings.Join(p.LibraryPath, ":"))
	}
	cmd := exec.CommandContext(ctx, program, append(args, path)...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "LD_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes", "LD_BIND_NOW=1", "LD_DEBUG=bindings")
	if len(preload) > 0 {
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+strings.Join(preload, ":"))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	a := Answer{Bindings: ParseBindings(out.String())}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, "\n")
		if m := notFoundLine.FindStringSubmatch(line); m != nil {
			a.Failures = append(a.Failures, m[1]+": cannot open shared object file")
		} else if m := failureLine.FindStringSubmatch(line); m != nil {
			a.Failures = append(a.Failures, m[1])
		} else if m := fatalLine.FindStringSubmatch(line); m != nil {
			a.Failures = append(a.Failures, m[1])
		}
	}
	slices.Sort(a.Failures)
	a.Failures = slices.Compact(a.Failures)
	var exit *exec.ExitError
	switch {
	case err == nil, errors.As(err, &exit) && len(a.Failures) > 0:
		if len(a.Bindings) == 0 && len(a.Failures) == 0 {
			// A statically linked file, or a loader that knows no LD_DEBUG: nothing was asked.
			return Answer{}, fmt.Errorf("%s reports no binding of %s: is it glibc's loader, and the file dynamically linked?", program, path)
		}
		return a, nil
	default:
		return Answer{}, fmt.Errorf("%s cannot say how %s is resolved: %w: %s", program, path, err, words(out.String()))
	}
}

// words is what the loader says beside bindings and addresses.
func words(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); !boundLine.MatchString(line) && !strings.Contains(line, " (0x") && line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
