// Package manifest is the record that a split leaves beside the libraries: what it was made from, what it consists of,
// and what has to match at run time.
//
// It is deterministic: the same input, compiler and tool give the same bytes. It holds no date, no path outside the
// folder, and nothing about the machine.
package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/cespare/xxhash/v2"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/exports/opened"
)

// Schema is the version of the record's form. It grows when a reader of an older one would misunderstand it.
const Schema = 1

// ToolName marks a record as one of this tool.
const ToolName = "miopen-shim"

// Manifest is the record.
type Manifest struct {
	Schema int  `json:"schema"`
	Tool   Tool `json:"tool"`
	// Input is the library that was split.
	Input Input `json:"input"`
	// Private and Wrapper are the two libraries of the split.
	Private Library `json:"private"`
	Wrapper Library `json:"wrapper"`
	// Nodes are the version nodes of the stock library, in its order.
	Nodes []Node `json:"nodes"`
	// LayoutFingerprint is exports.API.Fingerprint of Input and Private.
	LayoutFingerprint string `json:"layout_fingerprint"`
	// EntryPoints are the functions of the API, sorted by name, then node, in byte order.
	EntryPoints []EntryPoint `json:"entry_points"`
	// Undeclared are the entry points that the header given to the split does not declare. Null when none was given.
	Undeclared []string `json:"undeclared"`
	// RunTime is what the private library may open while it runs.
	RunTime RunTime `json:"run_time"`
	// Files are the digests of the other files, by name.
	Files map[string]string `json:"files"`
}

// Tool is the program that made the split.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Identity tells one file from another.
type Identity struct {
	SONAME  string `json:"soname"`
	BuildID string `json:"build_id"` // hexadecimal, empty when there is none
	Size    int64  `json:"size"`     // bytes
	Digest  string `json:"digest"`   // as Digest returns it
}

// Input is the library that was split.
type Input struct {
	Form string `json:"form"` // "stock", or "private" when its names were changed at compile time
	Identity
}

// Library is one of the two libraries of a split.
type Library struct {
	File string `json:"file"`
	Identity
	Needed  []string             `json:"needed"`
	RunPath *string              `json:"runpath"` // null when there is no DT_RUNPATH
	Glibc   exports.GlibcVersion `json:"glibc"`   // the oldest glibc it loads on; "none" when any does
}

// Node is a version node.
type Node struct {
	Name    string   `json:"name"`
	Parents []string `json:"parents,omitempty"`
}

// EntryPoint is a function of the API.
type EntryPoint struct {
	Name   string `json:"name"`
	Node   string `json:"node"`             // empty when unversioned
	Hidden bool   `json:"hidden,omitempty"` // not the default version of its name
	Offset int64  `json:"offset"`           // address relative to the first entry point's, bytes
}

// RunTime is what a library may open beyond its NEEDED entries; see package opened for what that is worth.
type RunTime struct {
	Libraries []opened.File `json:"libraries"`
	// SystemDatabase is null for a library that looks for none.
	SystemDatabase *SystemDatabase `json:"system_database"`
}

// String returns the record as JSON.
func (t RunTime) String() string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings and slices of them can be encoded
	}
	return string(text)
}

// SystemDatabase is where MIOpen looks for its databases.
type SystemDatabase struct {
	RelativeToPrivate string   `json:"relative_to_private_library"`
	CompiledIn        []string `json:"compiled_in"`
	Variable          string   `json:"variable"`
}

// NewRunTime converts a scan.
func NewRunTime(r opened.Report) RunTime {
	t := RunTime{Libraries: append([]opened.File{}, r.Libraries...)}
	if r.SystemDatabase {
		t.SystemDatabase = &SystemDatabase{
			RelativeToPrivate: "../share/miopen/db",
			CompiledIn:        append([]string{}, r.DatabaseFolders...),
			Variable:          opened.DatabaseVariable,
		}
	}
	return t
}

// Nodes converts version nodes.
func Nodes(nodes []exports.Node) []Node {
	out := []Node{}
	for _, n := range nodes {
		node := Node{Name: n.Name}
		if len(n.Parents) > 0 { // nil and empty are the same in the text, and have to be in memory
			node.Parents = n.Parents
		}
		out = append(out, node)
	}
	return out
}

// EntryPoints converts an API.
func EntryPoints(api exports.API) []EntryPoint {
	out := make([]EntryPoint, 0, len(api.Entries))
	offsets := api.Offsets()
	for i, e := range api.Entries {
		out = append(out, EntryPoint{Name: e.Name, Node: e.Node, Hidden: e.Hidden, Offset: offsets[i]})
	}
	return out
}

// Describe reads the identity and the needs of a library that has been parsed already; it digests the file.
func Describe(file string, l *exports.Library) (Library, error) {
	digest, err := Digest(l.Path)
	if err != nil {
		return Library{}, err
	}
	return Library{
		File:     file,
		Identity: Identity{SONAME: l.SONAME, BuildID: l.BuildID, Size: l.Size, Digest: digest},
		Needed:   append([]string{}, l.Needed...), RunPath: l.RunPath, Glibc: l.Glibc,
	}, nil
}

// Digest returns the digest of a file's content, "xxh64:" and 16 hexadecimal digits, as xxhsum -H64 prints them. It
// detects damage and mix-ups; it is no protection against forgery.
func Digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := xxhash.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, make([]byte, 1<<20)); err != nil {
		return "", err
	}
	return fmt.Sprintf("xxh64:%016x", h.Sum64()), nil
}

// Encode returns the record's text.
func (m Manifest) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// IsOurs reports whether text is a record of this tool, of whatever schema.
func IsOurs(text []byte) bool {
	var head struct {
		Tool Tool `json:"tool"`
	}
	return json.Unmarshal(text, &head) == nil && head.Tool.Name == ToolName
}

// Decode reads a record. The error says why text is not a record that this version understands.
func Decode(text []byte) (Manifest, error) {
	var head struct {
		Schema int  `json:"schema"`
		Tool   Tool `json:"tool"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return Manifest{}, fmt.Errorf("not a manifest: %w", err)
	}
	if head.Tool.Name != ToolName {
		return Manifest{}, fmt.Errorf("not a manifest of %s: the tool's name is %q", ToolName, head.Tool.Name)
	}
	if head.Schema != Schema {
		return Manifest{}, fmt.Errorf("the manifest has schema %d, this program reads %d; use %s %s, or split again",
			head.Schema, Schema, ToolName, head.Tool.Version)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var m Manifest
	if err := d.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("damaged manifest: %w", err)
	}
	return m, nil
}
