package elf

import (
	stdelf "debug/elf"
	"encoding/binary"
)

// Sizes of the ELF64 structures: gABI, chapters "ELF Header", "Section
// Header", "Symbol Table", "Relocation", "Program Header", "Dynamic Section";
// versions: Linux Standard Base, "Symbol Versioning".
const (
	headerSize  = 64
	progSize    = 56
	sectionSize = 64
	dynSize     = 16
	symSize     = 24
	relaSize    = 24
	relrSize    = 8
	versymSize  = 2
	verdefSize  = 20
	verdauxSize = 8
	verneedSize = 16
	vernauxSize = 16
)

// Offsets of the fields that are patched one by one.
const (
	headerShoff   = 40 // Elf64_Ehdr.e_shoff
	progOff       = 8  // Elf64_Phdr.p_offset; p_vaddr, p_paddr, p_filesz, p_memsz follow
	progFilesz    = 32 // Elf64_Phdr.p_filesz; p_memsz follows
	verdefHash    = 8  // Elf64_Verdef.vd_hash
	verneedFile   = 4  // Elf64_Verneed.vn_file
	symShndx      = 6  // Elf64_Sym.st_shndx
	relaInfo      = 8  // Elf64_Rela.r_info; its upper 32 bits are the symbol index
	shnumExtended = 0  // e_shnum when the count is in section 0's sh_size
)

// Dynamic tags that debug/elf does not name.
const (
	dtRelrSz      = stdelf.DynTag(35) // gABI
	dtRelr        = stdelf.DynTag(36)
	dtRelrEnt     = stdelf.DynTag(37)
	dtAndroidRel  = stdelf.DynTag(0x6000000f) // Android bionic, linker/linker_reloc: APS2
	dtAndroidRela = stdelf.DynTag(0x60000011)
	dtAndroidRelr = stdelf.DynTag(0x6fffe000)
	dtCrel        = stdelf.DynTag(0x40000026) // LLVM: compact relocations
	dtGNUXHash    = stdelf.DynTag(0x6ffffef4) // MIPS' variant of the GNU hash table
)

// Bounds on what is read. They are far above any library, and keep a sparse
// file of absurd size from being believed.
const (
	maxFileSize  = 64 << 30 // bytes
	maxTableSize = 1 << 30  // bytes of one table that is held in memory
	maxBSS       = 1 << 30  // bytes of .bss that are written out as zeros
	maxAlignment = 1 << 20  // sh_addralign of a section that moves
)

var le = binary.LittleEndian

// alignUp rounds v up to a multiple of the power of two a; ok is false on
// overflow.
func alignUp(v, a uint64) (r uint64, ok bool) {
	r = (v + a - 1) &^ (a - 1)
	return r, r >= v
}

// rangeEnd is off+n; ok is false on overflow.
func rangeEnd(off, n uint64) (end uint64, ok bool) {
	end = off + n
	return end, end >= off
}
