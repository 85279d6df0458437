package elf

import (
	stdelf "debug/elf"
	"fmt"
	"maps"
	"slices"
)

// symtab is the dynamic symbol table (gABI, "Symbol Table") with the tables
// that are indexed like it or lead into it.
type symtab struct {
	table
	strs    *strtab
	versym  table      // empty where there is none
	gnu     *gnuTable  // nil where there is none
	sysv    *sysvTable // nil where there is none
	sysvSeq []uint32   // the symbols of sysv in the order of lookup
	inSysv  []bool     // by symbol index; nil without sysv
}

func readSymtab(im *image, d *dynamic, strs *strtab, secs *sections, rel *relocations) (*symtab, error) {
	const what = ".dynsym"
	vaddr, ok := d.find(stdelf.DT_SYMTAB)
	if !ok {
		return nil, im.errorf(d.off, ".dynamic", "no DT_SYMTAB: the object has no dynamic symbols to edit")
	}
	if ent, ok := d.find(stdelf.DT_SYMENT); ok && ent != symSize {
		return nil, im.errorf(d.off, ".dynamic", "DT_SYMENT is %d, not %d", ent, symSize)
	}
	s := &symtab{strs: strs}
	var err error
	if addr, ok := d.find(stdelf.DT_GNU_HASH); ok {
		if s.gnu, err = readGNUTable(im, addr); err != nil {
			return nil, err
		}
	}
	if addr, ok := d.find(stdelf.DT_HASH); ok {
		if s.sysv, err = readSysvTable(im, addr); err != nil {
			return nil, err
		}
	}
	if s.gnu == nil && s.sysv == nil {
		return nil, im.errorf(d.off, ".dynamic", "neither DT_GNU_HASH nor DT_HASH: no loader can look up a symbol in this object")
	}
	n, err := s.count(im, vaddr, secs, rel)
	if err != nil {
		return nil, err
	}
	if n <= 1 {
		return nil, im.errorf(d.off, what, "the object has no dynamic symbols to edit")
	}
	if uint64(rel.maxSym) >= n {
		return nil, im.errorf(rel.maxAt, "relocation", "symbol %d of %d: the file is corrupt", rel.maxSym, n)
	}
	if s.table, err = im.table(vaddr, n*symSize, what); err != nil {
		return nil, err
	}
	if addr, ok := d.find(stdelf.DT_VERSYM); ok {
		if s.versym, err = im.table(addr, n*versymSize, ".gnu.version"); err != nil {
			return nil, err
		}
	}
	return s, s.check(im)
}

// count is the number of dynamic symbols, which no tag states: DT_HASH's
// nchain, else the end of the GNU hash table's last chain, else (nothing is
// hashed, so nothing is exported) what the section header says or the highest
// index that a relocation uses.
func (s *symtab) count(im *image, vaddr uint64, secs *sections, rel *relocations) (uint64, error) {
	gnu := s.gnu != nil && s.gnu.hashed() > 0
	var byGNU uint64
	if gnu {
		byGNU = uint64(s.gnu.symoffset) + uint64(s.gnu.hashed())
	}
	switch {
	case s.sysv != nil && gnu && byGNU != uint64(len(s.sysv.chain)):
		return 0, im.errorf(s.sysv.off, ".hash", "has %d symbols, .gnu.hash has %d: the file is corrupt", len(s.sysv.chain), byGNU)
	case s.sysv != nil:
		return uint64(len(s.sysv.chain)), nil
	case gnu:
		return byGNU, nil
	}
	if sec := secs.at(stdelf.SHT_DYNSYM, vaddr); sec != nil {
		return sec.Size / symSize, nil
	}
	return uint64(rel.maxSym) + 1, nil
}

// len is the number of symbols, the null symbol included.
func (s *symtab) len() int { return len(s.data) / symSize }

func (s *symtab) nameOff(sym uint32) uint32 { return le.Uint32(s.data[uint64(sym)*symSize:]) }

func (s *symtab) name(sym uint32) []byte { return s.strs.at(s.nameOff(sym)) }

// check holds names against the string table, and the hash tables against
// names.
func (s *symtab) check(im *image) error {
	for i := range uint32(s.len()) {
		if off := s.nameOff(i); !s.strs.has(uint64(off)) {
			return im.errorf(s.off+uint64(i)*symSize, ".dynsym", "the name %#x of symbol %d is outside .dynstr (size %#x)", off, i, len(s.strs.data))
		}
	}
	if s.gnu != nil {
		hashes := make([]uint32, s.gnu.hashed())
		for i := range hashes {
			hashes[i] = gnuHash(s.name(s.gnu.symoffset + uint32(i)))
		}
		if err := s.gnu.check(im, hashes); err != nil {
			return err
		}
	}
	if s.sysv != nil {
		var err error
		s.sysvSeq, err = s.sysv.sequence(im, func(sym uint32) uint32 { return sysvHash(s.name(sym)) })
		if err != nil {
			return err
		}
		s.inSysv = make([]bool, s.len())
		for _, sym := range s.sysvSeq {
			s.inSysv[sym] = true
		}
	}
	return nil
}

func (s *symtab) defined(sym uint32) bool {
	return stdelf.SectionIndex(le.Uint16(s.data[uint64(sym)*symSize+symShndx:])) != stdelf.SHN_UNDEF
}

