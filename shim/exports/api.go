package exports

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Form says under which names a library exports the API.
type Form uint8

// The forms.
const (
	FormStock   Form = iota // miopenFoo, implemented in the file
	FormPrivate             // miopenFoo_impl
	FormWrapper             // miopenFoo, implemented by another file's miopenFoo_impl
)

func (f Form) String() string {
	switch f {
	case FormStock:
		return "stock"
	case FormPrivate:
		return "private"
	case FormWrapper:
		return "wrapper"
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// EntryPoint is one function of the public API under its public name, whatever the form of the library.
type EntryPoint struct {
	Name    string // public name, without ImplSuffix
	Node    string // version node, empty when unversioned
	Hidden  bool   // not the default version of its name
	Weak    bool
	Address uint64 // virtual address in the file
}

// String returns the entry point as linkers write it: name, name@@NODE, or name@NODE when the node is not the default.
func (e EntryPoint) String() string {
	switch {
	case e.Node == "":
		return e.Name
	case e.Hidden:
		return e.Name + "@" + e.Node
	}
	return e.Name + "@@" + e.Node
}

// API is the public API of one library, never empty.
type API struct {
	Form    Form
	Entries []EntryPoint // sorted by name, then node, in byte order
}

// NoAPIError says that a library exports no function of the public API.
type NoAPIError struct{ Path string }

func (e *NoAPIError) Error() string {
	return fmt.Sprintf("%s: exports no function named %s*; it is not a MIOpen library, or its exports were hidden or stripped",
		e.Path, Prefix)
}

// MixedError says that a library exports some entry points under their public names and some under their _impl names.
type MixedError struct {
	Path  string
	Plain []string // entry points exported under the public name only
	Impl  []string // entry points exported as _impl only, public names
	Both  []string // entry points exported under both names
}

func (e *MixedError) Error() string {
	total := len(e.Plain) + len(e.Impl) + len(e.Both)
	switch {
	case len(e.Both) > 0:
		return fmt.Sprintf("%s: %d of %d entry points are exported both as %sFoo and as %sFoo%s (%s): calls through the public "+
			"name would pass by the wrapper; build the private library without the aliases",
			e.Path, len(e.Both), total, Prefix, Prefix, ImplSuffix, strings.Join(e.Both, ", "))
	case len(e.Plain) <= len(e.Impl):
		return fmt.Sprintf("%s: %d of %d entry points kept their public names (%s): the miopen_private_rename.h that it was "+
			"compiled with does not list them; take the one that a split of the stock build writes, and rebuild",
			e.Path, len(e.Plain), total, strings.Join(e.Plain, ", "))
	default:
		return fmt.Sprintf("%s: %d of %d exported functions already end in %s (%s): it was split before, or only in part; start "+
			"from the stock library", e.Path, len(e.Impl), total, ImplSuffix, strings.Join(e.Impl, ", "))
	}
}

// IndirectError says that entry points are GNU indirect functions. Their address is chosen when the process starts, so
// neither a layout fingerprint nor a comparison of addresses means anything for them.
type IndirectError struct {
	Path  string
	Names []string
}

func (e *IndirectError) Error() string {
	return fmt.Sprintf("%s: %s: entry points of type STT_GNU_IFUNC are not supported, because their addresses are not known "+
		"before run time", e.Path, strings.Join(e.Names, ", "))
}

// API returns the public API of the library. Symbols at ShimNode are not part of it. The error is a *NoAPIError, a
// *MixedError or an *IndirectError.
func (l *Library) API() (API, error) {
	var (
		plain, impl []EntryPoint
		indirect    []string
	)
	for _, e := range l.Exports {
		if e.Kind != KindAPI && e.Kind != KindImpl {
			continue
		}
		if e.Indirect {
			indirect = append(indirect, e.Name)
		}
		p := EntryPoint{Name: e.Name, Node: e.Node, Hidden: e.Hidden, Weak: e.Weak, Address: e.Address}
		if e.Kind == KindAPI {
			plain = append(plain, p)
		} else {
			p.Name = strings.TrimSuffix(e.Name, ImplSuffix)
			impl = append(impl, p)
		}
	}
	switch {
	case len(indirect) > 0:
		return API{}, &IndirectError{Path: l.Path, Names: slices.Compact(indirect)}
	case len(plain) == 0 && len(impl) == 0:
		return API{}, &NoAPIError{Path: l.Path}
	case len(impl) == 0:
		return API{Form: l.plainForm(), Entries: plain}, nil
	case len(plain) == 0:
		// The suffix disturbs the order: "miopenAB_impl" sorts before "miopenA_impl", but "miopenA" before "miopenAB".
		slices.SortFunc(impl, compareEntries)
		return API{Form: FormPrivate, Entries: impl}, nil
	}
	return API{}, mixed(l.Path, plain, impl)
}

// plainForm tells a stock library from a wrapper, for a library that exports public names only.
func (l *Library) plainForm() Form {
	if slices.ContainsFunc(l.Nodes, func(n Node) bool { return n.Name == ShimNode }) {
		return FormWrapper
	}
	for _, u := range l.Undefined {
		if strings.HasSuffix(u.Name, ImplSuffix) {
			return FormWrapper
		}
	}
	return FormStock
}

func mixed(path string, plain, impl []EntryPoint) *MixedError {
	e := &MixedError{Path: path}
	implNames := map[string]bool{}
	for _, p := range impl {
		implNames[p.Name] = true
	}
	both := map[string]bool{}
	for _, p := range plain {
		if implNames[p.Name] {
			both[p.Name] = true
			e.Both = append(e.Both, p.Name)
		} else {
			e.Plain = append(e.Plain, p.Name)
		}
	}
	for _, p := range impl {
		if !both[p.Name] {
			e.Impl = append(e.Impl, p.Name)
		}
	}
	for _, s := range []*[]string{&e.Plain, &e.Impl, &e.Both} {
		slices.Sort(*s)
		*s = slices.Compact(*s)
	}
	return e
}

func compareEntries(a, b EntryPoint) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node))
}

// Names returns the public names, each once, in byte order.
func (a API) Names() []string {
	names := make([]string, 0, len(a.Entries))
	for _, e := range a.Entries {
		names = append(names, e.Name)
	}
	return slices.Compact(names)
}

// Rename returns the map from every public name to the name under which the private library exports it.
func (a API) Rename() map[string]string {
	m := make(map[string]string, len(a.Entries))
	for _, e := range a.Entries {
		m[e.Name] = e.Name + ImplSuffix
	}
	return m
}

// Offsets returns for every entry, in order, its address relative to the first entry's, in bytes. The offsets do not
// change when the library is renamed or loaded elsewhere, so they tell whether a loaded library is the one that a
// wrapper was made for.
func (a API) Offsets() []int64 {
	out := make([]int64, len(a.Entries))
	for i, e := range a.Entries {
		out[i] = int64(e.Address - a.Entries[0].Address)
	}
	return out
}

// Fingerprint is a digest of the layout: of every entry's name, node and offset. Equal for a stock library and the
// private library made from it.
func (a API) Fingerprint() string {
	h := sha256.New()
	for i, off := range a.Offsets() {
		fmt.Fprintf(h, "%s@%s %d\n", a.Entries[i].Name, a.Entries[i].Node, off)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
