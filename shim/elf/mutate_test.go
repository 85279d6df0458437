package elf_test

import (
	stdelf "debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var le = binary.LittleEndian

// dropSections makes what sstrip makes: no section headers, and nothing behind
// the last PT_LOAD.
func dropSections(t testing.TB, b []byte) []byte {
	t.Helper()
	end := uint64(0)
	for _, p := range loads(b) {
		end = max(end, le.Uint64(p[8:])+le.Uint64(p[32:]))
	}
	b = slices.Clone(b[:end])
	le.PutUint64(b[40:], 0)
	le.PutUint16(b[58:], 0)
	le.PutUint16(b[60:], 0)
	le.PutUint16(b[62:], 0)
	return b
}

func programs(b []byte) int { return int(le.Uint16(b[56:])) }

// program is the i-th program header in b.
func program(b []byte, i int) []byte { return b[le.Uint64(b[32:])+uint64(i)*56:][:56] }

// programOf is the first program header of a type.
func programOf(t testing.TB, b []byte, typ stdelf.ProgType) []byte {
	t.Helper()
	for i := range programs(b) {
		if p := program(b, i); stdelf.ProgType(le.Uint32(p)) == typ {
			return p
		}
	}
	require.Fail(t, "no such program header", "%v", typ)
	return nil
}

// loads are the PT_LOADs' program headers.
func loads(b []byte) [][]byte {
	var l [][]byte
	for i := range programs(b) {
		if p := program(b, i); stdelf.ProgType(le.Uint32(p)) == stdelf.PT_LOAD {
			l = append(l, p)
		}
	}
	return l
}

func lastLoad(t testing.TB, b []byte) []byte {
	t.Helper()
	l := loads(b)
	require.NotEmpty(t, l)
	return l[len(l)-1]
}

// dynEntry is the entry of .dynamic with this tag.
func dynEntry(t testing.TB, b []byte, tag stdelf.DynTag) []byte {
	t.Helper()
	p := programOf(t, b, stdelf.PT_DYNAMIC)
	off, size := le.Uint64(p[8:]), le.Uint64(p[32:])
	for o := off; o < off+size; o += 16 {
		if stdelf.DynTag(le.Uint64(b[o:])) == tag {
			return b[o:][:16]
		}
	}
	require.Fail(t, "no such dynamic entry", "%v", tag)
	return nil
}

// at is what b has at the address that a dynamic entry holds.
func at(t testing.TB, b []byte, tag stdelf.DynTag) []byte {
	t.Helper()
	addr := le.Uint64(dynEntry(t, b, tag)[8:])
	for _, p := range loads(b) {
		if v := le.Uint64(p[16:]); addr >= v && addr < v+le.Uint64(p[32:]) {
			return b[addr-v+le.Uint64(p[8:]):]
		}
	}
	require.Fail(t, "address is in no PT_LOAD", "%v", tag)
	return nil
}

// section is the first section header of a type.
func section(t testing.TB, b []byte, typ stdelf.SectionType) []byte {
	t.Helper()
	for i := range int(le.Uint16(b[60:])) {
		s := b[le.Uint64(b[40:])+uint64(i)*64:][:64]
		if stdelf.SectionType(le.Uint32(s[4:])) == typ {
			return s
		}
	}
	require.Fail(t, "no such section", "%v", typ)
	return nil
}
