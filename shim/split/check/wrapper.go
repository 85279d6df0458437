package check

import (
	"bytes"
	"debug/elf"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/exports/dynobj"
	"example.com/miopen_hipdnn_shim/shim/runtime"
	"example.com/miopen_hipdnn_shim/shim/split/layout"
	"example.com/miopen_hipdnn_shim/shim/stubgen"
)

// The bars that a wrapper has to keep.
const (
	MaxWrapperSize = 200_000 // bytes
	wrapperRunPath = "$ORIGIN"
	libc           = "libc.so.6"
)

// MaxWrapperGlibc is the newest glibc that a wrapper may need: that of the oldest distribution in use (2012).
var MaxWrapperGlibc = exports.GlibcVersion{Major: 2, Minor: 17}

// Stock is what a split has to reproduce.
type Stock struct {
	API   exports.API
	Nodes []exports.Node
}

// The names of the checks of a wrapper.
const (
	WrapperEntryPoints = "wrapper: entry points" // the stock names at the stock nodes, each once
	WrapperAdditions   = "wrapper: additions"    // nothing else but its own additions
	WrapperNodes       = "wrapper: version nodes"
	WrapperBindings    = "wrapper: bindings" // each stub jumps to its own _impl in the private library, at the node
	WrapperImports     = "wrapper: imports"  // nothing else comes from outside but a few functions of libc
	WrapperPairing     = "wrapper: pairing"  // the layout that it expects is that of the private library
	WrapperIdentity    = "wrapper: identity" // SONAME, NEEDED, RUNPATH
	WrapperHardening   = "wrapper: hardening"
	WrapperStartUp     = "wrapper: start-up" // no code runs when it is loaded, and one function when the process exits
	WrapperSize        = "wrapper: size"
	WrapperGlibc       = "wrapper: glibc"
)

// Wrapper checks a wrapper against the stock library and the private library that it stands before. It reads both; the
// error says that one cannot be read.
func Wrapper(stock Stock, names layout.Layout, wrapper, private *dynobj.Object) (Report, error) {
	lib, err := exports.FromObject(wrapper)
	if err != nil {
		return nil, err
	}
	relocs, err := wrapper.Relocs()
	if err != nil {
		return nil, err
	}
	stubs := findStubs(stock, wrapper)
	return Report{
		entryPoints(stock, lib),
		additions(lib),
		nodes(stock, lib),
		bindings(stock, names, wrapper, stubs, relocs, private),
		imports(wrapper, relocs),
		pairing(wrapper, private),
		identity(names, lib),
		hardening(wrapper, relocs),
		startUp(wrapper),
		size(lib),
		glibc(lib),
	}, nil
}

func entryPoints(stock Stock, lib *exports.Library) Result {
	r := Result{Name: WrapperEntryPoints, Compared: len(stock.API.Entries)}
	api, err := lib.API()
	if err != nil {
		r.finding("%v", err)
		return r.finish()
	}
	if api.Form != exports.FormWrapper {
		r.finding("the library is of form %v", api.Form)
	}
	r.reportDifference(exports.Compare(stock.API, api))
	return r.finish()
}

func additions(lib *exports.Library) Result {
	r := Result{Name: WrapperAdditions, Compared: len(lib.Exports)}
	want := map[string]bool{}
	for _, name := range stubgen.Additions {
		want[name] = true
	}
	for _, e := range lib.Exports {
		switch {
		case e.Kind == exports.KindShim && want[e.Name]:
			delete(want, e.Name)
		case e.Kind != exports.KindAPI:
			r.finding("exports %s (%v)", e.Name, e.Kind)
		}
	}
	for name := range want {
		r.finding("%s@%s is missing", name, exports.ShimNode)
	}
	return r.finish()
}

