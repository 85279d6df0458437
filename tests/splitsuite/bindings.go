package splitsuite

import (
	"path/filepath"
	"regexp"
	"strings"
)

// binding is one line that glibc's loader prints for LD_DEBUG=bindings: file From uses Symbol of file To.
// Files are base names.
type binding struct {
	From, To, Symbol string
}

var bindingLine = regexp.MustCompile("binding file (\\S+) \\[\\d+\\] to (\\S+) \\[\\d+\\]: (?:normal|protected) symbol [`']([^']+)'")

// parseBindings reads the loader's output and passes over lines that are not its own.
func parseBindings(output string) []binding {
	var bindings []binding
	for line := range strings.Lines(output) {
		if m := bindingLine.FindStringSubmatch(line); m != nil {
			bindings = append(bindings, binding{filepath.Base(m[1]), filepath.Base(m[2]), m[3]})
		}
	}
	return bindings
}

// between returns the symbols that from uses of to, if they are MIOpen's entry points, each once.
func between(bindings []binding, from, to string) []string {
	var symbols []string
	seen := map[string]bool{}
	for _, b := range bindings {
		if b.From == from && b.To == to && strings.HasPrefix(b.Symbol, "miopen") && !seen[b.Symbol] {
			seen[b.Symbol] = true
			symbols = append(symbols, b.Symbol)
		}
	}
	return symbols
}
