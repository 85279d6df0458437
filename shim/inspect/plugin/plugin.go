// Package plugin tells whether a hipDNN engine plugin reaches MIOpen's implementation without the wrapper: that it asks
// for the private library, by its private names, that it loads, and that nothing of it binds to the public library.
//
// It knows files, symbols and the dynamic loader. It knows nothing of hipDNN's plugin interface, and runs no code of a
// plugin.
package plugin

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/inspect"
	"example.com/miopen_hipdnn_shim/shim/inspect/loader"
	"example.com/miopen_hipdnn_shim/shim/split/layout"
)

// Link is how a plugin is linked to MIOpen.
type Link string

// The ways.
const (
	// LinkPrivate: every reference is a private name and leads to the private library.
	LinkPrivate Link = "private"
	// LinkUnrenamed: it asks for the private library, with public names, which that library does not have.
	LinkUnrenamed Link = "private without rename"
	// LinkWrapper: its calls enter the wrapper, and may come back to hipDNN.
	LinkWrapper Link = "wrapper"
	// LinkLegacy: there is one MIOpen library, so there is nothing to go round.
	LinkLegacy Link = "legacy single library"
	// LinkMixed: some references lead to the private library and some to a public one.
	LinkMixed Link = "mixed"
	// LinkNone: it refers to no entry point of MIOpen, or its MIOpen is not there.
	LinkNone Link = "none"
)

// Object is one of the files that take part.
type Object struct {
	Role    string   `json:"role"` // "plugin", or the form of a MIOpen library
	File    string   `json:"file"`
	Needed  []string `json:"needed"` // the NEEDED entries that name a MIOpen library
	RPath   *string  `json:"rpath"`
	RunPath *string  `json:"runpath"`
	Public  int      `json:"public_names"`  // exported entry points miopenFoo
	Private int      `json:"private_names"` // exported entry points miopenFoo_impl
}

// Count is how many references of one file were bound to another.
type Count struct {
	From    string   `json:"from"`
	To      string   `json:"to"`
	Symbols []string `json:"symbols"` // miopen* only
}

// Report is one plugin.
type Report struct {
	File    string   `json:"file"`
	Link    Link     `json:"link"`
	Objects []Object `json:"objects"`
	// Undefined are the MIOpen names that the plugin needs, and where they bind by prediction.
	Undefined []inspect.Undefined `json:"undefined"`
	// Failures are why the loader would not load it with RTLD_NOW; empty when it would.
	Failures []string `json:"failures"`
	// Bindings are as the loader makes them in a process without another MIOpen, BehindWrapper in one whose program is linked to
	// the wrapper. The latter are missing when there is no wrapper.
	Bindings      []Count `json:"bindings"`
	BehindWrapper []Count `json:"bindings_behind_wrapper,omitempty"`
	// Hidden is what would be taken for the MIOpen library that the plugin asks for, were that file not there: empty is nothing,
	// as it should be.
	Hidden []string `json:"without_library"`
	// Findings are why it does not hold.
	Findings []string `json:"findings"`
}

// Holds reports whether the plugin loads and its calls cannot enter a wrapper.
func (r Report) Holds() bool { return len(r.Findings) == 0 }

// File looks at one plugin. search predicts and program is asked; both should have the same library path. The error says
// what cannot be read or asked.
func File(ctx context.Context, path string, search loader.Search, program loader.Program) (Report, error) {
	seen, err := inspect.File(path, search)
	if err != nil {
		return Report{}, err
	}
	scope, err := search.Open(path)
	if err != nil {
		return Report{}, err
	}
	defer scope.Close()
	r := Report{File: path, Undefined: seen.Undefined, Failures: []string{}, Bindings: []Count{}, Hidden: []string{}, Findings: []string{}}
	for i, o := range scope.Objects {
		object, err := describe(o, i == 0)
		if err != nil {
			return Report{}, err
		}
		if object != nil {
			r.Objects = append(r.Objects, *object)
		}
	}
	wrapper := r.beside()
	if wrapper != nil {
		r.Objects = append(r.Objects, *wrapper)
	}

	answer, err := program.Ask(ctx, path)
	if err != nil {
		return Report{}, err
	}
	r.Failures = append(r.Failures, answer.Failures...)
	r.Bindings = count(answer.Bindings)
	if file := r.file("wrapper"); file != "" {
		behind, err := program.Ask(ctx, path, file)
		if err != nil {
			return Report{}, err
		}
		r.BehindWrapper = count(behind.Bindings)
	}
	if r.Hidden, err = r.without(search); err != nil {
		return Report{}, err
	}
	r.judge()
	return r, nil
}

// describe returns nil for a library that has nothing to do with MIOpen.
func describe(o *loader.Loaded, plugin bool) (*Object, error) {
	lib, err := exports.FromObject(o.Object)
	if err != nil {
		return nil, err
	}
	object := &Object{Role: "plugin", File: o.Path, RPath: lib.RPath, RunPath: lib.RunPath, Needed: []string{}}
	for _, name := range lib.Needed {
		if isMIOpen(name) {
			object.Needed = append(object.Needed, name)
		}
	}
	for _, e := range lib.Exports {
		switch {
		case !strings.HasPrefix(e.Name, "miopen"):
		case strings.HasSuffix(e.Name, exports.ImplSuffix):
			object.Private++
		default:
			object.Public++
		}
	}
	if plugin {
		return object, nil
	}
	if api, err := lib.API(); err == nil {
		object.Role = api.Form.String()
	} else if names, err := layout.For(lib.SONAME); err == nil && lib.SONAME == names.Private() {
		// With both names it has no form, but is what a plugin asks for all the same.
		object.Role = exports.FormPrivate.String()
	} else {
		return nil, nil
	}
	return object, nil
}

