package verify

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
)

const (
	versionGlobal = 1
	versionHidden = 0x8000

	verFlagBase = 1 // VER_FLG_BASE

	verdefSize  = 20
	verneedSize = 16
	vernauxSize = 16
	verdauxSize = 8

	// maxVersionRecords bounds the records of both version tables: a version index has 15 bits.
	maxVersionRecords = 1 << 16
)

// versionNode is a version that symbols can have, as the loader compares it.
type versionNode struct {
	name string
	hash uint32
}

// versionDef is one version that the file defines.
type versionDef struct {
	revision, flags, index, count uint16
	hash                          uint32
	names                         []string // its own, then its parents'
	hashSpan, nameSpan            span     // vd_hash, and vda_name of its own name
}

func (d versionDef) base() bool { return d.flags&verFlagBase != 0 }

// versionNeed is what the file needs from one other file.
type versionNeed struct {
	revision, count uint16
	file            string
	fileSpan        span // vn_file
	versions        []neededVersion
}

type neededVersion struct {
	versionNode
	flags, index uint16
}

// loadVersions reads verdef and verneed. Damage is kept for the versions check to report: the rest of the file can be
// compared without.
func (im *image) loadVersions() {
	im.nodes = map[uint16]versionNode{}
	budget := maxVersionRecords
	im.versErrs = [2]error{im.readDefs(&budget), im.readNeeds(&budget)}
}

// versionRecord reads one record of a version table.
func (im *image) versionRecord(addr, size uint64, what string, budget *int) ([]byte, span, error) {
	if *budget--; *budget < 0 {
		return nil, span{}, im.failure(0, what, fmt.Errorf("more than %d records", maxVersionRecords))
	}
	s, err := im.locate(addr, size, what)
	if err != nil {
		return nil, s, err
	}
	b, err := im.read(s.off, s.size, what)
	return b, s, err
}

// chain says whether another record follows, and complains when the count and the links disagree: which of the two
// readers obey differs.
func (im *image) chain(at span, what string, next uint32, left int) error {
	if (next == 0) != (left == 0) {
		return im.failure(at.off, what, fmt.Errorf("%d records should follow, the link to the next one is %#x", left, next))
	}
	return nil
}

func (im *image) readDefs(budget *int) error {
	const what = "version definitions (DT_VERDEF)"
	addr, ok := im.dynValue(elf.DT_VERDEF)
	if !ok {
		return nil
	}
	count, err := im.mustValue(elf.DT_VERDEFNUM)
	if err != nil {
		return err
	}
	for left := count; left > 0; left-- {
		b, at, err := im.versionRecord(addr, verdefSize, what, budget)
		if err != nil {
			return err
		}
		d := versionDef{
			revision: le.Uint16(b), flags: le.Uint16(b[2:]), index: le.Uint16(b[4:]), count: le.Uint16(b[6:]),
			hash: le.Uint32(b[8:]), hashSpan: span{at.off + 8, 4},
		}
		aux := addr + uint64(le.Uint32(b[12:]))
		for n := int(d.count); n > 0; n-- {
			a, at, err := im.versionRecord(aux, verdauxSize, what, budget)
			if err != nil {
				return err
			}
			if len(d.names) == 0 {
				d.nameSpan = span{at.off, 4}
			}
			d.names = append(d.names, im.quoted(uint64(le.Uint32(a))))
			next := le.Uint32(a[4:])
			if err := im.chain(at, what, next, n-1); err != nil {
				return err
			}
			aux += uint64(next)
		}
		if len(d.names) == 0 {
			return im.failure(at.off, what, errors.New("a version without a name"))
		}
		im.defs = append(im.defs, d)
		if !d.base() {
			im.nodes[d.index&^versionHidden] = versionNode{d.names[0], d.hash}
		}
		next := le.Uint32(b[16:])
		if err := im.chain(at, what, next, int(min(left-1, 1))); err != nil {
			return err
		}
		addr += uint64(next)
	}
	return nil
}

