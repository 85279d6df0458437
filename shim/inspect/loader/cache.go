package loader

import (
	"bytes"
	"encoding/binary"
)

// Cache is what ldconfig recorded: for a SONAME, the file.
type Cache map[string]string

const (
	cacheMagic      = "glibc-ld.so.cache1.1"
	cacheHeaderSize = 48
	cacheEntrySize  = 24
	// cacheX8664 marks a library for x86-64 and the GNU C library: FLAG_ELF_LIBC6 | FLAG_X8664_LIB64.
	cacheX8664 = 0x0303
)

// ParseCache reads the text of /etc/ld.so.cache. Both the plain form and the one behind the header of the older format are
// known. What is not understood is left out: the cache only shortens a search.
//
// Entries for particular processors are left out too; the loader would prefer them on such a processor.
func ParseCache(text []byte) Cache {
	start := bytes.Index(text, []byte(cacheMagic))
	if start < 0 || len(text)-start < cacheHeaderSize {
		return nil
	}
	text = text[start:] // the offsets of strings count from here
	count := int(binary.LittleEndian.Uint32(text[len(cacheMagic):]))
	if count > (len(text)-cacheHeaderSize)/cacheEntrySize {
		return nil
	}
	cache := Cache{}
	for i := range count {
		e := text[cacheHeaderSize+i*cacheEntrySize:]
		flags, hwcap := binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint64(e[16:])
		if flags != cacheX8664 || hwcap != 0 {
			continue
		}
		key, ok := cacheString(text, binary.LittleEndian.Uint32(e[4:]))
		value, ok2 := cacheString(text, binary.LittleEndian.Uint32(e[8:]))
		if ok && ok2 && cache[key] == "" {
			cache[key] = value
		}
	}
	return cache
}

func cacheString(text []byte, off uint32) (string, bool) {
	if uint64(off) >= uint64(len(text)) {
		return "", false
	}
	s, _, ok := bytes.Cut(text[off:], []byte{0})
	return string(s), ok
}