func isMIOpen(name string) bool {
	names, err := layout.For(name)
	return err == nil && (name == names.Wrapper() || name == names.Private())
}

func (r Report) file(role string) string {
	for _, o := range r.Objects {
		if o.Role == role {
			return o.File
		}
	}
	return ""
}

// beside finds the wrapper of the private library that the plugin uses, if it is not in the plugin's own scope, which it
// should not be. A process may have it all the same.
func (r Report) beside() *Object {
	private := r.file("private")
	if private == "" || r.file("wrapper") != "" {
		return nil
	}
	names, err := layout.For(filepath.Base(private))
	if err != nil {
		return nil
	}
	path := filepath.Join(filepath.Dir(private), names.Wrapper())
	scope, err := loader.Search{}.Open(path)
	if err != nil {
		return nil
	}
	defer scope.Close()
	object, err := describe(scope.Objects[0], false)
	if err != nil || object == nil || object.Role != exports.FormWrapper.String() {
		return nil
	}
	return object
}

// without returns the files that the plugin would get if the MIOpen library that it gets were missing.
func (r Report) without(search loader.Search) ([]string, error) {
	stale := []string{}
	for _, role := range []exports.Form{exports.FormPrivate, exports.FormStock} {
		if file := r.file(role.String()); file != "" {
			search.Hidden = append(search.Hidden, file)
		}
	}
	if len(search.Hidden) == 0 {
		return stale, nil
	}
	scope, err := search.Open(r.File)
	if err != nil {
		return nil, err
	}
	defer scope.Close()
	for _, o := range scope.Objects[1:] {
		if isMIOpen(o.SONAME) && !slices.ContainsFunc(r.Objects, func(known Object) bool { return known.File == o.Path }) {
			stale = append(stale, o.Path)
		}
	}
	return stale, nil
}

// count keeps what is between MIOpen's libraries and the plugin, in the order in which pairs come up.
func count(bindings []loader.Bound) []Count {
	counts := []Count{}
	for _, b := range bindings {
		if !strings.HasPrefix(b.Symbol, "miopen") {
			continue
		}
		i := slices.IndexFunc(counts, func(c Count) bool { return c.From == b.From && c.To == b.To })
		if i < 0 {
			counts = append(counts, Count{From: b.From, To: b.To})
			i = len(counts) - 1
		}
		if !slices.Contains(counts[i].Symbols, b.Symbol) {
			counts[i].Symbols = append(counts[i].Symbols, b.Symbol)
		}
	}
	return counts
}

// ofPlugin returns the plugin's own bindings by the role of the file that they lead to.
func (r Report) ofPlugin(counts []Count) map[string][]string {
	own, err := filepath.Abs(r.File)
	if err != nil {
		own = r.File
	}
	symbols := map[string][]string{}
	for _, c := range counts {
		if c.From != own {
			continue
		}
		role := "other"
		for _, o := range r.Objects {
			if same(o.File, c.To) {
				role = o.Role
			}
		}
		symbols[role] = append(symbols[role], c.Symbols...)
	}
	return symbols
}

// same compares a file of the prediction with one that the loader named, which may have symbolic links in it.
func same(a, b string) bool {
	return resolved(a) == resolved(b)
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func (r *Report) judge() {
	find := func(format string, args ...any) { r.Findings = append(r.Findings, fmt.Sprintf(format, args...)) }
	bound := r.ofPlugin(r.Bindings)
	private, stock, wrapper := bound[exports.FormPrivate.String()], bound[exports.FormStock.String()], bound[exports.FormWrapper.String()]
	unbound := slices.ContainsFunc(r.Undefined, func(u inspect.Undefined) bool { return u.File == "" && !u.Weak })
	asksPrivate := slices.ContainsFunc(r.Objects[0].Needed, func(name string) bool {
		names, err := layout.For(name)
		return err == nil && name == names.Private()
	})
	switch {
	case len(private) > 0 && len(stock)+len(wrapper) == 0:
		r.Link = LinkPrivate
	case len(private) > 0:
		r.Link = LinkMixed
	case len(wrapper) > 0:
		r.Link = LinkWrapper
	case len(stock) > 0:
		r.Link = LinkLegacy
	case asksPrivate && unbound:
		r.Link = LinkUnrenamed
	default:
		r.Link = LinkNone
	}
	for _, f := range r.Failures {
		find("does not load: %s", f)
	}
	switch r.Link {
	case LinkNone:
		find("no reference to an entry point of MIOpen is bound: this is no plugin that calls MIOpen, or its MIOpen is not there")
	case LinkUnrenamed:
		find("it uses the public names of a library that has the private ones: compile it with the flags that the private library asks for " +
			"(interface_copts), or against miopen/miopen_impl.h")
	case LinkWrapper, LinkMixed:
		find("%d references lead into the wrapper, from where a call may come back to hipDNN: link it against the private library", len(wrapper)+len(stock))
	case LinkPrivate, LinkLegacy:
	}
	if r.Link == LinkPrivate {
		for _, symbol := range private {
			if !strings.HasSuffix(symbol, exports.ImplSuffix) {
				find("%s is bound to the private library under its public name, which another library may take in another process", symbol)
			}
		}
		if away := r.ofPlugin(r.BehindWrapper)[exports.FormWrapper.String()]; len(away) > 0 {
			find("in a program that is linked to the wrapper, %s and %d more are bound to the wrapper", away[0], len(away)-1)
		}
	}
	for _, file := range r.Hidden {
		find("without its MIOpen library it would take %s", file)
	}
}
