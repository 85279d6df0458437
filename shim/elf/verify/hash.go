package verify

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
)

// sysvHash is the hash function of DT_HASH and of version names (System V gABI, "Hash Table").
func sysvHash(name string) uint32 {
	var h uint32
	for i := range len(name) {
		h = h<<4 + uint32(name[i])
		h ^= h >> 24 & 0xf0
		h &= 0x0fffffff
	}
	return h
}

// gnuHash is the hash function of DT_GNU_HASH.
func gnuHash(name string) uint32 {
	h := uint32(5381)
	for i := range len(name) {
		h = h*33 + uint32(name[i])
	}
	return h
}

// maxSteps bounds the symbols that all lookups through one table look at. Real tables have chains of a few symbols; one
// bucket for everything would make the check quadratic.
const maxSteps = 1 << 28

// lookupTable is a hash table as a lookup uses it.
type lookupTable interface {
	// walk calls visit with the symbols whose names the loader would compare with name, in its order, until visit
	// returns true. It gives up without a word when steps are used up.
	walk(name string, steps *int, visit func(symbol int) bool)
}

// query is one lookup. Without a node it asks for no version.
type query struct {
	name string
	node *versionNode
	// oldest distinguishes the two lookups without a version: a relocation of an object that has no version tables takes
	// the base or the oldest version, dlsym takes the default one.
	oldest bool
}

func (q query) String() string {
	switch {
	case q.node != nil:
		return fmt.Sprintf("%q at version %q", q.name, q.node.name)
	case q.oldest:
		return fmt.Sprintf("%q without a version", q.name)
	}
	return fmt.Sprintf("%q at its default version", q.name)
}

// lookup finds a symbol as the loader does (glibc's do_lookup_x and check_match), or returns -1.
func (im *image) lookup(t lookupTable, q query, steps *int) int {
	found, fallback, candidates := -1, -1, 0
	t.walk(q.name, steps, func(i int) bool {
		y := &im.symbols[i]
		if y.value == 0 && elf.SectionIndex(y.section) != elf.SHN_ABS && y.typ() != elf.STT_TLS {
			return false
		}
		switch y.typ() {
		case elf.STT_NOTYPE, elf.STT_OBJECT, elf.STT_FUNC, elf.STT_COMMON, elf.STT_TLS, elf.STT_GNU_IFUNC:
		default:
			return false
		}
		if y.name != q.name {
			return false
		}
		if im.versym.size != 0 {
			index, hidden := y.version&^versionHidden, y.version&versionHidden != 0
			if q.node != nil {
				n := im.nodes[index]
				if n != *q.node && (n.hash != 0 || hidden) {
					return false
				}
			} else {
				first := uint16(2)
				if q.oldest {
					first = 3
				}
				if index >= first {
					if !hidden {
						if candidates == 0 {
							fallback = i
						}
						candidates++
					}
					return false
				}
			}
		}
		found = i
		return true
	})
	if found < 0 && candidates == 1 {
		found = fallback
	}
	if found < 0 {
		return -1
	}
	y := im.symbols[found]
	switch elf.ST_VISIBILITY(y.other) {
	case elf.STV_HIDDEN, elf.STV_INTERNAL:
		return -1
	}
	switch y.bind() {
	case elf.STB_GLOBAL, elf.STB_WEAK, elf.STB_LOOS: // the last is STB_GNU_UNIQUE
		return found
	}
	return -1
}

