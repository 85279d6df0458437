// Package loader says what glibc's dynamic loader does with an object: which files its NEEDED entries lead to, in which
// order they are searched for symbols, and where a reference binds. Search and Scope predict it without running anything;
// Program asks a loader.
//
// The prediction follows DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, the cache of ldconfig and the default folders, in the loader's order.
// It does not know LD_PRELOAD, the folders for particular processors (glibc-hwcaps), namespaces, and $LIB and $PLATFORM;
// nor what a program opens itself.
package loader

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/exports/dynobj"
)

// Search is where libraries are looked for beyond what the objects say.
type Search struct {
	LibraryPath []string // LD_LIBRARY_PATH
	Cache       Cache
	Default     []string
	// Hidden are files that are taken for missing.
	Hidden []string
}

// Host returns the search of this machine, for that value of LD_LIBRARY_PATH. A missing or unknown cache is an empty one.
func Host(ldLibraryPath string) Search {
	s := Search{
		// Debian's multiarch folders, then those of other distributions.
		Default: []string{
			"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
		},
	}
	if text, err := os.ReadFile("/etc/ld.so.cache"); err == nil {
		s.Cache = ParseCache(text)
	}
	if ldLibraryPath != "" {
		s.LibraryPath = strings.FieldsFunc(ldLibraryPath, func(r rune) bool { return r == ':' || r == ';' })
	}
	return s
}

// Loaded is an object in the scope.
type Loaded struct {
	*dynobj.Object
	// Path is the file as the search came to it: absolute, its folder without symbolic links, its own name as it is.
	Path string
	// by is the object whose NEEDED entry brought it in; nil for the root.
	by *Loaded
	// aliases are the names under which it was asked for.
	aliases []string
}

// Need is a NEEDED entry and the object that it leads to.
type Need struct {
	Name   string
	Object *Loaded // nil when it was not found
}

// Scope is the closure of an object, in the order in which symbols are looked up: the root, then breadth first.
type Scope struct {
	Objects []*Loaded
	// Needs are the NEEDED entries of the root, in order.
	Needs []Need
	// Missing are the NEEDED names of any object that lead nowhere, sorted.
	Missing []string

	index map[string][]Binding // exported symbols by name, in scope order; made by the first Lookup
}

// Open loads the closure of the object at path. The caller closes the scope. The error says why the root cannot be read.
func (s Search) Open(path string) (*Scope, error) {
	o, err := dynobj.Open(path)
	if err != nil {
		return nil, err
	}
	scope := &Scope{Objects: []*Loaded{{Object: o, Path: normalise(path)}}}
	for i := 0; i < len(scope.Objects); i++ {
		by := scope.Objects[i]
		for _, name := range by.Needed {
			found, fresh := s.resolve(scope, name, by)
			switch {
			case found == nil:
				scope.Missing = append(scope.Missing, name)
			case fresh:
				scope.Objects = append(scope.Objects, found)
				fallthrough
			default:
				found.aliases = append(found.aliases, name)
			}
			if i == 0 {
				scope.Needs = append(scope.Needs, Need{Name: name, Object: found})
			}
		}
	}
	slices.Sort(scope.Missing)
	scope.Missing = slices.Compact(scope.Missing)
	return scope, nil
}

// Close releases all files.
func (s *Scope) Close() error {
	var errs []error
	for _, o := range s.Objects {
		errs = append(errs, o.Close())
	}
	return errors.Join(errs...)
}

// resolve returns the object that a NEEDED name of the object by leads to, nil when there is none. fresh says that it was
// not in the scope before. Files that are no x86-64 objects are passed over.
func (s Search) resolve(scope *Scope, name string, by *Loaded) (found *Loaded, fresh bool) {
	for _, o := range scope.Objects {
		if o.SONAME == name || slices.Contains(o.aliases, name) {
			return o, false
		}
	}
	for _, candidate := range s.candidates(name, by) {
		st, err := os.Stat(candidate)
		if err != nil || s.hides(st) {
			continue
		}
		for _, o := range scope.Objects { // the same file under another name
			if t, err := os.Stat(o.Path); err == nil && os.SameFile(st, t) {
				return o, false
			}
		}
		if o, err := dynobj.Open(candidate); err == nil {
			return &Loaded{Object: o, Path: normalise(candidate), by: by}, true
		}
	}
	return nil, false
}

func (s Search) hides(file os.FileInfo) bool {
	return slices.ContainsFunc(s.Hidden, func(path string) bool {
		hidden, err := os.Stat(path)
		return err == nil && os.SameFile(hidden, file)
	})
}

// candidates returns the files that a NEEDED name of the object by may mean, in order.
func (s Search) candidates(name string, by *Loaded) []string {
	if strings.Contains(name, "/") {
		return []string{expand(name, by)}
	}
	var out []string
	in := func(dirs []string) {
		for _, dir := range dirs {
			out = append(out, filepath.Join(dir, name))
		}
	}
	// DT_RPATH counts only in objects without DT_RUNPATH, and is inherited from the objects that brought this one in.
	if by.RunPath == nil {
		for o := by; o != nil; o = o.by {
			if o.RPath != nil && o.RunPath == nil {
				in(searchPath(*o.RPath, o))
			}
		}
	}
	in(s.LibraryPath)
	if by.RunPath != nil {
		in(searchPath(*by.RunPath, by))
	}
	if cached := s.Cache[name]; cached != "" {
		out = append(out, cached)
	}
	in(s.Default)
	return out
}

func searchPath(path string, o *Loaded) []string {
	var dirs []string
	for dir := range strings.SplitSeq(path, ":") {
		dirs = append(dirs, expand(dir, o))
	}
	return dirs
}

func expand(path string, o *Loaded) string {
	origin := filepath.Dir(o.Path)
	return strings.NewReplacer("${ORIGIN}", origin, "$ORIGIN", origin).Replace(path)
}

// normalise makes a path absolute and its folder free of symbolic links. The file's own name stays, since $ORIGIN is the
// folder in which a library was found, not the one to which a link leads.
func normalise(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// Binding is where a reference leads.
type Binding struct {
	// Object is the one that the reference binds to; nil when it does not bind.
	Object *Loaded
	Symbol dynobj.Symbol
	// Other is an object that exports the name, but not at the wanted node; set only when Object is nil.
	Other *Loaded
}

// Lookup looks a name up, at a version node unless node is empty. It is not safe for concurrent use.
func (s *Scope) Lookup(name, node string) Binding {
	if s.index == nil {
		s.index = map[string][]Binding{}
		for _, o := range s.Objects {
			for _, sym := range o.Symbols {
				if sym.Exported() {
					s.index[sym.Name] = append(s.index[sym.Name], Binding{Object: o, Symbol: sym})
				}
			}
		}
	}
	candidates := s.index[name]
	for _, b := range candidates {
		if matches(b.Symbol, node) {
			return b
		}
	}
	if len(candidates) > 0 {
		return Binding{Other: candidates[0].Object, Symbol: candidates[0].Symbol}
	}
	return Binding{}
}

// matches applies the loader's rules for versions: a versioned reference takes its own node, hidden or not, or a
// definition without one; an unversioned reference takes the default version.
func matches(sym dynobj.Symbol, node string) bool {
	if sym.Node == "" || node == "" {
		return !sym.Hidden
	}
	return sym.Node == node
}
