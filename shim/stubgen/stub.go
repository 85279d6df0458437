package stubgen

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/runtime"
)

// Stub is what the machine code of a stub says. The addresses are virtual addresses in the file.
//
//	endbr64
//	cmpb  $1, State(%rip)
//	jne   1f
//	jmp   *Slot(%rip)
//	1: movl $Index, %r11d
//	jmp   Slow
type Stub struct {
	State uint64 // the byte of the state word that has to be 1 for the call to pass
	Slot  uint64 // where the address of the implementation is
	Index uint32 // of the function, for the slow path
	Slow  uint64 // the slow path
}

// StubSize is the size of a stub in bytes. Stubs are aligned so that none straddles a cache line.
const (
	StubSize      = 30
	stubAlignment = 32
)

// The parts of a stub's code that are the same in all stubs, by their offset.
var stubCode = []struct {
	at   int
	code []byte
}{
	{0, []byte{0xf3, 0x0f, 0x1e, 0xfa}}, // endbr64
	{4, []byte{0x80, 0x3d}},             // cmpb, displacement
	{10, []byte{1}},                     // the pass value
	{11, []byte{0x75, 6}},               // jne over the next instruction
	{13, []byte{0xff, 0x25}},            // jmp, displacement of the slot
	{19, []byte{0x41, 0xbb}},            // movl, index
	{25, []byte{0xe9}},                  // jmp, displacement
}

// Gate is the byte of the state word that the stub of a function looks at: functions with a hook have another one, so that
// the others pay nothing for forwarding.
func Gate(function string) uint64 {
	hooked, _ := runtime.Hooked()
	if slices.Contains(hooked, function) {
		return 1
	}
	return 0
}

// DecodeStub reads the StubSize bytes of a stub at an address. The error says that they are none.
func DecodeStub(address uint64, code []byte) (Stub, error) {
	if len(code) != StubSize {
		return Stub{}, fmt.Errorf("a stub has %d bytes, not %d", StubSize, len(code))
	}
	for _, part := range stubCode {
		if !bytes.Equal(code[part.at:part.at+len(part.code)], part.code) {
			return Stub{}, fmt.Errorf("the code at %#x is % x, not a stub", address, code)
		}
	}
	relative := func(at, end int) uint64 {
		return address + uint64(end) + uint64(int64(int32(binary.LittleEndian.Uint32(code[at:]))))
	}
	return Stub{
		State: relative(6, 11), Slot: relative(15, 19), Index: binary.LittleEndian.Uint32(code[21:]), Slow: relative(26, 30),
	}, nil
}

// LayoutTable is the table of the entry points' offsets as it is in a wrapper's memory: with it the wrapper recognises the
// private library that it was made for.
func LayoutTable(api exports.API) []byte {
	var out []byte
	for _, offset := range api.Offsets() {
		out = binary.LittleEndian.AppendUint64(out, uint64(offset))
	}
	return out
}