// hashTables checks every hash table of the edited file, by its structure and by looking up every name that either file
// has, and those that must be gone.
func (c *comparison) hashTables() (Check, error) {
	k := Check{Name: CheckHash}
	for _, t := range []struct {
		tag  elf.DynTag
		open func(*Check, uint64, uint64) (s, e lookupTable, err error)
	}{{elf.DT_GNU_HASH, c.gnuTables}, {elf.DT_HASH, c.sysvTables}} {
		sAddr, inStock := c.stock.dynValue(t.tag)
		eAddr, inEdited := c.edited.dynValue(t.tag)
		if inStock != inEdited {
			k.finding("%v is in only one of the files", t.tag)
			continue
		}
		if !inStock {
			continue
		}
		s, e, err := t.open(&k, sAddr, eAddr)
		if err != nil {
			return k, err
		}
		if s != nil && e != nil {
			found := k.Compared
			if c.lookups(&k, t.tag, s, e); k.Compared == found && len(c.defined) > 0 {
				k.finding("%v: stock defines %d names and none of them can be looked up, so nothing is proven", t.tag, len(c.defined))
			}
		}
	}
	return k, nil
}

// lookups asks both files the same questions through the same kind of table and wants the same answers.
func (c *comparison) lookups(k *Check, tag elf.DynTag, s, e lookupTable) {
	steps := c.maxSteps
	for i, y := range c.stock.symbols {
		queries := []query{{name: y.name}, {name: y.name, oldest: true}}
		if n, ok := c.stock.nodes[y.version&^versionHidden]; ok {
			queries = append(queries, query{name: y.name, node: &n})
		}
		for _, q := range queries {
			to := q
			if name, ok := c.want.Rename[q.name]; ok {
				to.name = name
			}
			was, is := c.stock.lookup(s, q, &steps), c.edited.lookup(e, to, &steps)
			switch {
			case was < 0 && is < 0:
				continue
			case was < 0:
				k.finding("%v: %v finds symbol %d, in stock it finds none (stock symbol %d)", tag, to, is, i)
			case is < 0:
				k.finding("%v: %v is not found (stock symbol %d)", tag, to, was)
			case c.editedClass[is] != c.stockClass[was]:
				k.finding("%v: %v finds symbol %d, %s, it should find %s", tag, to, is, c.edited.describe(is), c.stock.describe(was))
			}
			k.Compared++
		}
	}

	// What was renamed away must not be found under any version.
	kept := map[string]bool{}
	for _, to := range c.want.Rename {
		kept[to] = true
	}
	nodes := slices.Collect(maps.Values(c.edited.nodes))
	for _, old := range slices.Sorted(maps.Keys(c.want.Rename)) {
		if kept[old] || !c.defined[old] {
			continue
		}
		queries := []query{{name: old}, {name: old, oldest: true}}
		for _, n := range nodes {
			queries = append(queries, query{name: old, node: &n})
		}
		for _, q := range queries {
			if i := c.edited.lookup(e, q, &steps); i >= 0 {
				k.finding("%v: %v still finds symbol %d", tag, q, i)
			}
			k.Compared++
		}
	}
	if steps <= 0 {
		k.finding("%v: the lookups were given up after %d steps, the chains are too long to check", tag, c.maxSteps)
	}
}

const gnuHeadSize = 16

// gnuHead is the header of DT_GNU_HASH.
type gnuHead struct {
	buckets uint32
	offset  uint32 // index of the first symbol that is hashed
	bloom   uint32 // words of 64 bits
	shift   uint32
}

const gnuWhat = "hash table (DT_GNU_HASH)"

func (im *image) readGNUHead(addr uint64) (gnuHead, error) {
	s, err := im.locate(addr, gnuHeadSize, gnuWhat)
	if err != nil {
		return gnuHead{}, err
	}
	b, err := im.read(s.off, s.size, gnuWhat)
	if err != nil {
		return gnuHead{}, err
	}
	h := gnuHead{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:])}
	if h.buckets == 0 {
		return h, im.failure(s.off, gnuWhat, errors.New("no buckets"))
	}
	if bits.OnesCount32(h.bloom) != 1 {
		return h, im.failure(s.off, gnuWhat, fmt.Errorf("a bloom filter of %d words, which is no power of two", h.bloom))
	}
	return h, nil
}

