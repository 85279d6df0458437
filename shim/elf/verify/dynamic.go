package verify

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"
)

// Not in debug/elf: the offsets of strings that older loaders and audit tools read.
const (
	dtConfig    elf.DynTag = 0x6ffffefa
	dtDepAudit  elf.DynTag = 0x6ffffefb
	dtAudit     elf.DynTag = 0x6ffffefc
	dtAuxiliary elf.DynTag = 0x7ffffffd
	dtFilter    elf.DynTag = 0x7fffffff
)

// stringTag says whether the value of an entry is an offset of the string table.
func stringTag(t elf.DynTag) bool {
	switch t {
	case elf.DT_NEEDED, elf.DT_SONAME, elf.DT_RPATH, elf.DT_RUNPATH, dtConfig, dtDepAudit, dtAudit, dtAuxiliary, dtFilter:
		return true
	}
	return false
}

// dynItem is an entry of .dynamic by what it means: offsets of strings are replaced by the strings.
type dynItem struct {
	tag   elf.DynTag
	text  string
	value uint64
}

func (d dynItem) String() string {
	if stringTag(d.tag) {
		return fmt.Sprintf("%v %q", d.tag, d.text)
	}
	return fmt.Sprintf("%v %#x", d.tag, d.value)
}

func (im *image) items() []dynItem {
	var items []dynItem
	for _, e := range im.dyn {
		it := dynItem{tag: e.tag}
		switch {
		case stringTag(e.tag):
			it.text = im.quoted(e.val)
		case e.tag == elf.DT_STRTAB, e.tag == elf.DT_STRSZ:
			// Where the string table lies and how long it is may change, and is checked by itself.
		default:
			it.value = e.val
		}
		items = append(items, it)
	}
	return items
}

// stringList gives the strings of all entries with a tag, in order.
func (im *image) stringList(tag elf.DynTag) []string {
	var l []string
	for _, e := range im.dyn {
		if e.tag == tag {
			l = append(l, im.quoted(e.val))
		}
	}
	return l
}

// wantedNeeded gives the DT_NEEDED names after the edit.
func (c *comparison) wantedNeeded() []string {
	var l []string
	for _, n := range c.stock.stringList(elf.DT_NEEDED) {
		l = append(l, c.neededName(n))
	}
	for _, n := range c.want.AddNeeded {
		if !slices.Contains(l, n) {
			l = append(l, n)
		}
	}
	return l
}

// expectedItems gives what stock's entries become, in their order, and those that an edit may insert anywhere.
func (c *comparison) expectedItems() (kept []dynItem, added map[dynItem]int) {
	added = map[dynItem]int{}
	hasSONAME := false
	for _, it := range c.stock.items() {
		switch it.tag {
		case elf.DT_NEEDED:
			it.text = c.neededName(it.text)
		case elf.DT_SONAME:
			hasSONAME = true
			if c.want.SONAME != "" {
				it.text = c.want.SONAME
			}
		case elf.DT_RUNPATH, elf.DT_RPATH:
			// The loader ignores DT_RPATH next to DT_RUNPATH, and obeys it where that is gone. So both make way for the new
			// one, which takes the place of either.
			if c.want.RunPath != nil {
				continue
			}
		}
		kept = append(kept, it)
	}
	if !hasSONAME && c.want.SONAME != "" {
		added[dynItem{tag: elf.DT_SONAME, text: c.want.SONAME}]++
	}
	if p := c.want.RunPath; p != nil && *p != "" {
		added[dynItem{tag: elf.DT_RUNPATH, text: *p}]++
	}
	for _, n := range c.wantedNeeded()[len(c.stock.stringList(elf.DT_NEEDED)):] {
		added[dynItem{tag: elf.DT_NEEDED, text: n}]++
	}
	return kept, added
}

// dynamic compares the entries of .dynamic in order, what follows them, and the string table.
func (c *comparison) dynamic() (Check, error) {
	k := Check{Name: CheckDynamic}
	kept, added := c.expectedItems()
	for i, it := range c.edited.items() {
		k.Compared++
		switch {
		case len(kept) > 0 && kept[0] == it:
			kept = kept[1:]
		case added[it] > 0:
			added[it]--
		case len(kept) > 0 && kept[0].tag == it.tag:
			k.finding("entry %d is %v, it should be %v", i, it, kept[0])
			kept = kept[1:]
		default:
			k.finding("entry %d, %v, was not asked for", i, it)
		}
	}
	for _, it := range kept {
		k.finding("entry %v is missing or out of order", it)
	}
	for it, n := range added {
		if n > 0 {
			k.finding("entry %v was not added", it)
		}
	}

	// Spare entries are room for the next tool. In place they may only become fewer; whoever wrote them wrote zeros.
	spare, before := c.edited.dynTail, c.stock.dynTail
	for i, b := range spare {
		was := byte(0)
		if j := len(before) - len(spare) + i; j >= 0 && c.stock.dynSpan == c.edited.dynSpan {
			was = before[j]
		}
		if b != was {
			k.finding("byte %d after the tag of DT_NULL is %#02x, it should be %#02x", i, b, was)
		}
	}
	return k, c.stringTable(&k)
}

