package splitsuite

import (
	"path/filepath"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/inspect/loader"
)

// between returns the symbols that file from uses of file to, both base names, if they are MIOpen's entry points, each once.
func between(bindings []loader.Bound, from, to string) []string {
	var symbols []string
	seen := map[string]bool{}
	for _, b := range bindings {
		if filepath.Base(b.From) == from && filepath.Base(b.To) == to && strings.HasPrefix(b.Symbol, "miopen") && !seen[b.Symbol] {
			seen[b.Symbol] = true
			symbols = append(symbols, b.Symbol)
		}
	}
	return symbols
}