func (h gnuHead) bucketsAt(addr uint64) uint64 { return addr + gnuHeadSize + 8*uint64(h.bloom) }
func (h gnuHead) chainAt(addr uint64) uint64   { return h.bucketsAt(addr) + 4*uint64(h.buckets) }

// countGNU gives the number of symbols that DT_GNU_HASH implies, and whether it hashes any at all.
func (im *image) countGNU(addr uint64, h gnuHead) (count uint64, hashes bool, err error) {
	b, err := im.readAddr(h.bucketsAt(addr), 4*uint64(h.buckets), gnuWhat)
	if err != nil {
		return 0, false, err
	}
	last := uint32(0)
	for ; len(b) > 0; b = b[4:] {
		last = max(last, le.Uint32(b))
	}
	if last == 0 {
		return uint64(h.offset), false, nil
	}
	if last < h.offset {
		return 0, false, im.failure(0, gnuWhat, fmt.Errorf("a bucket starts at symbol %d, before the first hashed one, %d", last, h.offset))
	}
	rest, err := im.rest(h.chainAt(addr)+4*uint64(last-h.offset), gnuWhat)
	if err != nil {
		return 0, false, err
	}
	// The chain ends with the first odd word.
	r := bufio.NewReaderSize(io.NewSectionReader(im.file, int64(rest.off), int64(rest.size)), 1<<12)
	for n := uint64(last) + 1; ; n++ {
		var w [4]byte
		if _, err := io.ReadFull(r, w[:]); err != nil {
			return 0, false, im.failure(rest.off, gnuWhat, fmt.Errorf("the last chain has no end: %w", err))
		}
		if w[0]&1 != 0 {
			return n, true, nil
		}
	}
}

// gnuTable is DT_GNU_HASH in memory.
type gnuTable struct {
	gnuHead
	filter []byte
	heads  []byte // buckets
	chain  []byte
	// end is one more than the last hashed symbol. A table with empty buckets hashes nothing, whatever its offset
	// says: GNU ld gives one with offset 1 to an object that exports nothing.
	end int
}

func (t *gnuTable) bloomWord(i uint32) uint64 { return le.Uint64(t.filter[8*i:]) }

// bloomBits gives the word of the bloom filter for a hash, and the two bits that are set in it.
func (h gnuHead) bloomBits(hash uint32) (word uint32, mask uint64) {
	return hash / 64 & (h.bloom - 1), 1<<(hash%64) | 1<<(uint64(hash)>>h.shift%64)
}

func (t *gnuTable) walk(name string, steps *int, visit func(int) bool) {
	hash := gnuHash(name)
	word, mask := t.bloomBits(hash)
	if t.bloomWord(word)&mask != mask {
		return
	}
	i := le.Uint32(t.heads[4*(hash%t.buckets):])
	if i < t.offset { // 0: empty
		return
	}
	for ; int(i) < t.end && *steps > 0; i++ {
		*steps--
		w := le.Uint32(t.chain[4*(i-t.offset):])
		if (w^hash)>>1 == 0 && visit(int(i)) {
			return
		}
		if w&1 != 0 {
			return
		}
	}
}

func (im *image) loadGNU(addr uint64, h gnuHead) (*gnuTable, error) {
	t := &gnuTable{gnuHead: h, end: int(h.offset)}
	var err error
	if t.filter, err = im.readAddr(addr+gnuHeadSize, 8*uint64(h.bloom), gnuWhat); err != nil {
		return nil, err
	}
	if t.heads, err = im.readAddr(h.bucketsAt(addr), 4*uint64(h.buckets), gnuWhat); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(t.heads, func(b byte) bool { return b != 0 }) {
		t.end = len(im.symbols)
	}
	if hashed := t.end - int(h.offset); hashed > 0 {
		t.chain, err = im.readAddr(h.chainAt(addr), 4*uint64(hashed), gnuWhat)
	}
	return t, err
}

