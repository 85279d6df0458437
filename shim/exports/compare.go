package exports

import (
	"slices"
	"strings"
)

// NodeDifference is an entry point that two libraries export at different nodes.
type NodeDifference struct {
	Name      string
	Want, Got []string // "@@NODE" for a default version, "@NODE" for another, "" for unversioned
}

// Difference is how the API of one library departs from another's. The zero value means that they are equal.
type Difference struct {
	Missing []string // names that only the first has
	Extra   []string // names that only the second has
	Nodes   []NodeDifference
}

// Empty reports whether the two are equal.
func (d Difference) Empty() bool {
	return len(d.Missing) == 0 && len(d.Extra) == 0 && len(d.Nodes) == 0
}

// Compare compares two libraries by public name and version node. Forms and addresses do not matter: a stock library
// equals its private and its wrapper.
func Compare(want, got API) Difference {
	var d Difference
	w, g := versions(want), versions(got)
	for _, name := range want.Names() {
		switch {
		case g[name] == nil:
			d.Missing = append(d.Missing, name)
		case !slices.Equal(w[name], g[name]):
			d.Nodes = append(d.Nodes, NodeDifference{Name: name, Want: w[name], Got: g[name]})
		}
	}
	for _, name := range got.Names() {
		if w[name] == nil {
			d.Extra = append(d.Extra, name)
		}
	}
	return d
}

func versions(a API) map[string][]string {
	m := map[string][]string{}
	for _, e := range a.Entries {
		m[e.Name] = append(m[e.Name], strings.TrimPrefix(e.String(), e.Name))
	}
	return m
}
