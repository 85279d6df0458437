package elf

import (
	stdelf "debug/elf"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Edit says what to change in one shared object. The zero value changes
// nothing.
type Edit struct {
	// Rename maps exported dynamic symbols, which are defined and in a hash
	// table, to their new names. Every version of a name is renamed. Every
	// key must exist, no new name may.
	Rename map[string]string

	// SONAME is the new DT_SONAME, added where there is none; "" keeps the
	// old one. The base version definition follows.
	SONAME string

	// RunPath is the new DT_RUNPATH, which replaces DT_RPATH and DT_RUNPATH,
	// or is added where there is neither. nil keeps them, a pointer to ""
	// removes them.
	RunPath *string

	// Needed maps DT_NEEDED entries to the names that replace them. The
	// version requirements (vn_file) follow. Every key must exist.
	Needed map[string]string

	// AddNeeded are DT_NEEDED entries to add behind the last one. Those that
	// are there already are left alone.
	AddNeeded []string
}

// Result counts what a rewrite did.
type Result struct {
	Symbols      int   // dynamic symbols of the object, the null symbol not counted
	Renamed      int   // of these: symbols with a new name
	Relocations  int   // entries whose symbol index changed
	Growth       int64 // bytes by which the output is longer
	BSS          int64 // of these: bytes of .bss that are now in the file, as zeros
	DynamicMoved bool  // .dynamic had no spare entry and lies in the tail now
}

// Rewrite applies an edit to the shared object src and writes the result to
// dst, with the permissions of src. src is opened for reading only; dst is
// written under a temporary name in its folder, and appears, or is replaced,
// when it is complete. An edit that changes nothing makes a copy.
//
// Errors are a *FormatError when src cannot be read as a supported object, an
// *EditError when the edit does not apply to it, and otherwise come from the
// operating system. After an error dst is as it was.
//
// Rewrite may be called from several goroutines, also for one src.
func Rewrite(src, dst string, e Edit) (Result, error) {
	if err := e.check(src); err != nil {
		return Result{}, err
	}
	in, err := openInput(src, dst)
	if err != nil {
		return Result{}, err
	}
	defer in.close()
	p, err := makePlan(in.source(), e)
	if err != nil {
		return Result{}, err
	}
	if err := p.write(in, dst); err != nil {
		return Result{}, err
	}
	return p.result, nil
}

// check judges the edit alone.
func (e *Edit) check(path string) error {
	fail := func(what, msg string) error { return &EditError{Path: path, What: what, Msg: msg} }
	nul := func(what, s string) error {
		if strings.ContainsRune(s, 0) {
			return fail(what, fmt.Sprintf("the name %q contains a NUL byte", s))
		}
		return nil
	}
	target := map[string]string{}
	for _, old := range slices.Sorted(maps.Keys(e.Rename)) {
		to := e.Rename[old]
		if old == "" || to == "" {
			return fail("rename", fmt.Sprintf("%q to %q: a symbol needs a name", old, to))
		}
		if err := nul("rename "+old, to); err != nil {
			return err
		}
		if other, ok := target[to]; ok {
			return fail("rename", fmt.Sprintf("both %s and %s become %s", other, old, to))
		}
		target[to] = old
	}
	if err := nul("SONAME", e.SONAME); err != nil {
		return err
	}
	if e.RunPath != nil {
		if err := nul("RUNPATH", *e.RunPath); err != nil {
			return err
		}
	}
	replaced := map[string]bool{}
	for _, old := range slices.Sorted(maps.Keys(e.Needed)) {
		to := e.Needed[old]
		if to == "" {
			return fail("NEEDED "+old, "cannot be replaced by an empty name")
		}
		if err := nul("NEEDED "+old, to); err != nil {
			return err
		}
		if replaced[to] {
			return fail("NEEDED", "two entries become "+to)
		}
		replaced[to] = true
	}
	for _, name := range e.AddNeeded {
		if name == "" {
			return fail("NEEDED", "an added entry needs a name")
		}
		if err := nul("NEEDED", name); err != nil {
			return err
		}
	}
	return nil
}

// strings are all strings that the edited object may need.
func (e *Edit) strings() map[string]bool {
	s := map[string]bool{}
	for _, n := range e.Rename {
		s[n] = true
	}
	for _, n := range e.Needed {
		s[n] = true
	}
	for _, n := range e.AddNeeded {
		s[n] = true
	}
	if e.SONAME != "" {
		s[e.SONAME] = true
	}
	if e.RunPath != nil && *e.RunPath != "" {
		s[*e.RunPath] = true
	}
	return s
}

// object is the input, read and checked.
type object struct {
	*image
	dyn  *dynamic
	strs *strtab
	secs *sections
	rel  *relocations
	syms *symtab
	vers *versions
}

func readObject(src *source) (*object, error) {
	if src.size > maxFileSize {
		return nil, src.unsupported("file", "%d bytes are more than the supported %d", src.size, uint64(maxFileSize))
	}
	o := &object{}
	var err error
	if o.image, err = readImage(src); err != nil {
		return nil, err
	}
	if o.dyn, err = readDynamic(o.image); err != nil {
		return nil, err
	}
	if o.strs, err = readStrtab(o.image, o.dyn); err != nil {
		return nil, err
	}
	if o.secs, err = readSections(o.image); err != nil {
		return nil, err
	}
	if o.rel, err = readRelocations(o.image, o.dyn); err != nil {
		return nil, err
	}
	if o.syms, err = readSymtab(o.image, o.dyn, o.strs, o.secs, o.rel); err != nil {
		return nil, err
	}
	if err = o.secs.checkTables(o.image, o.dyn); err != nil {
		return nil, err
	}
	if o.vers, err = readVersions(o.image, o.dyn, o.strs); err != nil {
		return nil, err
	}
	for _, e := range o.dyn.entries {
		if names[e.tag] && !o.strs.has(e.val) {
			return nil, o.errorf(o.dyn.off, ".dynamic", "%v: the name %#x is outside .dynstr", e.tag, e.val)
		}
	}
	if err := o.claims.disjoint(src); err != nil {
		return nil, err
	}
	return o, o.claims.apart(src, o.kept)
}

// names are the tags whose value is an offset into .dynstr. One outside it
// would lead into what is appended.
var names = map[stdelf.DynTag]bool{
	stdelf.DT_NEEDED: true, stdelf.DT_SONAME: true, stdelf.DT_RPATH: true, stdelf.DT_RUNPATH: true,
	stdelf.DT_AUXILIARY: true, stdelf.DT_FILTER: true,
	stdelf.DT_AUDIT: true, stdelf.DT_DEPAUDIT: true, stdelf.DT_CONFIG: true,
}

// str is the name that an entry of .dynamic holds.
func (o *object) str(e dynEntry) string { return string(o.strs.at(uint32(e.val))) }

func makePlan(src *source, e Edit) (*plan, error) {
	o, err := readObject(src)
	if err != nil {
		return nil, err
	}
	p := &plan{insert: src.size, rel: o.rel}
	p.result.Symbols = o.syms.len() - 1
	o.strs.locate(e.strings())

	r, err := o.syms.rename(o.image, e.Rename)
	if err != nil {
		return nil, err
	}
	for _, c := range r.patches {
		p.add(c.off, c.data)
	}
	p.newIndex, p.result.Renamed = r.newIndex, r.renamed

	if err := p.editNeeded(o, e); err != nil {
		return nil, err
	}
	if err := p.editSONAME(o, e.SONAME); err != nil {
		return nil, err
	}
	p.editRunPath(o, e.RunPath)
	return p, p.finish(o)
}

func (p *plan) editNeeded(o *object, e Edit) error {
	have := map[string]bool{}
	for _, d := range o.dyn.entries {
		if d.tag == stdelf.DT_NEEDED {
			have[o.str(d)] = true
		}
	}
	for _, old := range slices.Sorted(maps.Keys(e.Needed)) {
		to := e.Needed[old]
		switch {
		case !have[old]:
			return &EditError{Path: o.path, What: "NEEDED " + old, Msg: fmt.Sprintf("the object does not need it; it needs %s", list(have))}
		case to != old && have[to]:
			return &EditError{Path: o.path, What: "NEEDED " + old, Msg: fmt.Sprintf("cannot become %s, which the object needs already", to)}
		}
	}
	for i, d := range o.dyn.entries {
		if d.tag != stdelf.DT_NEEDED {
			continue
		}
		if to, ok := e.Needed[o.str(d)]; ok && to != o.str(d) {
			o.dyn.replace(i, dynEntry{d.tag, uint64(o.strs.add(to))})
			have[to] = true
		}
	}
	for _, f := range o.vers.files {
		if to, ok := e.Needed[string(o.strs.at(f.name))]; ok && to != string(o.strs.at(f.name)) {
			p.add(f.off, word(o.strs.add(to)))
		}
	}
	for _, name := range e.AddNeeded {
		if !have[name] {
			have[name] = true
			o.dyn.insertNeeded(uint64(o.strs.add(name)))
		}
	}
	return nil
}

func list(set map[string]bool) string {
	if len(set) == 0 {
		return "nothing"
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}

func (p *plan) editSONAME(o *object, soname string) error {
	if soname == "" {
		return nil
	}
	if i := o.dyn.index(stdelf.DT_SONAME); i < 0 || o.str(o.dyn.entries[i]) != soname {
		o.dyn.set(stdelf.DT_SONAME, uint64(o.strs.add(soname)))
	}
	for _, b := range o.vers.bases {
		if string(o.strs.at(b.name)) == soname {
			continue
		}
		if b.shared {
			return &EditError{Path: o.path, What: "SONAME", Msg: fmt.Sprintf("a version node has the old SONAME %s for its name, in one record with the base definition, and would change with it; link without --default-symver", o.strs.at(b.name))}
		}
		p.add(b.nameOff, word(o.strs.add(soname)))
		p.add(b.hashOff, word(sysvHash([]byte(soname))))
	}
	return nil
}

// editRunPath leaves at most one entry, of the kind DT_RUNPATH: the loader
// ignores DT_RPATH where there is a DT_RUNPATH.
func (p *plan) editRunPath(o *object, path *string) {
	if path == nil {
		return
	}
	isPath := func(e dynEntry) bool { return e.tag == stdelf.DT_RPATH || e.tag == stdelf.DT_RUNPATH }
	keep := -1
	if *path != "" {
		keep = slices.IndexFunc(o.dyn.entries, isPath)
		if keep < 0 {
			o.dyn.set(stdelf.DT_RUNPATH, uint64(o.strs.add(*path)))
			return
		}
		name := o.dyn.entries[keep].val
		if o.str(o.dyn.entries[keep]) != *path {
			name = uint64(o.strs.add(*path))
		}
		o.dyn.replace(keep, dynEntry{stdelf.DT_RUNPATH, name})
	}
	o.dyn.remove(func(i int, e dynEntry) bool { return isPath(e) && i != keep })
}

// finish plans the growth of the file, if it needs any, and the content of
// .dynamic, which everything else may have changed.
func (p *plan) finish(o *object) error {
	if o.strs.size() > math.MaxUint32 {
		return &EditError{Path: o.path, What: ".dynstr", Msg: fmt.Sprintf("would have %d bytes; st_name has 32 bits", o.strs.size())}
	}
	if len(o.strs.added) > 0 || !o.dyn.fits() {
		if err := p.grow(o.image, o.dyn, o.strs, o.secs); err != nil {
			return err
		}
	}
	if o.dyn.changed {
		p.add(o.dyn.off, o.dyn.encode())
	}
	p.result.Growth = int64(p.shift)
	return nil
}
