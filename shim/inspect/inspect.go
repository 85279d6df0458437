// Package inspect collects what a library or program says about its place in a split: what it needs and where that is
// found, what it exports and at which nodes, where its MIOpen references bind, and on which glibc it loads.
//
// It reads and renders; it judges only whether references bind. It takes names and nodes from package exports and the
// loader's behaviour from package loader.
package inspect

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/exports/opened"
	"example.com/miopen_hipdnn_shim/shim/inspect/loader"
	"example.com/miopen_hipdnn_shim/shim/split/layout"
)

// Report is one file.
type Report struct {
	File    string               `json:"file"`
	Form    string               `json:"form"` // "stock", "private", "wrapper", "none", or what is wrong with its exports
	SONAME  string               `json:"soname"`
	BuildID string               `json:"build_id"`
	Size    int64                `json:"size"` // bytes
	RPath   *string              `json:"rpath"`
	RunPath *string              `json:"runpath"`
	Glibc   exports.GlibcVersion `json:"glibc"` // the oldest on which it loads; "none" when it asks for no version
	Needed  []Needed             `json:"needed"`
	// Missing are the NEEDED names that lead nowhere, in the file itself or in what it needs.
	Missing []string `json:"missing"`
	Nodes   []string `json:"nodes"`
	Counts  []Count  `json:"export_counts"`
	Exports []Export `json:"exports"`
	// Undefined are the MIOpen names that the file needs from others.
	Undefined []Undefined `json:"undefined"`
	// Fingerprint is the layout fingerprint; empty for a file without entry points of its own.
	Fingerprint string        `json:"layout_fingerprint,omitempty"`
	RunTime     []opened.File `json:"opened_at_run_time"`
}

// Needed is a NEEDED entry and the file that it leads to.
type Needed struct {
	Name string `json:"name"`
	File string `json:"file"` // empty when it is not found
}

// Count is the number of exports of one kind at one node.
type Count struct {
	Kind  string `json:"kind"`
	Node  string `json:"node"`
	Count int    `json:"count"`
}

// Export is an exported symbol.
type Export struct {
	Name   string `json:"name"`
	Node   string `json:"node"`
	Hidden bool   `json:"hidden,omitempty"`
	Kind   string `json:"kind"`
}

// Undefined is a reference and where it binds.
type Undefined struct {
	Name string `json:"name"`
	Node string `json:"node"` // the wanted node
	From string `json:"from"` // the NEEDED name that has to have the node
	Weak bool   `json:"weak,omitempty"`
	// File is what it binds to; empty when it does not bind.
	File string `json:"file"`
	// BoundNode is the node of the definition.
	BoundNode string `json:"bound_node,omitempty"`
	// Other is a file that exports the name at another node, OtherNode, when the reference does not bind.
	Other     string `json:"other,omitempty"`
	OtherNode string `json:"other_node,omitempty"`
}

// Bound reports whether the reference binds, or may stay unbound. The references of a wrapper are weak too, so that it is
// loaded with a private library that lacks a function; but it then refuses to work.
func (u Undefined) Bound() bool {
	return u.File != "" || u.Weak && !strings.HasSuffix(u.Name, exports.ImplSuffix)
}

// Holds reports whether every MIOpen reference binds.
func (r Report) Holds() bool {
	return !slices.ContainsFunc(r.Undefined, func(u Undefined) bool { return !u.Bound() })
}

// File inspects one file. The error says why it cannot be read.
func File(path string, search loader.Search) (Report, error) {
	scope, err := search.Open(path)
	if err != nil {
		return Report{}, err
	}
	defer scope.Close()
	root := scope.Objects[0].Object
	lib, err := exports.FromObject(root)
	if err != nil {
		return Report{}, err
	}
	scan, err := opened.Scan(root)
	if err != nil {
		return Report{}, err
	}
	r := Report{
		File: path, SONAME: lib.SONAME, BuildID: lib.BuildID, Size: lib.Size, RPath: lib.RPath, RunPath: lib.RunPath,
		Glibc: lib.Glibc, Needed: []Needed{}, Missing: append([]string{}, scope.Missing...), Nodes: []string{},
		Exports: []Export{}, Undefined: []Undefined{}, RunTime: []opened.File{},
	}
	for _, f := range scan.Libraries {
		if f.Name != formerSONAME(lib.SONAME) {
			r.RunTime = append(r.RunTime, f)
		}
	}
	var none *exports.NoAPIError
	if api, err := lib.API(); errors.As(err, &none) {
		r.Form = "none"
	} else if err != nil {
		r.Form = err.Error()
	} else {
		r.Form = api.Form.String()
		if api.Form != exports.FormWrapper {
			r.Fingerprint = api.Fingerprint()
		}
	}
	for _, n := range scope.Needs {
		needed := Needed{Name: n.Name}
		if n.Object != nil {
			needed.File = n.Object.Path
		}
		r.Needed = append(r.Needed, needed)
	}
	for _, n := range lib.Nodes {
		r.Nodes = append(r.Nodes, n.Name)
	}
	for _, e := range lib.Exports {
		r.Exports = append(r.Exports, Export{Name: e.Name, Node: e.Node, Hidden: e.Hidden, Kind: e.Kind.String()})
	}
	r.Counts = count(lib.Exports)
	for _, u := range lib.Undefined {
		r.Undefined = append(r.Undefined, resolve(scope, u))
	}
	return r, nil
}

// formerSONAME returns the SONAME that a private library had before it was renamed, empty for another library. The name
// still stands in the file, in the string table that the rename replaced, where it looks like a constant.
func formerSONAME(soname string) string {
	if names, err := layout.For(soname); err == nil && soname == names.Private() {
		return names.Wrapper()
	}
	return ""
}

// count counts exports by kind, in the order of exports.Kinds, and node, in byte order.
func count(list []exports.Export) []Count {
	counts := []Count{}
	for _, k := range exports.Kinds {
		byNode := map[string]int{}
		var nodes []string
		for _, e := range list {
			if e.Kind != k {
				continue
			}
			if byNode[e.Node] == 0 {
				nodes = append(nodes, e.Node)
			}
			byNode[e.Node]++
		}
		slices.Sort(nodes)
		for _, n := range nodes {
			counts = append(counts, Count{Kind: k.String(), Node: n, Count: byNode[n]})
		}
	}
	return counts
}

func resolve(scope *loader.Scope, ref exports.Reference) Undefined {
	u := Undefined{Name: ref.Name, Node: ref.Node, From: ref.From, Weak: ref.Weak}
	b := scope.Lookup(ref.Name, ref.Node)
	switch {
	case b.Object != nil:
		u.File, u.BoundNode = filepath.Clean(b.Object.Path), b.Symbol.Node
	case b.Other != nil:
		u.Other, u.OtherNode = filepath.Clean(b.Other.Path), b.Symbol.Node
	}
	return u
}
