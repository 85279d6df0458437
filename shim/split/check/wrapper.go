package check

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/exports/dynobj"
	"example.com/miopen_hipdnn_shim/shim/split/layout"
	"example.com/miopen_hipdnn_shim/shim/stubgen"
)

// The bars that a wrapper has to keep.
const (
	MaxWrapperSize = 200_000 // bytes
	wrapperRunPath = "$ORIGIN"
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
	WrapperIdentity    = "wrapper: identity" // SONAME, NEEDED, RUNPATH
	WrapperHardening   = "wrapper: hardening"
	WrapperStartUp     = "wrapper: start-up" // no code runs when it is loaded
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
	return Report{
		entryPoints(stock, lib),
		additions(lib),
		nodes(stock, lib),
		bindings(stock, names, wrapper, relocs, private),
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
	want := map[string]bool{stubgen.VersionFunction: true}
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

// bindings follows every stub: from its code to the slot, from the slot to its relocation, from there to the symbol, and
// from the symbol's name and node to the function in the private library.
func bindings(stock Stock, names layout.Layout, w *dynobj.Object, relocs []dynobj.Reloc, private *dynobj.Object) Result {
	r := Result{Name: WrapperBindings}
	slots := map[uint64]dynobj.Reloc{}
	for _, rel := range relocs {
		slots[rel.Offset] = rel
	}
	stubs := map[versioned]dynobj.Symbol{}
	for _, s := range w.Symbols {
		if s.Exported() {
			stubs[versioned{s.Name, s.Node}] = s
		}
	}
	implementations := map[versioned]dynobj.Symbol{}
	for _, s := range private.Symbols {
		if s.Exported() {
			implementations[versioned{s.Name, s.Node}] = s
		}
	}
	for _, e := range stock.API.Entries {
		stub, ok := stubs[versioned{e.Name, e.Node}]
		if !ok {
			continue // the check of the entry points reports it
		}
		r.Compared++
		slot, err := stubSlot(w, stub)
		if err != nil {
			r.finding("%s: %v", e.Name, err)
			continue
		}
		rel, ok := slots[slot]
		if !ok {
			r.finding("%s: jumps through %#x, which no relocation fills", e.Name, slot)
			continue
		}
		delete(slots, slot)
		target := w.Symbols[rel.Symbol]
		want := e.Name + exports.ImplSuffix
		switch {
		case rel.Type != elf.R_X86_64_GLOB_DAT && rel.Type != elf.R_X86_64_JMP_SLOT || rel.Addend != 0:
			r.finding("%s: its slot has relocation %v with addend %d", e.Name, rel.Type, rel.Addend)
		case target.Name != want:
			r.finding("%s: jumps to %s", e.Name, target.Name)
		case target.Defined():
			r.finding("%s: the wrapper defines %s itself", e.Name, want)
		case target.Node != e.Node:
			r.finding("%s: wants %s at node %q, the stub is at %q", e.Name, want, target.Node, e.Node)
		case e.Node != "" && target.From != names.Private():
			r.finding("%s: wants %s from %s", e.Name, want, target.From)
		}
		if impl, ok := implementations[versioned{want, e.Node}]; !ok || impl.Type != elf.STT_FUNC {
			r.finding("%s: %s does not export a function %s at node %q", e.Name, names.Private(), want, e.Node)
		}
	}
	for _, rel := range slots {
		r.finding("a relocation at %#x refers to %s and belongs to no stub", rel.Offset, w.Symbols[rel.Symbol].Name)
	}
	slices.Sort(r.Findings) // slots is a map
	return r.finish()
}

// stubSlot decodes a stub and returns the address of the slot that it jumps through.
func stubSlot(w *dynobj.Object, stub dynobj.Symbol) (uint64, error) {
	n := uint64(len(stubgen.StubCode))
	code, err := w.Contents("stub", stub.Value, n+4)
	if err != nil {
		return 0, err
	}
	if !bytes.Equal(code[:n], stubgen.StubCode) {
		return 0, fmt.Errorf("the code at %#x is % x, not a stub", stub.Value, code)
	}
	displacement := int64(int32(binary.LittleEndian.Uint32(code[n:])))
	return stub.Value + n + 4 + uint64(displacement), nil
}

func identity(names layout.Layout, lib *exports.Library) Result {
	r := Result{Name: WrapperIdentity, Compared: 3}
	if lib.SONAME != names.Wrapper() {
		r.finding("SONAME is %q, not %q", lib.SONAME, names.Wrapper())
	}
	if !slices.Equal(lib.Needed, []string{names.Private()}) {
		r.finding("NEEDED is %q, not only %q", lib.Needed, names.Private())
	}
	switch {
	case lib.RPath != nil:
		r.finding("DT_RPATH %q stands before LD_LIBRARY_PATH; only DT_RUNPATH is allowed", *lib.RPath)
	case lib.RunPath == nil || *lib.RunPath != wrapperRunPath:
		r.finding("RUNPATH is not %q, so the private library beside it is not found", wrapperRunPath)
	}
	return r.finish()
}

// pageSize is the unit in which the loader protects memory on x86-64.
const pageSize = 4096

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
	for _, rel := range relocs {
		expect(rel.Offset >= relroStart && rel.Offset+8 <= relroEnd,
			"the slot at %#x, for %s, stays writable: it is outside PT_GNU_RELRO", rel.Offset, w.Symbols[rel.Symbol].Name)
	}
	return r.finish()
}

func startUp(w *dynobj.Object) Result {
	r := Result{Name: WrapperStartUp}
	for _, tag := range []elf.DynTag{
		elf.DT_INIT, elf.DT_INIT_ARRAY, elf.DT_PREINIT_ARRAY, elf.DT_FINI, elf.DT_FINI_ARRAY,
	} {
		r.Compared++
		if _, ok := w.Tag(tag); ok {
			r.finding("has %v", tag)
		}
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
