// Package elf edits the dynamic linking tables of x86-64 ELF shared objects
// (ELF64, little-endian): it renames exported dynamic symbols and changes
// DT_SONAME, DT_RUNPATH and DT_NEEDED.
//
// # What changes in the file
//
// Code and data never move. The new file differs from the old one in these
// places, and nowhere else:
//
//   - .dynsym and .gnu.version: names, and the order of the hashed symbols,
//     which the GNU hash table prescribes;
//   - .gnu.hash and .hash: rebuilt in place, with their old geometry;
//   - the symbol index of DT_RELA and DT_JMPREL entries whose symbol moved;
//   - name offsets in .gnu.version_d and .gnu.version_r, and the hash of the
//     base version definition, which carries the SONAME;
//   - .dynamic;
//   - the tail of the last PT_LOAD: it grows by the new .dynstr (the old
//     strings, then the added ones, so that every old offset stays valid) and,
//     where .dynamic has no spare entry, by a new .dynamic. The segment's
//     .bss lies before them, so it is written out as zeros;
//   - the program headers of that PT_LOAD and, if it moved, of PT_DYNAMIC;
//   - section headers, where there are any, and the ELF header's e_shoff.
//
// Bytes behind the last PT_LOAD (debug information, .symtab, section headers)
// move back as a block. The static symbol table keeps its names.
//
// # How it works
//
// Program headers and .dynamic decide, as they do for the loader; section
// headers follow along, and may be absent. The file is never held in memory:
// the tables are read through bounds-checked reads, the output is a copy made
// by the operating system with the edited ranges written on top of it.
// Everything that will be written must lie in ranges that do not overlap, and
// the hash tables must agree with the symbols, before a byte is written; so a
// corrupt file is declined and not made worse.
//
// The tempting other way is to append a new PT_LOAD. It needs a longer
// program header table, which has no room to grow, and strip(1) destroys the
// result, since it lays segments out again from section addresses.
//
// # Limits
//
// The package knows nothing of MIOpen, and does not check its own work: the
// package verify does that, and shares no code with this one. Not supported,
// and declined: other classes, byte orders and machines; objects that are not
// ET_DYN or have no PT_DYNAMIC; DT_REL, Android's packed relocations and
// CREL; DT_SYMINFO, extended section indices of dynamic symbols, and
// prelinked objects; files in which other data lies where the last PT_LOAD
// would have to grow.
package elf
