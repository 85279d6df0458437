package miopendriver

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed calls/*.txt
var callLists embed.FS

// investigated is the release whose calls the investigation recorded.
const investigated = "3.5.2"

// Calls are the entry points that the driver of a MIOpen release calls, in order, for
// "convfp16 -n 1 -c 1 -H 8 -W 8 -k 1 -y 3 -x 3 -p 1 -q 1 ... -F 1 -t 1 -i 1 -V 0", and the release that the list is of:
// of a release that has no list of its own it is the investigation's. The lists say why they differ.
func Calls(version string) (calls []string, of string, err error) {
	for _, of := range []string{version, investigated} {
		data, err := callLists.ReadFile("calls/" + of + ".txt")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "#") {
				calls = append(calls, line)
			}
		}
		return calls, of, nil
	}
	return nil, "", fmt.Errorf("no list of the calls of MIOpenDriver %s", investigated)
}