// size gives the size of the table in the file.
func (t *gnuTable) size() uint64 {
	return gnuHeadSize + uint64(len(t.filter)+len(t.heads)+len(t.chain))
}

// exactBloom says whether the filter has the bits of the hashed names and no others.
func (t *gnuTable) exactBloom(symbols []symbol) bool {
	want := make([]uint64, t.bloom)
	for i := int(t.offset); i < t.end; i++ {
		word, mask := t.bloomBits(gnuHash(symbols[i].name))
		want[word] |= mask
	}
	for i, w := range want {
		if t.bloomWord(uint32(i)) != w {
			return false
		}
	}
	return true
}

func (c *comparison) gnuTables(k *Check, sAddr, eAddr uint64) (lookupTable, lookupTable, error) {
	head, err := c.stock.readGNUHead(sAddr)
	if err != nil {
		return nil, nil, err
	}
	if h, err := c.edited.readGNUHead(eAddr); err != nil || h != head {
		k.finding("DT_GNU_HASH: the header is %+v, stock has %+v", h, head)
		return nil, nil, nil
	}
	s, err := c.stock.loadGNU(sAddr, head)
	if err != nil {
		return nil, nil, err
	}
	e, err := c.edited.loadGNU(eAddr, head)
	if err != nil {
		return nil, nil, err
	}
	c.gnuStructure(k, e)
	// More bits than needed do no harm to a lookup. But they are bytes that nobody asked for, so they are accepted only
	// where stock has such bits too.
	if s.exactBloom(c.stock.symbols) && !e.exactBloom(c.edited.symbols) {
		k.finding("DT_GNU_HASH: the bloom filter is not that of the hashed names")
	}
	return s, e, nil
}

// gnuStructure checks that each bucket covers exactly its own symbols, in one run that ends where the next bucket's
// begins. Given the order of the symbols this leaves no bit of buckets and chain free.
func (c *comparison) gnuStructure(k *Check, t *gnuTable) {
	symbols := c.edited.symbols
	heads := make([]uint32, t.buckets)
	bucket := func(i int) uint32 { return gnuHash(symbols[i].name) % t.buckets }
	hashedInStock := map[int32]bool{}
	for i := int(t.offset); i < min(t.end, len(c.stockClass)); i++ {
		hashedInStock[c.stockClass[i]] = true
	}
	for i := int(t.offset); i < t.end; i++ {
		y := symbols[i]
		hash := gnuHash(y.name)
		b := hash % t.buckets
		if heads[b] == 0 {
			heads[b] = uint32(i)
		}
		want := hash &^ 1
		if i+1 == t.end || bucket(i+1) != b {
			want |= 1
		}
		if w := le.Uint32(t.chain[4*(i-int(t.offset)):]); w != want {
			k.finding("DT_GNU_HASH: the chain word of symbol %d (%q) is %#x, it should be %#x", i, y.name, w, want)
		}
		if i > int(t.offset) && bucket(i-1) != b && heads[b] != uint32(i) {
			k.finding("DT_GNU_HASH: symbol %d (%q) is not next to the other symbols of bucket %d", i, y.name, b)
		}
		if !y.defined() && y.value == 0 && !hashedInStock[c.editedClass[i]] {
			k.finding("DT_GNU_HASH: the undefined symbol %d (%q) is hashed, in stock it is not", i, y.name)
		}
	}
	for b, want := range heads {
		k.Compared++
		if w := le.Uint32(t.heads[4*b:]); w != want {
			k.finding("DT_GNU_HASH: bucket %d starts at symbol %d, it should start at %d", b, w, want)
		}
	}
}

const sysvWhat = "hash table (DT_HASH)"

// sysvTable is DT_HASH in memory.
type sysvTable struct {
	buckets uint32
	heads   []byte
	chain   []byte
}

func (t *sysvTable) next(i uint32) uint32 { return le.Uint32(t.chain[4*i:]) }