func nodes(stock Stock, lib *exports.Library) Result {
	want := append(slices.Clone(stock.Nodes), exports.Node{Name: exports.ShimNode})
	r := Result{Name: WrapperNodes, Compared: len(want)}
	for _, w := range want {
		i := slices.IndexFunc(lib.Nodes, func(n exports.Node) bool { return n.Name == w.Name })
		switch {
		case i < 0:
			r.finding("%s is not defined: programs that need it do not start", w.Name)
		case !slices.Equal(lib.Nodes[i].Parents, w.Parents):
			r.finding("%s inherits from %q, in the stock library from %q", w.Name, lib.Nodes[i].Parents, w.Parents)
		}
	}
	for _, n := range lib.Nodes {
		if !slices.ContainsFunc(want, func(w exports.Node) bool { return w.Name == n.Name }) {
			r.finding("%s is not a node of the stock library", n.Name)
		}
	}
	return r.finish()
}

// versioned is a name at a node.
type versioned struct{ name, node string }

// stub is the code of one entry point, or why it is none.
type stub struct {
	stubgen.Stub
	err error
}

// findStubs decodes the stubs of those entry points that the wrapper has.
func findStubs(stock Stock, w *dynobj.Object) map[versioned]stub {
	found := map[versioned]stub{}
	for _, s := range w.Symbols {
		if s.Exported() {
			found[versioned{s.Name, s.Node}] = decodeStub(w, s.Value)
		}
	}
	stubs := map[versioned]stub{}
	for _, e := range stock.API.Entries {
		key := versioned{e.Name, e.Node}
		if s, ok := found[key]; ok { // the check of the entry points reports the others
			stubs[key] = s
		}
	}
	return stubs
}

func decodeStub(w *dynobj.Object, address uint64) stub {
	code, err := w.Contents("stub", address, stubgen.StubSize)
	if err != nil {
		return stub{err: err}
	}
	s, err := stubgen.DecodeStub(address, code)
	return stub{s, err}
}

// bindings follows every stub: from its code to the slot, from the slot to its relocation, from there to the symbol, and
// from the symbol's name and node to the function in the private library. All stubs have to look at one state word, to
// have one slow path, and to tell it their own index; those with a hook look at another byte of the word than the others.
func bindings(
	stock Stock, names layout.Layout, w *dynobj.Object, stubs map[versioned]stub, relocs []dynobj.Reloc, private *dynobj.Object,
) Result {
	r := Result{Name: WrapperBindings}
	slots := map[uint64]dynobj.Reloc{}
	for _, rel := range relocs {
		slots[rel.Offset] = rel
	}
	implementations := map[versioned]dynobj.Symbol{}
	for _, s := range private.Symbols {
		if s.Exported() {
			implementations[versioned{s.Name, s.Node}] = s
		}
	}
	var first *stubgen.Stub
	var word uint64 // address of the state word
	for i, e := range stock.API.Entries {
		s, ok := stubs[versioned{e.Name, e.Node}]
		if !ok {
			continue
		}
		r.Compared++
		if s.err != nil {
			r.finding("%s: %v", e.Name, s.err)
			continue
		}
		gate := s.State - stubgen.Gate(e.Name)
		if first == nil {
			first, word = &s.Stub, gate
			r.state(w, word)
			r.slowPath(w, s.Slow)
		}
		if gate != word || s.Slow != first.Slow {
			r.finding("%s: looks at the state word at %#x and has its slow path at %#x, others have %#x and %#x",
				e.Name, gate, s.Slow, word, first.Slow)
		}
		if int(s.Index) != i {
			r.finding("%s: is number %d, its stub says %d", e.Name, i, s.Index)
		}
		rel, ok := slots[s.Slot]
		if !ok {
			r.finding("%s: jumps through %#x, which no relocation fills", e.Name, s.Slot)
			continue
		}
		delete(slots, s.Slot)
		target := w.Symbols[rel.Symbol]
		want := e.Name + exports.ImplSuffix
		switch {
		case rel.Type != elf.R_X86_64_64 || rel.Addend != 0:
			r.finding("%s: its slot has relocation %v with addend %d", e.Name, rel.Type, rel.Addend)
		case target.Name != want:
			r.finding("%s: jumps to %s", e.Name, target.Name)
		case target.Defined():
			r.finding("%s: the wrapper defines %s itself", e.Name, want)
		case target.Bind != elf.STB_WEAK:
			r.finding("%s: %s is not a weak reference: with a private library that lacks it nothing starts", e.Name, want)
		case target.Node != e.Node:
			r.finding("%s: wants %s at node %q, the stub is at %q", e.Name, want, target.Node, e.Node)
		case e.Node != "" && target.From != names.Private():
			r.finding("%s: wants %s from %s", e.Name, want, target.From)
		case s.Slot != first.Slot+8*uint64(i) && i > 0:
			r.finding("%s: its slot at %#x is not number %d of the table", e.Name, s.Slot, i)
		}
		if impl, ok := implementations[versioned{want, e.Node}]; !ok || impl.Type != elf.STT_FUNC {
			r.finding("%s: %s does not export a function %s at node %q", e.Name, names.Private(), want, e.Node)
		}
	}
	for _, rel := range slots {
		if name := w.Symbols[rel.Symbol].Name; strings.HasPrefix(name, exports.Prefix) {
			r.finding("a relocation at %#x refers to %s and belongs to no stub", rel.Offset, name)
		}
	}
	slices.Sort(r.Findings) // slots is a map
	return r.finish()
}

