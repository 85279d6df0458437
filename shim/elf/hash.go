package elf

// sysvHash is the hash function of DT_HASH and of version names (gABI, "Hash
// Table"; LSB, "Symbol Versioning").
func sysvHash(name []byte) uint32 {
	h := uint32(0)
	for _, c := range name {
		h = h<<4 + uint32(c)
		g := h & 0xf0000000
		h ^= g >> 24
		h &^= g
	}
	return h
}

// gnuHash is the hash function of DT_GNU_HASH (glibc, elf/dl-lookup.c and
// sysdeps/generic/dl-new-hash.h: h = h*33 + c from 5381).
func gnuHash(name []byte) uint32 {
	h := uint32(5381)
	for _, c := range name {
		h = h*33 + uint32(c)
	}
	return h
}

// gnuTable is DT_GNU_HASH. Its layout, as glibc's loader reads it
// (_dl_setup_hash in elf/dl-setup_hash.c):
//
//	uint32 nbuckets, symoffset, bloom_size, bloom_shift
//	uint64 bloom[bloom_size]          a power of two of words
//	uint32 buckets[nbuckets]          first symbol of the bucket, or 0
//	uint32 chain[nsyms - symoffset]   hash with bit 0 marking the bucket's end
//
// The symbols from symoffset on are those that can be found, sorted by
// hash % nbuckets.
type gnuTable struct {
	off, size  uint64 // in the file, with the chain
	nbuckets   uint32
	symoffset  uint32
	bloomSize  uint32
	bloomShift uint32
	bloom      []byte
	buckets    []uint32
	chain      []uint32
}

const gnuHashHeader = 16

func readGNUTable(im *image, vaddr uint64) (*gnuTable, error) {
	const what = ".gnu.hash"
	off, err := im.fileRange(vaddr, gnuHashHeader, what)
	if err != nil {
		return nil, err
	}
	head, err := im.bytes(off, gnuHashHeader, what)
	if err != nil {
		return nil, err
	}
	t := &gnuTable{
		off: off, nbuckets: le.Uint32(head), symoffset: le.Uint32(head[4:]),
		bloomSize: le.Uint32(head[8:]), bloomShift: le.Uint32(head[12:]),
	}
	if t.nbuckets == 0 {
		return nil, im.errorf(off, what, "has no buckets: the file is corrupt")
	}
	if t.bloomSize == 0 || t.bloomSize&(t.bloomSize-1) != 0 {
		return nil, im.errorf(off+8, what, "the Bloom filter has %d words, which is not a power of two", t.bloomSize)
	}
	if t.bloomShift > 31 {
		return nil, im.errorf(off+12, what, "the Bloom filter's shift %d is more than 31", t.bloomShift)
	}
	if t.symoffset == 0 {
		return nil, im.errorf(off+4, what, "symbol 0, the null symbol, cannot be in the table")
	}
	fixed := gnuHashHeader + 8*uint64(t.bloomSize) + 4*uint64(t.nbuckets)
	if _, err := im.fileRange(vaddr, fixed, what); err != nil {
		return nil, err
	}
	raw, err := im.bytes(off+gnuHashHeader, fixed-gnuHashHeader, what)
	if err != nil {
		return nil, err
	}
	t.bloom, t.buckets = raw[:8*uint64(t.bloomSize)], uint32s(raw[8*uint64(t.bloomSize):])

	var last uint32
	for i, b := range t.buckets {
		if b != 0 && b < t.symoffset {
			return nil, im.errorf(off+fixed-4*uint64(int(t.nbuckets)-i), what, "bucket %d begins at symbol %d, below the first hashed symbol %d", i, b, t.symoffset)
		}
		last = max(last, b)
	}
	if last != 0 {
		if err := t.readChain(im, vaddr, off+fixed, uint64(last-t.symoffset)); err != nil {
			return nil, err
		}
	}
	t.size = fixed + 4*uint64(len(t.chain))
	im.claims.add(off, t.size, what)
	return t, nil
}