func (t *sysvTable) walk(name string, steps *int, visit func(int) bool) {
	n := len(t.chain) / 4
	i := le.Uint32(t.heads[4*(sysvHash(name)%t.buckets):])
	for left := n; i != 0 && int(i) < n && left > 0 && *steps > 0; left-- { // left: a chain may be a circle
		*steps--
		if visit(int(i)) {
			return
		}
		i = t.next(i)
	}
}

func (im *image) loadSysV(addr uint64) (*sysvTable, error) {
	s, err := im.locate(addr, 8, sysvWhat)
	if err != nil {
		return nil, err
	}
	b, err := im.read(s.off, s.size, sysvWhat)
	if err != nil {
		return nil, err
	}
	t := &sysvTable{buckets: le.Uint32(b)}
	if t.buckets == 0 {
		return nil, im.failure(s.off, sysvWhat, errors.New("no buckets"))
	}
	if n := le.Uint32(b[4:]); uint64(n) != uint64(len(im.symbols)) {
		return nil, im.failure(s.off, sysvWhat, fmt.Errorf("%d chain words for %d symbols", n, len(im.symbols)))
	}
	if t.heads, err = im.readAddr(addr+8, 4*uint64(t.buckets), sysvWhat); err != nil {
		return nil, err
	}
	t.chain, err = im.readAddr(addr+8+4*uint64(t.buckets), 4*uint64(len(im.symbols)), sysvWhat)
	return t, err
}

func (t *sysvTable) size() uint64 { return 8 + uint64(len(t.heads)+len(t.chain)) }

// reached walks all chains and says which symbols they hold. wrong is called for what a lookup would stumble over.
func (t *sysvTable) reached(symbols []symbol, wrong func(format string, args ...any)) []bool {
	seen := make([]bool, len(symbols))
	for b := range t.buckets {
		for i := le.Uint32(t.heads[4*b:]); i != 0; i = t.next(i) {
			if int(i) >= len(symbols) {
				wrong("DT_HASH: bucket %d leads to symbol %d of %d", b, i, len(symbols))
				break
			}
			if seen[i] {
				wrong("DT_HASH: bucket %d leads to symbol %d, which was reached before", b, i)
				break
			}
			seen[i] = true
			if sysvHash(symbols[i].name)%t.buckets != b {
				wrong("DT_HASH: symbol %d (%q) is in bucket %d, which is not its own", i, symbols[i].name, b)
			}
		}
	}
	return seen
}

func (c *comparison) sysvTables(k *Check, sAddr, eAddr uint64) (lookupTable, lookupTable, error) {
	s, err := c.stock.loadSysV(sAddr)
	if err != nil {
		return nil, nil, err
	}
	e, err := c.edited.loadSysV(eAddr)
	if err != nil {
		k.finding("DT_HASH: %v", err)
		return nil, nil, nil
	}
	if s.buckets != e.buckets {
		k.finding("DT_HASH: %d buckets, stock has %d", e.buckets, s.buckets)
		return nil, nil, nil
	}
	inStock := map[int32]int{}
	for i, seen := range s.reached(c.stock.symbols, func(string, ...any) {}) {
		if seen {
			inStock[c.stockClass[i]]++
		}
	}
	for i, seen := range e.reached(c.edited.symbols, k.finding) {
		id := c.editedClass[i]
		switch {
		case seen && inStock[id] > 0:
			inStock[id]--
		case seen:
			k.finding("DT_HASH: symbol %d (%q) is hashed, in stock it is not", i, c.edited.symbols[i].name)
		case inStock[id] > 0:
			k.finding("DT_HASH: symbol %d (%q) is in no bucket, in stock it is", i, c.edited.symbols[i].name)
		case e.next(uint32(i)) != 0:
			k.finding("DT_HASH: symbol %d is in no bucket and yet has the chain word %d", i, e.next(uint32(i)))
		}
	}
	return s, e, nil
}