// exported says whether the symbol is defined and can be found.
func (s *symtab) exported(sym uint32) bool {
	if !s.defined(sym) {
		return false
	}
	if s.gnu != nil {
		return s.gnu.hashed() > 0 && sym >= s.gnu.symoffset
	}
	return s.inSysv != nil && s.inSysv[sym]
}

// renaming is what a rename does to the symbol table.
type renaming struct {
	patches  []patch
	renamed  int      // symbols; several where a name has several versions
	newIndex []uint32 // by old symbol index; nil where no symbol moved
}

// rename plans new names for exported symbols. Offsets of new names come
// from, and new strings go to, the string table.
func (s *symtab) rename(im *image, names map[string]string) (*renaming, error) {
	if len(names) == 0 {
		return &renaming{}, nil
	}
	if err := s.checkNames(im, names); err != nil {
		return nil, err
	}
	r := &renaming{}
	renamed := func(sym uint32) (string, bool) { // by old index
		// An import of the same name, which other libraries define, keeps it.
		to, ok := names[string(s.name(sym))]
		return to, ok && s.exported(sym)
	}
	name := func(sym uint32) []byte { // by old index
		if to, ok := renamed(sym); ok {
			return []byte(to)
		}
		return s.name(sym)
	}
	var order []uint32 // of the symbols from first on; see gnuTable.order
	first := uint32(s.len())
	if s.gnu != nil {
		first = s.gnu.symoffset
		order = s.renameGNU(r, name)
	}
	oldOf := func(sym uint32) uint32 { // old index of a new index
		if sym < first {
			return sym
		}
		return first + order[sym-first]
	}

	syms := make([]byte, len(s.data))
	vers := make([]byte, len(s.versym.data))
	for i := range uint32(s.len()) {
		old := oldOf(i)
		sym := syms[uint64(i)*symSize:][:symSize]
		copy(sym, s.data[uint64(old)*symSize:])
		if to, ok := renamed(old); ok {
			le.PutUint32(sym, s.strs.add(to))
			r.renamed++
		}
		if len(vers) > 0 {
			copy(vers[uint64(i)*versymSize:][:versymSize], s.versym.data[uint64(old)*versymSize:])
		}
	}
	r.patches = append(r.patches, patch{s.off, syms}, patch{s.versym.off, vers})
	s.renameSysv(r, oldOf, name)
	return r, nil
}

// renameGNU plans the GNU hash table and the order of symbols that it needs.
func (s *symtab) renameGNU(r *renaming, name func(old uint32) []byte) (order []uint32) {
	first := s.gnu.symoffset
	hashes := make([]uint32, s.gnu.hashed())
	for i := range hashes {
		hashes[i] = gnuHash(name(first + uint32(i)))
	}
	order = s.gnu.order(hashes)
	sorted := make([]uint32, len(hashes))
	newIndex := make([]uint32, s.len())
	for i := range newIndex {
		newIndex[i] = uint32(i)
	}
	for i, from := range order {
		sorted[i] = hashes[from]
		newIndex[first+from] = first + uint32(i)
		if from != uint32(i) {
			r.newIndex = newIndex
		}
	}
	r.patches = append(r.patches, patch{s.gnu.off + gnuHashHeader, s.gnu.encode(sorted)})
	return order
}

// renameSysv plans the System V hash table. It holds the symbols it held
// before: GNU ld puts imports into it, too.
func (s *symtab) renameSysv(r *renaming, oldOf func(sym uint32) uint32, name func(old uint32) []byte) {
	if s.sysv == nil {
		return
	}
	seq := slices.Clone(s.sysvSeq)
	if r.newIndex != nil {
		for i, sym := range seq {
			seq[i] = r.newIndex[sym]
		}
	}
	content := s.sysv.encode(seq, func(sym uint32) uint32 { return sysvHash(name(oldOf(sym))) })
	r.patches = append(r.patches, patch{s.sysv.off + 8, content})
}

// checkNames says whether the rename applies: every old name is exported, and
// no new name exists.
func (s *symtab) checkNames(im *image, names map[string]string) error {
	targets := map[string]bool{}
	for _, to := range names {
		targets[to] = true
	}
	exported, unhashed, imported, taken := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range uint32(s.len()) {
		name := s.name(i)
		if targets[string(name)] {
			taken[string(name)] = true
		}
		if _, ok := names[string(name)]; !ok {
			continue
		}
		switch {
		case s.exported(i):
			exported[string(name)] = true
		case s.defined(i):
			unhashed[string(name)] = true
		default:
			imported[string(name)] = true
		}
	}
	for _, old := range slices.Sorted(maps.Keys(names)) {
		to := names[old]
		fail := func(format string, args ...any) error {
			return &EditError{Path: im.path, What: fmt.Sprintf("rename %s to %s", old, to), Msg: fmt.Sprintf(format, args...)}
		}
		switch {
		case taken[to] && !exported[old]:
			return fail("%s is there and %s is not exported: this object is renamed already; take the stock one", to, old)
		case taken[to]:
			return fail("the object has a symbol %s already; choose another name", to)
		case unhashed[old]:
			return fail("a definition of %s is in no hash table, so nothing can bind to it", old)
		case !exported[old] && imported[old]:
			return fail("%s is not an export of this object: it is imported", old)
		case !exported[old]:
			return fail("the object has no dynamic symbol %s", old)
		}
	}
	return nil
}
