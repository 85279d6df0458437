package kernelstest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Code objects as the tests need them: an ELF file with one segment, a note with the metadata.

const architecture = "gfx942:sramecc+:xnack-"

// argument is one entry of .args. Compilers leave the names out.
type argument struct {
	name, kind   string
	offset, size int
}

type kernel struct {
	name, symbol                       string
	argumentBytes, lds, scratch, lanes int
	arguments                          []argument
}

type metadata struct {
	target  string // amdhsa.target, not written when empty
	kernels []kernel
}

// field is an entry of a map; maps are slices of them, to have an order.
type field struct {
	key   string
	value any
}

// encode writes MessagePack in the shortest form, as LLVM does.
func encode(b *bytes.Buffer, value any) {
	put := func(tag byte, n any) {
		b.WriteByte(tag)
		if n != nil {
			_ = binary.Write(b, binary.BigEndian, n)
		}
	}
	counted := func(n, fixed int, fixedTag, tag16, tag32 byte) {
		switch {
		case n < fixed:
			put(fixedTag|byte(n), nil)
		case n < 1<<16:
			put(tag16, uint16(n))
		default:
			put(tag32, uint32(n))
		}
	}
	switch v := value.(type) {
	case nil:
		put(0xc0, nil)
	case bool:
		if v {
			put(0xc3, nil)
		} else {
			put(0xc2, nil)
		}
	case int:
		switch {
		case v < 0 && v >= -32:
			put(byte(v), nil)
		case v < 0 && v >= math.MinInt8:
			put(0xd0, int8(v))
		case v < 0:
			put(0xd3, int64(v))
		case v < 1<<7:
			put(byte(v), nil)
		case v < 1<<8:
			put(0xcc, uint8(v))
		case v < 1<<16:
			put(0xcd, uint16(v))
		case v < 1<<32:
			put(0xce, uint32(v))
		default:
			put(0xcf, uint64(v))
		}
	case float64:
		put(0xcb, math.Float64bits(v))
	case string:
		if len(v) >= 32 && len(v) < 256 {
			put(0xd9, uint8(len(v)))
		} else {
			counted(len(v), 32, 0xa0, 0xda, 0xdb)
		}
		b.WriteString(v)
	case []any:
		counted(len(v), 16, 0x90, 0xdc, 0xdd)
		for _, element := range v {
			encode(b, element)
		}
	case []field:
		counted(len(v), 16, 0x80, 0xde, 0xdf)
		for _, f := range v {
			encode(b, f.key)
			encode(b, f.value)
		}
	default:
		panic(fmt.Sprintf("no encoding for %T", value))
	}
}

func (k kernel) fields() []field {
	arguments := []any{}
	for _, a := range k.arguments {
		f := []field{{".offset", a.offset}, {".size", a.size}, {".value_kind", a.kind}}
		if a.name != "" {
			f = append(f, field{".name", a.name})
		}
		if a.kind == "global_buffer" {
			f = append([]field{{".address_space", "global"}}, f...)
		}
		arguments = append(arguments, f)
	}
	return []field{
		{".agpr_count", 0},
		{".args", arguments},
		{".group_segment_fixed_size", k.lds},
		{".kernarg_segment_align", 8},
		{".kernarg_segment_size", k.argumentBytes},
		{".language", "OpenCL C"},
		{".language_version", []any{2, 0}},
		{".max_flat_workgroup_size", 1024},
		{".name", k.name},
		{".private_segment_fixed_size", k.scratch},
		{".sgpr_count", 66},
		{".symbol", k.symbol},
		{".uses_dynamic_stack", false},
		{".wavefront_size", k.lanes},
	}
}

// note is the metadata note's content.
func (m metadata) note() []byte {
	kernels := []any{}
	for _, k := range m.kernels {
		kernels = append(kernels, k.fields())
	}
	root := []field{{"amdhsa.kernels", kernels}}
	if m.target != "" {
		root = append(root, field{"amdhsa.target", m.target})
	}
	root = append(root, field{"amdhsa.version", []any{1, 2}})
	var b bytes.Buffer
	encode(&b, root)
	return b.Bytes()
}

// How an ELF file leads to its notes.
type layout struct {
	segment, section bool
	machine          uint16
}

var usual = layout{segment: true, section: true, machine: 224}

// elf wraps a metadata note.
func elf(note []byte, l layout) []byte {
	const headerBytes, segmentBytes, sectionBytes = 64, 56, 64
	align := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	other := []byte("another note's content") // a note that is not the one, first
	var notes []byte
	for _, n := range []struct {
		name    string
		kind    uint32
		content []byte
	}{{"Other\x00", 32, other}, {"AMDGPU\x00", 12, other}, {"AMDGPU\x00", 32, note}} {
		notes = binary.LittleEndian.AppendUint32(notes, uint32(len(n.name)))
		notes = binary.LittleEndian.AppendUint32(notes, uint32(len(n.content)))
		notes = binary.LittleEndian.AppendUint32(notes, n.kind)
		notes = align(append(notes, n.name...))
		notes = align(append(notes, n.content...))
	}

	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
	}
	segments, sections := uint16(0), uint16(0)
	if l.segment {
		segments = 1
	}
	if l.section {
		sections = 2
	}
	notesAt := uint64(headerBytes + int(segments)*segmentBytes)
	sectionsAt := notesAt + uint64(len(notes))
	b.WriteString("\x7fELF\x02\x01\x01\x40\x04\x00\x00\x00\x00\x00\x00\x00")
	put(uint16(3), l.machine, uint32(1), uint64(0), uint64(headerBytes), sectionsAt, uint32(0xe4c), uint16(headerBytes),
		uint16(segmentBytes), segments, uint16(sectionBytes), sections, uint16(0))
	if l.segment {
		put(uint32(4), uint32(4), notesAt, notesAt, notesAt, uint64(len(notes)), uint64(len(notes)), uint64(4))
	}
	b.Write(notes)
	if l.section {
		b.Write(make([]byte, sectionBytes))
		put(uint32(0), uint32(7), uint64(2), notesAt, notesAt, uint64(len(notes)), uint32(0), uint32(0), uint64(4), uint64(0))
	}
	return b.Bytes()
}

type bundled struct {
	id   string
	code []byte
}

// bundle is an uncompressed offload bundle.
func bundle(entries ...bundled) []byte {
	header := 24 + 8
	for _, e := range entries {
		header += 24 + len(e.id)
	}
	b := []byte("__CLANG_OFFLOAD_BUNDLE__")
	b = binary.LittleEndian.AppendUint64(b, uint64(len(entries)))
	var content []byte
	at := (header + 4095) &^ 4095
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint64(b, uint64(at+len(content)))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(e.code)))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(e.id)))
		b = append(b, e.id...)
		content = append(content, e.code...)
	}
	return append(slices.Grow(b, at), append(make([]byte, at-len(b)), content...)...)
}
