package elf

import stdelf "debug/elf"

// relocations are the ranges of the file that hold Elf64_Rela entries (gABI,
// "Relocation"): DT_RELA and DT_JMPREL. DT_RELR's have no symbol, and so
// nothing to renumber. The entries are streamed, not held: there may be
// millions.
type relocations struct {
	ranges []claim
	maxSym uint32 // highest symbol index in use
	maxAt  uint64 // file offset of an entry that uses it
}

const relocChunk = 43690 * relaSize // about 1 MiB

func readRelocations(im *image, d *dynamic) (*relocations, error) {
	r := &relocations{}
	rela, relaSz, err := r.tableOf(im, d, stdelf.DT_RELA, stdelf.DT_RELASZ)
	if err != nil {
		return nil, err
	}
	if ent, ok := d.find(stdelf.DT_RELAENT); relaSz > 0 && (!ok || ent != relaSize) {
		return nil, im.errorf(d.off, ".dynamic", "DT_RELAENT is %d, not %d", ent, relaSize)
	}
	plt, pltSz, err := r.tableOf(im, d, stdelf.DT_JMPREL, stdelf.DT_PLTRELSZ)
	if err != nil {
		return nil, err
	}
	if kind, ok := d.find(stdelf.DT_PLTREL); pltSz > 0 && (!ok || stdelf.DynTag(kind) != stdelf.DT_RELA) {
		return nil, im.errorf(d.off, ".dynamic", "DT_PLTREL is %d, not DT_RELA", kind)
	}
	if relaSz > 0 {
		if err := r.add(im, rela, relaSz, "DT_RELA"); err != nil {
			return nil, err
		}
	}
	// gABI allows DT_RELA to include DT_JMPREL.
	inside := pltSz > 0 && plt >= rela && plt-rela < relaSz && pltSz <= relaSz-(plt-rela)
	if inside && (plt-rela)%relaSize != 0 {
		return nil, im.errorf(d.off, ".dynamic", "DT_JMPREL begins in the middle of an entry of DT_RELA")
	}
	if pltSz > 0 && !inside {
		if err := r.add(im, plt, pltSz, "DT_JMPREL"); err != nil {
			return nil, err
		}
	}
	if err := checkRelr(im, d); err != nil {
		return nil, err
	}
	err = r.each(im.source, func(off uint64, chunk []byte) error {
		for i := 0; i < len(chunk); i += relaSize {
			if sym := le.Uint32(chunk[i+relaInfo+4:]); sym > r.maxSym {
				r.maxSym, r.maxAt = sym, off+uint64(i)
			}
		}
		return nil
	})
	return r, err
}

// checkRelr holds that DT_RELR (gABI, "Relative Relocation Table") is where no
// other table is. It is not touched.
func checkRelr(im *image, d *dynamic) error {
	const what = "DT_RELR"
	addr, okAddr := d.find(dtRelr)
	size, okSize := d.find(dtRelrSz)
	if okAddr != okSize {
		return im.errorf(d.off, ".dynamic", "one of DT_RELR and DT_RELRSZ is missing")
	}
	if !okAddr || size == 0 {
		return nil
	}
	if ent, ok := d.find(dtRelrEnt); !ok || ent != relrSize || size%relrSize != 0 {
		return im.errorf(d.off, ".dynamic", "DT_RELRSZ is %d and DT_RELRENT %d; the entry size is %d", size, ent, relrSize)
	}
	off, err := im.fileRange(addr, size, what)
	if err != nil {
		return err
	}
	im.claims.add(off, size, what)
	return nil
}

// tableOf reads the address and size tags of a relocation table; size is 0
// where there is none.
func (r *relocations) tableOf(im *image, d *dynamic, addrTag, sizeTag stdelf.DynTag) (addr, size uint64, err error) {
	addr, okAddr := d.find(addrTag)
	size, okSize := d.find(sizeTag)
	if okAddr != okSize {
		return 0, 0, im.errorf(d.off, ".dynamic", "one of %v and %v is missing", addrTag, sizeTag)
	}
	if size%relaSize != 0 {
		return 0, 0, im.errorf(d.off, ".dynamic", "%v %d is not a multiple of the entry size %d", sizeTag, size, relaSize)
	}
	if okAddr {
		if _, err := im.fileRange(addr, size, addrTag.String()); err != nil {
			return 0, 0, err // of an empty table, too
		}
	}
	return addr, size, nil
}

func (r *relocations) add(im *image, vaddr, size uint64, what string) error {
	off, err := im.fileRange(vaddr, size, what)
	if err != nil {
		return err
	}
	r.ranges = append(r.ranges, claim{off, size, what})
	im.claims.add(off, size, what)
	return nil
}

// each calls f with successive runs of whole entries and their file offset.
func (r *relocations) each(src *source, f func(off uint64, chunk []byte) error) error {
	var buf []byte
	for _, c := range r.ranges {
		for done := uint64(0); done < c.size; {
			n := min(c.size-done, relocChunk)
			if uint64(len(buf)) < n {
				buf = make([]byte, n)
			}
			if err := src.readAt(buf[:n], c.off+done, c.what); err != nil {
				return err
			}
			if err := f(c.off+done, buf[:n]); err != nil {
				return err
			}
			done += n
		}
	}
	return nil
}

// renumber rewrites the symbol indices of a run of entries, and says how many
// changed.
func renumber(chunk []byte, newIndex []uint32) (changed int) {
	for i := 0; i < len(chunk); i += relaSize {
		sym := chunk[i+relaInfo+4 : i+relaInfo+8]
		if old := le.Uint32(sym); newIndex[old] != old {
			le.PutUint32(sym, newIndex[old])
			changed++
		}
	}
	return changed
}