// readChain reads the chain: known are the index of the last bucket's first
// symbol, and that this bucket, and so the chain, ends at a word with bit 0.
func (t *gnuTable) readChain(im *image, tableAddr, chainOff, lastBucket uint64) error {
	const what = ".gnu.hash"
	const step = 1 << 12 // words
	chainAddr := tableAddr + (chainOff - t.off)
	// Words that follow in the same segment; the chain cannot be longer.
	avail := uint64(0)
	for i := range im.loads {
		if s := &im.loads[i]; chainOff >= s.Off && chainOff < s.fileEnd() {
			avail = (s.fileEnd() - chainOff) / 4
		}
	}
	avail = min(avail, maxTableSize/4)
	for have := uint64(0); have < avail; {
		n := min(avail-have, max(step, lastBucket+1-min(have, lastBucket+1)))
		if _, err := im.fileRange(chainAddr+4*have, 4*n, what); err != nil {
			return err
		}
		raw, err := im.bytes(chainOff+4*have, 4*n, what)
		if err != nil {
			return err
		}
		t.chain = append(t.chain, uint32s(raw)...)
		for i := max(have, lastBucket); i < have+n; i++ {
			if t.chain[i]&1 != 0 {
				t.chain = t.chain[:i+1]
				return nil
			}
		}
		have += n
	}
	return im.errorf(chainOff, what, "the chain from symbol %d on does not end in its segment: the file is truncated or corrupt", uint64(t.symoffset)+lastBucket)
}

// hashed is the number of symbols in the table.
func (t *gnuTable) hashed() uint32 { return uint32(len(t.chain)) }

// order sorts the table's symbols, given their hashes, by bucket: element i
// of the result is the old position (0 for symoffset) of new position i. It
// is stable, so that symbols of one name keep their order.
func (t *gnuTable) order(hashes []uint32) []uint32 {
	next := make([]uint32, t.nbuckets+1)
	for _, h := range hashes {
		next[h%t.nbuckets+1]++
	}
	for b := range t.nbuckets {
		next[b+1] += next[b]
	}
	order := make([]uint32, len(hashes))
	for old, h := range hashes {
		b := h % t.nbuckets
		order[next[b]] = uint32(old)
		next[b]++
	}
	return order
}

// fill is the Bloom filter, the buckets and the chain for symbols with these
// hashes, sorted by bucket.
func (t *gnuTable) fill(hashes []uint32) (bloom []uint64, buckets, chain []uint32) {
	bloom = make([]uint64, t.bloomSize)
	buckets = make([]uint32, t.nbuckets)
	chain = make([]uint32, len(hashes))
	for i, h := range hashes {
		bloom[h/64&(t.bloomSize-1)] |= 1<<(h%64) | 1<<(h>>t.bloomShift%64)
		b := h % t.nbuckets
		if buckets[b] == 0 {
			buckets[b] = t.symoffset + uint32(i)
		}
		chain[i] = h &^ 1
		if i+1 == len(hashes) || hashes[i+1]%t.nbuckets != b {
			chain[i] |= 1
		}
	}
	return bloom, buckets, chain
}

// check compares the table with its symbols' hashes. The Bloom filter may have
// more bits than it needs, which costs lookups time and no result.
func (t *gnuTable) check(im *image, hashes []uint32) error {
	const what = ".gnu.hash"
	bloom, buckets, chain := t.fill(hashes)
	for i, want := range bloom {
		if got := le.Uint64(t.bloom[8*i:]); got&want != want {
			return im.errorf(t.off+gnuHashHeader+8*uint64(i), what, "word %d of the Bloom filter is %#x and hides a symbol, the names want %#x: the file is corrupt", i, got, want)
		}
	}
	for i := range chain {
		if chain[i] != t.chain[i] {
			return im.errorf(t.off+t.size-4*uint64(len(chain)-i), what, "the chain word of symbol %d is %#x, its name and place want %#x: the file is corrupt", uint64(t.symoffset)+uint64(i), t.chain[i], chain[i])
		}
	}
	for i := range buckets {
		if buckets[i] != t.buckets[i] {
			return im.errorf(t.off+t.size-4*uint64(len(chain)+len(buckets)-i), what, "bucket %d begins at symbol %d, the names want %d: the file is corrupt", i, t.buckets[i], buckets[i])
		}
	}
	return nil
}