// state checks that the state word is data that says in the file that nothing has been read.
func (r *Result) state(w *dynobj.Object, at uint64) {
	switch value, err := w.Contents("state word", at, 4); {
	case err != nil:
		r.finding("%v", err)
	case !bytes.Equal(value, make([]byte, 4)):
		r.finding("the state word at %#x starts as % x, not as 0", at, value)
	case segmentFlags(w, at) != elf.PF_R|elf.PF_W:
		r.finding("the state word at %#x is not in writable data", at)
	}
}

// slowPath checks that the slow path is code of the wrapper.
func (r *Result) slowPath(w *dynobj.Object, at uint64) {
	if segmentFlags(w, at)&elf.PF_X == 0 {
		r.finding("the slow path at %#x is not code", at)
	}
}

// segmentFlags returns the flags of the segment that an address is in, 0 for none.
func segmentFlags(w *dynobj.Object, at uint64) elf.ProgFlag {
	for _, p := range w.Segments {
		if p.Type == elf.PT_LOAD && at >= p.Vaddr && at-p.Vaddr < p.Memsz {
			return p.Flags
		}
	}
	return 0
}

// imports checks what the wrapper wants from other files than the private library.
func imports(w *dynobj.Object, relocs []dynobj.Reloc) Result {
	r := Result{Name: WrapperImports}
	for _, s := range w.Symbols {
		if s.Defined() || s.Name == "" {
			continue
		}
		r.Compared++
		switch {
		case strings.HasPrefix(s.Name, exports.Prefix) && strings.HasSuffix(s.Name, exports.ImplSuffix):
		case !slices.Contains(runtime.Imports, runtime.Import{Name: s.Name, Node: s.Node}):
			r.finding("wants %s at node %q", s.Name, s.Node)
		case s.From != libc:
			r.finding("wants %s from %q, not from %s", s.Name, s.From, libc)
		}
	}
	for _, rel := range relocs {
		s := w.Symbols[rel.Symbol]
		if r.Compared++; s.Defined() {
			r.finding("the relocation at %#x lets other files replace %s", rel.Offset, s.Name)
		}
	}
	return r.finish()
}

// pairing looks for the table of the private library's layout in the wrapper's constants.
func pairing(w, private *dynobj.Object) Result {
	r := Result{Name: WrapperPairing}
	lib, err := exports.FromObject(private)
	if err != nil {
		r.finding("%v", err)
		return r.finish()
	}
	api, err := lib.API()
	if err != nil {
		r.finding("%v", err)
		return r.finish()
	}
	r.Compared = len(api.Entries)
	table := stubgen.LayoutTable(api)
	for _, p := range w.Segments {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_W != 0 {
			continue
		}
		content, err := w.Contents("constants", p.Vaddr, p.Filesz)
		if err != nil {
			r.finding("%v", err)
		}
		if bytes.Contains(content, table) {
			return r.finish()
		}
	}
	r.finding("the layout of %s is not among the constants: the wrapper would refuse it", private.Path)
	return r.finish()
}