// Assembly returns the generated part of the wrapper for the GNU assembler, x86-64: a stub for each entry point, and the
// tables that the slow path uses. version is what VersionFunction returns.
//
// A stub compares one byte and jumps through a slot that the loader fills and then write-protects; there is no procedure
// linkage table and no code pointer that stays writable. The references are weak, so that a private library that lacks a
// function is loaded and refused by the wrapper with a message, instead of by the loader.
//
// Everything but the signatures is here; see Signatures and UnknownSignatures.
func Assembly(api exports.API, version string) []byte {
	var code, slots, offsets, names, starts strings.Builder
	start := 0
	table := api.Offsets()
	for i, e := range api.Entries {
		def, impl := e.Name, e.Name+exports.ImplSuffix
		if e.Hidden {
			// Not the default version of its name: another definition may have the name, so both the stub and its target
			// get an assembler name of their own, which .symver binds to the version.
			def, impl = fmt.Sprintf("%sdef_%d", internalPrefix, i), fmt.Sprintf("%sref_%d", internalPrefix, i)
			fmt.Fprintf(&code, "\n\t.symver\t%s, %s@%s\n", def, e.Name, e.Node)
			fmt.Fprintf(&code, "\t.symver\t%s, %s%s@%s", impl, e.Name, exports.ImplSuffix, e.Node)
		}
		binding := "globl"
		if e.Weak {
			binding = "weak"
		}
		writeFunction(&code, binding, def,
			fmt.Sprintf("cmpb\t$1, miopen_shim_state+%d(%%rip)", Gate(e.Name)),
			"jne\t1f",
			fmt.Sprintf("jmp\t*miopen_shim_slots+%d(%%rip)", 8*i),
			fmt.Sprintf("1:\tmovl\t$%d, %%r11d", i),
			"jmp\tmiopen_shim_slow",
		)
		fmt.Fprintf(&slots, "\t.weak\t%[1]s\n\t.quad\t%[1]s\n", impl)
		fmt.Fprintf(&offsets, "\t.quad\t%d\n", table[i])
		fmt.Fprintf(&names, "\t.asciz\t%q\n", e.Name)
		fmt.Fprintf(&starts, "\t.long\t%d\n", start)
		start += len(e.Name) + 1
	}
	fmt.Fprintf(&starts, "\t.long\t%d\n", start)
	writeFunction(&code, "globl", VersionFunction, "leaq\t.Lversion(%rip), %rax", "ret")

	var b strings.Builder
	b.WriteString("\t.hidden\tmiopen_shim_state\n\t.hidden\tmiopen_shim_slow\n\t.text\n")
	b.WriteString(code.String())
	// Relocated when the library is loaded and read-only from then on.
	b.WriteString("\n\t.section\t.data.rel.ro, \"aw\", @progbits\n")
	writeTable(&b, 8, "slots", slots.String())
	b.WriteString("\n\t.section\t.rodata\n")
	writeTable(&b, 4, "count", fmt.Sprintf("\t.long\t%d\n", len(api.Entries)))
	writeTable(&b, 8, "offsets", offsets.String())
	writeTable(&b, 4, "name_offsets", starts.String())
	writeTable(&b, 1, "names", names.String())
	fmt.Fprintf(&b, ".Lversion:\n\t.asciz\t%q\n", version)
	b.WriteString(`
	# The code is marked for indirect branch tracking and shadow stacks: entries start with ENDBR64 and nothing returns
	# to a changed address. NT_GNU_PROPERTY_TYPE_0 with GNU_PROPERTY_X86_FEATURE_1_AND = IBT | SHSTK.
	.section	.note.gnu.property, "a", @note
	.p2align	3
	.long	4
	.long	16
	.long	5
	.asciz	"GNU"
	.long	0xc0000002
	.long	4
	.long	3
	.long	0

	.section	.note.GNU-stack, "", @progbits
`)
	return []byte(b.String())
}

// writeTable writes one of the tables that state.h declares.
func writeTable(b *strings.Builder, alignment int, name, content string) {
	fmt.Fprintf(b, "\t.balign\t%[1]d\n\t.globl\tmiopen_shim_%[2]s\n\t.hidden\tmiopen_shim_%[2]s\n\t.type\tmiopen_shim_%[2]s, @object\n"+
		"miopen_shim_%[2]s:\n%[3]s\t.size\tmiopen_shim_%[2]s, .-miopen_shim_%[2]s\n", alignment, name, content)
}

// writeFunction writes one function.
func writeFunction(b *strings.Builder, binding, name string, body ...string) {
	fmt.Fprintf(b, "\n\t.balign\t%d\n\t.%s\t%s\n\t.type\t%s, @function\n%s:\n\t.cfi_startproc\n\tendbr64\n",
		stubAlignment, binding, name, name, name)
	for _, line := range body {
		fmt.Fprintf(b, "\t%s\n", line)
	}
	fmt.Fprintf(b, "\t.cfi_endproc\n\t.size\t%s, .-%s\n", name, name)
}
