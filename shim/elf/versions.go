package elf

import (
	stdelf "debug/elf"
	"fmt"
)

// versions are the places in .gnu.version_d and .gnu.version_r that follow an
// edit (LSB, "Symbol Versioning").
type versions struct {
	bases []baseVersion
	files []versionFile
}

// baseVersion is a version definition with VER_FLG_BASE, which stands for the
// object itself and carries its SONAME.
type baseVersion struct {
	hashOff uint64 // file offset of vd_hash
	nameOff uint64 // file offset of the first vda_name
	name    uint32
	shared  bool // another definition has the same name, and the same record of it
}

// versionFile is the vn_file of one needed object; the loader aborts when it
// is not the name of a DT_NEEDED.
type versionFile struct {
	off  uint64
	name uint32
}

func readVersions(im *image, d *dynamic, strs *strtab) (*versions, error) {
	v := &versions{}
	if err := v.readDefinitions(im, d, strs); err != nil {
		return nil, err
	}
	if err := v.readNeeds(im, d, strs); err != nil {
		return nil, err
	}
	return v, nil
}

func (v *versions) readDefinitions(im *image, d *dynamic, strs *strtab) error {
	const what = ".gnu.version_d"
	w := recordWalk{im: im, strs: strs, what: what, size: verdefSize, auxSize: verdauxSize, auxName: 0}
	var base *baseVersion // of the record whose first name comes next
	err := w.walk(d, stdelf.DT_VERDEF, stdelf.DT_VERDEFNUM, func(off uint64, rec []byte) (aux, next uint32, count uint16, err error) {
		if ver := le.Uint16(rec); ver != 1 {
			return 0, 0, 0, im.errorf(off, what, "vd_version is %d, not 1", ver)
		}
		count, aux, next = le.Uint16(rec[6:]), le.Uint32(rec[12:]), le.Uint32(rec[16:])
		if count == 0 {
			return 0, 0, 0, im.errorf(off, what, "a definition without a name")
		}
		if le.Uint16(rec[2:])&uint16(stdelf.VER_FLG_BASE) != 0 {
			base = &baseVersion{hashOff: off + verdefHash}
		}
		return aux, next, count, nil
	}, func(off uint64, name uint32) {
		if base != nil {
			base.nameOff, base.name = off, name
			v.bases = append(v.bases, *base)
			base = nil
		}
	})
	for i := range v.bases {
		v.bases[i].shared = w.auxSeen[v.bases[i].nameOff] > 1
	}
	return err
}

func (v *versions) readNeeds(im *image, d *dynamic, strs *strtab) error {
	const what = ".gnu.version_r"
	w := recordWalk{im: im, strs: strs, what: what, size: verneedSize, auxSize: vernauxSize, auxName: 8}
	return w.walk(d, stdelf.DT_VERNEED, stdelf.DT_VERNEEDNUM, func(off uint64, rec []byte) (aux, next uint32, count uint16, err error) {
		if ver := le.Uint16(rec); ver != 1 {
			return 0, 0, 0, im.errorf(off, what, "vn_version is %d, not 1", ver)
		}
		file := le.Uint32(rec[verneedFile:])
		if !strs.has(uint64(file)) {
			return 0, 0, 0, im.errorf(off, what, "vn_file %#x is outside .dynstr", file)
		}
		v.files = append(v.files, versionFile{off: off + verneedFile, name: file})
		return le.Uint32(rec[8:]), le.Uint32(rec[12:]), le.Uint16(rec[2:]), nil
	}, func(uint64, uint32) {})
}

// recordWalk follows the two-level lists that both version tables are:
// records linked by byte distances, each with a list of auxiliary records.
type recordWalk struct {
	im            *image
	strs          *strtab
	what          string
	size, auxSize uint64
	auxName       int            // offset of the name in an auxiliary record
	auxRead       int            // auxiliary records so far
	auxSeen       map[uint64]int // how often, by file offset
}

// maxVersions bounds records and auxiliary records: versions are numbered
// with the 15 bits that .gnu.version has for them.
const maxVersions = 1 << 15

// walk calls record for each record, which takes it apart, and aux for each
// of its auxiliary records with its file offset and name. Distances go forward
// only, so it ends.
func (w *recordWalk) walk(d *dynamic, addrTag, numTag stdelf.DynTag,
	record func(off uint64, rec []byte) (aux, next uint32, count uint16, err error),
	aux func(off uint64, name uint32),
) error {
	addr, okAddr := d.find(addrTag)
	num, okNum := d.find(numTag)
	if okAddr != okNum {
		return w.im.errorf(d.off, ".dynamic", "one of %v and %v is missing", addrTag, numTag)
	}
	if num > maxVersions {
		return w.im.errorf(d.off, w.what, "%v is %d, there cannot be more than %d versions", numTag, num, maxVersions)
	}
	for i := uint64(0); i < num; i++ {
		t, err := w.im.table(addr, w.size, fmt.Sprintf("%s record %d", w.what, i))
		if err != nil {
			return err
		}
		first, next, count, err := record(t.off, t.data)
		if err != nil {
			return err
		}
		if err := w.walkAux(addr, first, count, aux); err != nil {
			return err
		}
		// The loader goes by the links, other tools by the count.
		if last := i+1 == num; last != (next == 0) {
			return w.im.errorf(t.off, w.what, "record %d of %d (%v) links to %#x: the file is corrupt", i+1, num, numTag, next)
		}
		if next == 0 {
			break
		}
		if addr, err = w.forward(addr, next); err != nil {
			return err
		}
	}
	return nil
}

func (w *recordWalk) walkAux(addr uint64, first uint32, count uint16, aux func(off uint64, name uint32)) error {
	addr, err := w.forward(addr, first)
	if err != nil {
		return err
	}
	if w.auxRead += int(count); w.auxRead > maxVersions {
		return w.im.unsupported(w.what, "more than %d auxiliary records: the file is corrupt", maxVersions)
	}
	for i := range count {
		t, err := w.auxRecord(addr)
		if err != nil {
			return err
		}
		name := le.Uint32(t.data[w.auxName:])
		if !w.strs.has(uint64(name)) {
			return w.im.errorf(t.off, w.what, "the name %#x of an auxiliary record is outside .dynstr", name)
		}
		aux(t.off, name)
		next := le.Uint32(t.data[w.auxSize-4:])
		if last := i+1 == count; last != (next == 0) {
			return w.im.errorf(t.off, w.what, "auxiliary record %d of %d links to %#x: the file is corrupt", i+1, count, next)
		}
		if next == 0 {
			break
		}
		if addr, err = w.forward(addr, next); err != nil {
			return err
		}
	}
	return nil
}

// auxRecord reads an auxiliary record. GNU ld gives two definitions one record
// where their names are the same, as those of --default-symver are.
func (w *recordWalk) auxRecord(addr uint64) (table, error) {
	what := w.what + " auxiliary record"
	off, err := w.im.fileRange(addr, w.auxSize, what)
	if err != nil {
		return table{}, err
	}
	if w.auxSeen == nil {
		w.auxSeen = map[uint64]int{}
	}
	if w.auxSeen[off]++; w.auxSeen[off] == 1 {
		w.im.claims.add(off, w.auxSize, what)
	}
	data, err := w.im.bytes(off, w.auxSize, what)
	return table{off: off, data: data}, err
}

func (w *recordWalk) forward(addr uint64, by uint32) (uint64, error) {
	to, ok := rangeEnd(addr, uint64(by))
	if !ok {
		return 0, w.im.unsupported(w.what, "the distance %#x from address %#x overflows", by, addr)
	}
	return to, nil
}