func (im *image) readNeeds(budget *int) error {
	const what = "version needs (DT_VERNEED)"
	addr, ok := im.dynValue(elf.DT_VERNEED)
	if !ok {
		return nil
	}
	count, err := im.mustValue(elf.DT_VERNEEDNUM)
	if err != nil {
		return err
	}
	for left := count; left > 0; left-- {
		b, at, err := im.versionRecord(addr, verneedSize, what, budget)
		if err != nil {
			return err
		}
		v := versionNeed{
			revision: le.Uint16(b), count: le.Uint16(b[2:]), file: im.quoted(uint64(le.Uint32(b[4:]))),
			fileSpan: span{at.off + 4, 4},
		}
		aux := addr + uint64(le.Uint32(b[8:]))
		for n := int(v.count); n > 0; n-- {
			a, at, err := im.versionRecord(aux, vernauxSize, what, budget)
			if err != nil {
				return err
			}
			w := neededVersion{
				versionNode: versionNode{im.quoted(uint64(le.Uint32(a[8:]))), le.Uint32(a)},
				flags:       le.Uint16(a[4:]), index: le.Uint16(a[6:]),
			}
			v.versions = append(v.versions, w)
			im.nodes[w.index&^versionHidden] = w.versionNode
			next := le.Uint32(a[12:])
			if err := im.chain(at, what, next, n-1); err != nil {
				return err
			}
			aux += uint64(next)
		}
		im.needs = append(im.needs, v)
		next := le.Uint32(b[12:])
		if err := im.chain(at, what, next, int(min(left-1, 1))); err != nil {
			return err
		}
		addr += uint64(next)
	}
	return nil
}

// versions compares the version tables: the base version follows the SONAME, file names follow the replaced DT_NEEDED,
// and everything else is as it was.
func (c *comparison) versions() (Check, error) {
	k := Check{Name: CheckVersions}
	s, e := c.stock, c.edited
	for _, err := range slices.Concat(s.versErrs[:], e.versErrs[:]) {
		if err != nil {
			k.finding("damaged: %v", err)
		}
	}
	k.Absent = len(s.defs)+len(s.needs)+len(e.defs)+len(e.needs) == 0 && k.Total == 0

	if len(s.defs) != len(e.defs) {
		k.finding("%d version definitions, stock has %d", len(e.defs), len(s.defs))
	}
	for i := range min(len(s.defs), len(e.defs)) {
		k.Compared++
		c.definition(&k, i, s.defs[i], e.defs[i])
	}

	if len(s.needs) != len(e.needs) {
		k.finding("%d files in the version needs, stock has %d", len(e.needs), len(s.needs))
	}
	for i := range min(len(s.needs), len(e.needs)) {
		k.Compared++
		a, b := s.needs[i], e.needs[i]
		if want := c.neededName(a.file); b.file != want {
			k.finding("version need %d is for file %q, it should be %q", i, b.file, want)
		}
		if a.revision != b.revision || a.count != b.count {
			k.finding("version need %d (%s): revision %d with %d versions, stock has %d with %d", i, b.file, b.revision, b.count, a.revision, a.count)
		}
		for j := range min(len(a.versions), len(b.versions)) {
			k.Compared++
			if a.versions[j] != b.versions[j] {
				k.finding("version need %d (%s): version %d is %+v, stock has %+v", i, b.file, j, b.versions[j], a.versions[j])
			}
			if b.versions[j].hash != sysvHash(b.versions[j].name) && a.versions[j].hash == sysvHash(a.versions[j].name) {
				k.finding("version need %d (%s): the hash %#x is not that of %q", i, b.file, b.versions[j].hash, b.versions[j].name)
			}
		}
	}
	return k, nil
}

func (c *comparison) definition(k *Check, i int, a, b versionDef) {
	names := slices.Clone(a.names)
	hash := a.hash
	if a.base() && c.want.SONAME != "" {
		names[0] = c.want.SONAME
		hash = sysvHash(c.want.SONAME)
	}
	if a.revision != b.revision || a.flags != b.flags || a.index != b.index || a.count != b.count {
		k.finding("version definition %d (%q): revision %d flags %#x index %d names %d, stock has %d %#x %d %d", i, b.names[0],
			b.revision, b.flags, b.index, b.count, a.revision, a.flags, a.index, a.count)
	}
	if !slices.Equal(names, b.names) {
		k.finding("version definition %d has names %q, they should be %q", i, b.names, names)
	}
	if hash != b.hash {
		k.finding("version definition %d (%q) has hash %#x, it should be %#x", i, b.names[0], b.hash, hash)
	}
}

// neededName gives the name of a needed file after the edit.
func (c *comparison) neededName(file string) string {
	if to, ok := c.want.Needed[file]; ok {
		return to
	}
	return file
}
