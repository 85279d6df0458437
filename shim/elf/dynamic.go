package elf

import (
	stdelf "debug/elf"
	"slices"
)

// dynEntry is one Elf64_Dyn (gABI, "Dynamic Section").
type dynEntry struct {
	tag stdelf.DynTag
	val uint64
}

// dynamic is the dynamic section: the entries before the first DT_NULL.
type dynamic struct {
	off     uint64 // in the file
	room    int    // entries that fit, the terminating DT_NULL not counted
	entries []dynEntry
	old     int // entries in the input
	changed bool
}

// declinedTags are structures that hold symbol indices, names or relocations
// in forms that the rewriter does not renumber.
var declinedTags = map[stdelf.DynTag]string{
	stdelf.DT_REL:          "DT_REL: relocations without addend do not occur on x86-64 and are not supported",
	dtAndroidRel:           "DT_ANDROID_REL: Android's packed relocations are not supported; link with --pack-dyn-relocs=none or relr",
	dtAndroidRela:          "DT_ANDROID_RELA: Android's packed relocations are not supported; link with --pack-dyn-relocs=none or relr",
	dtAndroidRelr:          "DT_ANDROID_RELR: Android's private tag is not supported; link with --pack-dyn-relocs=relr",
	dtCrel:                 "DT_CREL: compact relocations are not supported; link without -z crel",
	stdelf.DT_SYMINFO:      "DT_SYMINFO: a symbol information table is not supported",
	stdelf.DT_SYMTAB_SHNDX: "DT_SYMTAB_SHNDX: extended section indices of dynamic symbols are not supported",
	stdelf.DT_GNU_CONFLICT: "DT_GNU_CONFLICT: the object is prelinked; undo that with prelink -u",
	stdelf.DT_GNU_LIBLIST:  "DT_GNU_LIBLIST: the object is prelinked; undo that with prelink -u",
	dtGNUXHash:             "DT_GNU_XHASH is a table of MIPS and not supported",
}

// repeatableTags may occur more than once; of the others the loader would
// take the last one, so a second one is a trap.
var repeatableTags = map[stdelf.DynTag]bool{
	stdelf.DT_NEEDED:    true,
	stdelf.DT_RPATH:     true, // only the first counts; an edit removes the rest
	stdelf.DT_RUNPATH:   true,
	stdelf.DT_AUXILIARY: true,
	stdelf.DT_FILTER:    true,
}

func readDynamic(im *image) (*dynamic, error) {
	const what = ".dynamic"
	t, err := im.table(im.dynamic.Vaddr, im.dynamic.Filesz, what)
	if err != nil {
		return nil, err
	}
	d := &dynamic{off: t.off}
	slots := len(t.data) / dynSize
	seen := map[stdelf.DynTag]bool{}
	end := -1
	for i := range slots {
		e := dynEntry{stdelf.DynTag(le.Uint64(t.data[i*dynSize:])), le.Uint64(t.data[i*dynSize+8:])}
		if e.tag == stdelf.DT_NULL {
			end = i
			break
		}
		at := t.off + uint64(i)*dynSize
		if le.Uint64(t.data[i*dynSize:]) > 1<<31 {
			return nil, im.errorf(at, what, "tag %#x is out of range: the file is corrupt", le.Uint64(t.data[i*dynSize:]))
		}
		if msg, ok := declinedTags[e.tag]; ok {
			return nil, im.errorf(at, what, "%s", msg)
		}
		if seen[e.tag] && !repeatableTags[e.tag] {
			return nil, im.errorf(at, what, "%v occurs twice", e.tag)
		}
		seen[e.tag] = true
		d.entries = append(d.entries, e)
	}
	if end < 0 {
		return nil, im.errorf(t.off, what, "no DT_NULL ends it (%d entries): the file is corrupt", slots)
	}
	// Spare entries are the DT_NULLs that follow; the last must stay one.
	spare := end
	for spare < slots && le.Uint64(t.data[spare*dynSize:]) == uint64(stdelf.DT_NULL) {
		spare++
	}
	d.room, d.old = spare-1, end
	return d, nil
}

// find is the value of the entry with this tag.
func (d *dynamic) find(tag stdelf.DynTag) (val uint64, ok bool) {
	i := d.index(tag)
	if i < 0 {
		return 0, false
	}
	return d.entries[i].val, true
}

func (d *dynamic) index(tag stdelf.DynTag) int {
	return slices.IndexFunc(d.entries, func(e dynEntry) bool { return e.tag == tag })
}

// set gives the first entry with this tag its value, or adds one at the end.
func (d *dynamic) set(tag stdelf.DynTag, val uint64) {
	i := d.index(tag)
	if i < 0 {
		d.entries = append(d.entries, dynEntry{tag, val})
		d.changed = true
		return
	}
	d.replace(i, dynEntry{tag, val})
}

func (d *dynamic) replace(i int, e dynEntry) {
	if d.entries[i] != e {
		d.entries[i] = e
		d.changed = true
	}
}

// remove deletes every entry that drop selects.
func (d *dynamic) remove(drop func(i int, e dynEntry) bool) {
	kept := d.entries[:0:0]
	for i, e := range d.entries {
		if !drop(i, e) {
			kept = append(kept, e)
		}
	}
	d.changed = d.changed || len(kept) != len(d.entries)
	d.entries = kept
}

// insertNeeded puts a DT_NEEDED behind the last one, since their order is the
// order of the loader's search.
func (d *dynamic) insertNeeded(name uint64) {
	at := 0
	for i, e := range d.entries {
		if e.tag == stdelf.DT_NEEDED {
			at = i + 1
		}
	}
	d.entries = slices.Insert(d.entries, at, dynEntry{stdelf.DT_NEEDED, name})
	d.changed = true
}

// fits says whether the entries have room where .dynamic is.
func (d *dynamic) fits() bool { return len(d.entries) <= d.room }

// encode is the section's content: the entries, and DT_NULL in place of those
// that there were before. What follows is DT_NULL already.
func (d *dynamic) encode() []byte {
	var b []byte
	for _, e := range d.entries {
		b = le.AppendUint64(b, uint64(e.tag))
		b = le.AppendUint64(b, e.val)
	}
	return append(b, make([]byte, dynSize*max(0, d.old-len(d.entries)))...)
}