// stringTable checks that the string table is stock's with nothing but wanted strings behind it, and that all of it lies
// where an edit may write.
func (c *comparison) stringTable(k *Check) error {
	s, e := c.stock, c.edited
	k.Compared++
	if strings.HasPrefix(e.strings, s.strings) {
		for t := range strings.SplitSeq(e.strings[len(s.strings):], "\x00") {
			if t != "" && !c.wantedString(t) {
				k.finding("DT_STRTAB has the string %q, which nobody asked for", t)
			}
		}
	} else {
		// Offsets of strings are also kept in places that no loader reads, so they must stay valid.
		k.finding("DT_STRTAB does not begin with stock's %d bytes", len(s.strings))
	}
	if e.strings == "" || e.strings[0] != 0 || e.strings[len(e.strings)-1] != 0 {
		k.finding("DT_STRTAB (%d bytes) does not begin and end with a NUL", len(e.strings))
	}
	fresh := e.strSpan
	if fresh.off == s.strSpan.off {
		fresh = span{s.strSpan.end(), e.strSpan.size - min(s.strSpan.size, e.strSpan.size)}
	}
	if fresh.size > 0 && !c.layout.tail.contains(fresh) {
		k.finding("DT_STRTAB is written to file range %v, outside the tail of the last PT_LOAD %v", fresh, c.layout.tail)
	}
	if fresh.off != s.strSpan.off && c.layout.dynMoved && overlap(fresh, e.dynSpan) {
		k.finding("DT_STRTAB %v and .dynamic %v overlap", fresh, e.dynSpan)
	}
	if c.layout.grew() {
		// What of the tail is neither table is padding.
		return e.eachHole(c.layout.tail, []span{fresh, e.dynSpan}, func(at span) error {
			return e.eachNonZero(at, make([]byte, min(at.size, 1<<16)), func(off uint64) {
				k.finding("the tail of the last PT_LOAD has bytes that belong to no table, at file offset %#x", off)
			})
		})
	}
	return nil
}

// wantedString says whether an edit has a reason to add a string to the string table.
func (c *comparison) wantedString(t string) bool {
	w := c.want
	if c.newNames == nil {
		c.newNames = map[string]bool{w.SONAME: true}
		for _, m := range []map[string]string{w.Rename, w.Needed} {
			for _, to := range m {
				c.newNames[to] = true
			}
		}
		for _, n := range w.AddNeeded {
			c.newNames[n] = true
		}
		if w.RunPath != nil {
			c.newNames[*w.RunPath] = true
		}
	}
	return c.newNames[t]
}

// identity checks what a loader calls the file and where it looks for others, without regard to how .dynamic is laid
// out.
func (c *comparison) identity() (Check, error) {
	k := Check{Name: CheckIdentity}
	s, e := c.stock, c.edited
	compare := func(what string, want, got []string) {
		k.Compared++
		if !slices.Equal(want, got) {
			k.finding("%s is %q, it should be %q", what, got, want)
		}
	}
	soname := s.stringList(elf.DT_SONAME)
	if c.want.SONAME != "" {
		soname = []string{c.want.SONAME}
	}
	compare("SONAME", soname, e.stringList(elf.DT_SONAME))

	runPath, rpath := s.stringList(elf.DT_RUNPATH), s.stringList(elf.DT_RPATH)
	if p := c.want.RunPath; p != nil {
		runPath, rpath = []string{*p}, nil
		if *p == "" {
			runPath = nil
		}
	}
	compare("RUNPATH", runPath, e.stringList(elf.DT_RUNPATH))
	compare("RPATH", rpath, e.stringList(elf.DT_RPATH))

	compare("NEEDED", c.wantedNeeded(), e.stringList(elf.DT_NEEDED))
	stock := s.stringList(elf.DT_NEEDED)
	for old := range c.want.Needed {
		if !slices.Contains(stock, old) {
			k.finding("asked to replace NEEDED %q, which stock does not have", old)
		}
	}
	return k, nil
}