// encode is the table's content behind its header.
func (t *gnuTable) encode(hashes []uint32) []byte {
	bloom, buckets, chain := t.fill(hashes)
	b := make([]byte, 0, t.size-gnuHashHeader)
	for _, w := range bloom {
		b = le.AppendUint64(b, w)
	}
	for _, w := range buckets {
		b = le.AppendUint32(b, w)
	}
	for _, w := range chain {
		b = le.AppendUint32(b, w)
	}
	return b
}

// sysvTable is DT_HASH (gABI, "Hash Table"): words nbucket, nchain,
// bucket[nbucket], chain[nchain], linked by symbol index, 0 ending a chain.
type sysvTable struct {
	off     uint64
	buckets []uint32
	chain   []uint32
}

func readSysvTable(im *image, vaddr uint64) (*sysvTable, error) {
	const what = ".hash"
	off, err := im.fileRange(vaddr, 8, what)
	if err != nil {
		return nil, err
	}
	head, err := im.bytes(off, 8, what)
	if err != nil {
		return nil, err
	}
	nbucket, nchain := uint64(le.Uint32(head)), uint64(le.Uint32(head[4:]))
	if nbucket == 0 {
		return nil, im.errorf(off, what, "has no buckets: the file is corrupt")
	}
	t, err := im.table(vaddr, 4*(2+nbucket+nchain), what)
	if err != nil {
		return nil, err
	}
	words := uint32s(t.data)
	return &sysvTable{off: off, buckets: words[2 : 2+nbucket], chain: words[2+nbucket:]}, nil
}

// sequence is the table's symbols in the order of lookup, bucket by bucket.
// It fails when a chain leaves the table, meets itself, or holds a symbol
// that hash says belongs elsewhere.
func (t *sysvTable) sequence(im *image, hash func(sym uint32) uint32) ([]uint32, error) {
	const what = ".hash"
	seen := make([]bool, len(t.chain))
	var seq []uint32
	for b, sym := range t.buckets {
		for sym != 0 { // STN_UNDEF
			at := t.off + 8 + 4*uint64(b)
			switch {
			case int(sym) >= len(t.chain):
				return nil, im.errorf(at, what, "bucket %d leads to symbol %d of %d: the file is corrupt", b, sym, len(t.chain))
			case seen[sym]:
				return nil, im.errorf(at, what, "bucket %d leads to symbol %d a second time: the file is corrupt", b, sym)
			case int(hash(sym)%uint32(len(t.buckets))) != b:
				return nil, im.errorf(at, what, "bucket %d holds symbol %d, whose name belongs into another: the file is corrupt", b, sym)
			}
			seen[sym] = true
			seq = append(seq, sym)
			sym = t.chain[sym]
		}
	}
	return seq, nil
}

// encode is the table's content behind its header for the symbols in seq,
// which are appended to their chains in this order: symbols of one name, the
// versions, keep theirs.
func (t *sysvTable) encode(seq []uint32, hash func(sym uint32) uint32) []byte {
	n := uint32(len(t.buckets))
	words := make([]uint32, len(t.buckets)+len(t.chain))
	tail := make([]uint32, n) // the word that the next symbol of a bucket goes into
	for b := range tail {
		tail[b] = uint32(b)
	}
	for _, sym := range seq {
		b := hash(sym) % n
		words[tail[b]] = sym
		tail[b] = n + sym
	}
	raw := make([]byte, 0, 4*len(words))
	for _, w := range words {
		raw = le.AppendUint32(raw, w)
	}
	return raw
}

func uint32s(raw []byte) []uint32 {
	w := make([]uint32, len(raw)/4)
	for i := range w {
		w[i] = le.Uint32(raw[4*i:])
	}
	return w
}