func identity(names layout.Layout, lib *exports.Library) Result {
	r := Result{Name: WrapperIdentity, Compared: 3}
	if lib.SONAME != names.Wrapper() {
		r.finding("SONAME is %q, not %q", lib.SONAME, names.Wrapper())
	}
	if want := []string{names.Private(), libc}; !slices.Equal(lib.Needed, want) {
		r.finding("NEEDED is %q, not %q", lib.Needed, want)
	}
	switch {
	case lib.RPath != nil:
		r.finding("DT_RPATH %q stands before LD_LIBRARY_PATH; only DT_RUNPATH is allowed", *lib.RPath)
	case lib.RunPath == nil || *lib.RunPath != wrapperRunPath:
		r.finding("RUNPATH is not %q, so the private library beside it is not found", wrapperRunPath)
	}
	return r.finish()
}

const (
	addressSize = 8    // bytes of an address in a table
	pageSize    = 4096 // the unit in which the loader protects memory on x86-64
)

func hardening(w *dynobj.Object, relocs []dynobj.Reloc) Result {
	r := Result{Name: WrapperHardening}
	expect := func(ok bool, format string, args ...any) {
		r.Compared++
		if !ok {
			r.finding(format, args...)
		}
	}
	expect(w.Flags&elf.DF_BIND_NOW != 0 || w.Flags1&elf.DF_1_NOW != 0, "not bound at load time: BIND_NOW is missing")
	expect(w.Flags1&elf.DF_1_NODELETE != 0, "may be unloaded: NODELETE is missing")
	_, textrel := w.Tag(elf.DT_TEXTREL)
	expect(!textrel && w.Flags&elf.DF_TEXTREL == 0, "relocates its code: DT_TEXTREL")
	var relroStart, relroEnd uint64
	stack := false
	for _, p := range w.Segments {
		switch p.Type {
		case elf.PT_GNU_RELRO:
			relroStart, relroEnd = p.Vaddr&^(pageSize-1), (p.Vaddr+p.Memsz)&^(pageSize-1)
		case elf.PT_LOAD:
			expect(p.Flags&(elf.PF_W|elf.PF_X) != elf.PF_W|elf.PF_X, "the segment at %#x is writable and executable", p.Vaddr)
		case elf.PT_GNU_STACK:
			stack = p.Flags&elf.PF_X == 0
		}
	}
	expect(stack, "asks for an executable stack, or does not say that it needs none")
	expect(relroEnd > relroStart, "PT_GNU_RELRO is missing or empty")
	if at, ok := w.Tag(elf.DT_FINI_ARRAY); ok {
		expect(at >= relroStart && at+addressSize <= relroEnd, "DT_FINI_ARRAY at %#x stays writable: it is outside PT_GNU_RELRO", at)
	}
	for _, rel := range relocs {
		expect(rel.Offset >= relroStart && rel.Offset+8 <= relroEnd,
			"the slot at %#x, for %s, stays writable: it is outside PT_GNU_RELRO", rel.Offset, w.Symbols[rel.Symbol].Name)
	}
	return r.finish()
}

func startUp(w *dynobj.Object) Result {
	r := Result{Name: WrapperStartUp}
	for _, tag := range []elf.DynTag{elf.DT_INIT, elf.DT_INIT_ARRAY, elf.DT_PREINIT_ARRAY, elf.DT_FINI} {
		r.Compared++
		if _, ok := w.Tag(tag); ok {
			r.finding("has %v", tag)
		}
	}
	// The run time's finaliser, which ends the traces.
	r.Compared++
	if bytes, _ := w.Tag(elf.DT_FINI_ARRAYSZ); bytes != addressSize {
		r.finding("DT_FINI_ARRAY has %d functions, not the one that ends the traces", bytes/addressSize)
	}
	return r.finish()
}

func size(lib *exports.Library) Result {
	r := Result{Name: WrapperSize, Compared: 1}
	if lib.Size > MaxWrapperSize {
		r.finding("%d bytes, more than %d", lib.Size, MaxWrapperSize)
	}
	return r.finish()
}

func glibc(lib *exports.Library) Result {
	r := Result{Name: WrapperGlibc, Compared: 1}
	if lib.Glibc.Compare(MaxWrapperGlibc) > 0 {
		r.finding("needs glibc %v, newer than %v", lib.Glibc, MaxWrapperGlibc)
	}
	return r.finish()
}
