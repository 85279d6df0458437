// Package exports knows which symbols of a MIOpen library are its public API, and compares two libraries by them.
//
// The public API of a library is what that library exports: its defined, visible, global or weak functions named
// miopen*, each with its version node. It is read from the file, per version; there is no fixed list, and the header is
// not asked, because MIOpen exports functions that its header does not declare and programs use them.
//
// A library carries the API in one of three forms: stock (miopenFoo), private (miopenFoo_impl, whether the names were
// changed in the binary or when it was compiled), or wrapper (miopenFoo, implemented by undefined miopenFoo_impl). A
// library that mixes them is refused with the names that do not fit.
//
// The package reads files and judges names. It knows neither how a library is rewritten nor what stubs look like.
package exports

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/exports/dynobj"
)

const (
	// Prefix starts the name of every function of the public API.
	Prefix = "miopen"
	// ImplSuffix ends the name under which the private library exports an entry point.
	ImplSuffix = "_impl"
	// ShimNode is the version node of what a wrapper exports beyond the stock API.
	ShimNode = "MIOPEN_HIPDNN_SHIM_1"
)

// Kind classifies an exported symbol.
type Kind uint8

// The kinds, in the order in which reports list them.
const (
	KindAPI    Kind = iota // a function miopen*
	KindImpl               // a function miopen*_impl
	KindShim               // a symbol at ShimNode
	KindOtherC             // any other symbol with an unmangled name that is not data
	KindCXX                // any symbol with an Itanium C++ mangled name: function, vtable, type information, variable
	KindData               // an object, common or thread-local symbol with an unmangled name
)

// Kinds lists all kinds.
var Kinds = []Kind{KindAPI, KindImpl, KindShim, KindOtherC, KindCXX, KindData}

func (k Kind) String() string {
	switch k {
	case KindAPI:
		return "public C API"
	case KindImpl:
		return "_impl"
	case KindShim:
		return "shim addition"
	case KindOtherC:
		return "other C"
	case KindCXX:
		return "C++"
	case KindData:
		return "data"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Export is one exported symbol.
type Export struct {
	Name     string
	Node     string // version node, empty when unversioned
	Hidden   bool   // not the default version of its name
	Kind     Kind
	Weak     bool
	Indirect bool   // a GNU indirect function: Address is its resolver's
	Address  uint64 // virtual address in the file
	Size     uint64
}

// Reference is an undefined symbol.
type Reference struct {
	Name string
	Node string // required version node, empty when unversioned
	From string // the DT_NEEDED name that has to provide the node
	Weak bool
}

// Node is a version node that a library defines.
type Node struct {
	Name    string
	Parents []string // nodes it inherits from
}

// Library is what the dynamic section of one file says. All slices of symbols are sorted by name, then node, in byte
// order.
type Library struct {
	Path      string
	Size      int64 // bytes
	SONAME    string
	Needed    []string // file order
	RPath     *string  // nil when there is no DT_RPATH
	RunPath   *string  // nil when there is no DT_RUNPATH
	BuildID   string   // hexadecimal, empty when there is none
	Glibc     GlibcVersion
	Nodes     []Node // file order
	Exports   []Export
	Undefined []Reference // undefined miopen* names only
}

// ReadError says that an input cannot be read, or is not what it should be: not a dynamic object, not a header, not a
// folder.
type ReadError struct {
	Path string
	Err  error
}

func (e *ReadError) Error() string {
	if text := e.Err.Error(); strings.Contains(text, e.Path) {
		return text
	}
	return fmt.Sprintf("%s: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// Read reads the library at path. The error is a *ReadError, around a *dynobj.FormatError when the file is not an ELF64
// x86-64 dynamic object, and around an *fs.PathError when it cannot be read.
func Read(path string) (*Library, error) {
	o, err := dynobj.Open(path)
	if err != nil {
		return nil, &ReadError{Path: path, Err: err}
	}
	defer o.Close()
	l, err := FromObject(o)
	if err != nil {
		return nil, &ReadError{Path: path, Err: err}
	}
	return l, nil
}

// FromObject is Read for an object that is open already. It does not close it.
func FromObject(o *dynobj.Object) (*Library, error) {
	buildID, err := o.BuildID()
	if err != nil {
		return nil, err
	}
	l := &Library{
		Path: o.Path, Size: o.Size, SONAME: o.SONAME, Needed: o.Needed, RPath: o.RPath, RunPath: o.RunPath,
		BuildID: buildID, Glibc: glibcFloor(o.VersionNeeds),
	}
	nodes := map[string]bool{}
	for _, d := range o.VersionDefs {
		l.Nodes = append(l.Nodes, Node{Name: d.Name, Parents: d.Parents})
		nodes[d.Name] = true
	}
	for _, s := range o.Symbols {
		switch {
		case s.Exported():
			// GNU ld adds an absolute symbol named after each version node. It marks the node and exports nothing.
			if s.Section == elf.SHN_ABS && s.Name == s.Node && nodes[s.Name] {
				continue
			}
			l.Exports = append(l.Exports, Export{
				Name: s.Name, Node: s.Node, Hidden: s.Hidden, Kind: classify(s), Weak: s.Bind == elf.STB_WEAK,
				Indirect: s.Type == elf.STT_GNU_IFUNC, Address: s.Value, Size: s.Size,
			})
		case !s.Defined() && strings.HasPrefix(s.Name, Prefix):
			l.Undefined = append(l.Undefined, Reference{
				Name: s.Name, Node: s.Node, From: s.From, Weak: s.Bind == elf.STB_WEAK,
			})
		}
	}
	slices.SortFunc(l.Exports, func(a, b Export) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node))
	})
	slices.SortFunc(l.Undefined, func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node))
	})
	return l, nil
}

func classify(s dynobj.Symbol) Kind {
	function := s.Type == elf.STT_FUNC || s.Type == elf.STT_GNU_IFUNC
	switch {
	case s.Node == ShimNode:
		return KindShim
	case strings.HasPrefix(s.Name, "_Z"):
		return KindCXX
	case s.Type == elf.STT_OBJECT || s.Type == elf.STT_COMMON || s.Type == elf.STT_TLS:
		return KindData
	case function && strings.HasPrefix(s.Name, Prefix) && strings.HasSuffix(s.Name, ImplSuffix):
		return KindImpl
	case function && strings.HasPrefix(s.Name, Prefix):
		return KindAPI
	}
	return KindOtherC
}

// OfKind returns the exports of one kind.
func (l *Library) OfKind(k Kind) []Export {
	var out []Export
	for _, e := range l.Exports {
		if e.Kind == k {
			out = append(out, e)
		}
	}
	return out
}
