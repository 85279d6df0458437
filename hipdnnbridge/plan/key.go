package plan

import (
	"bytes"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// MaxKey is the number of bytes that a key can hold.
const MaxKey = 512

// Key identifies a plan: the problem's bytes and whatever else a plan depends on. Two keys are the
// same if all their bytes are. A key is a value without pointers; passing one by reference and
// building one allocate nothing. The zero value is the empty key.
type Key struct {
	hash  uint64
	used  int
	bytes [MaxKey]byte
}

// Set makes the key from its parts, one after the other: raw bytes of a problem, a device's uuid, a
// digest. The parts of all keys of a cache must have the same lengths in the same order, or nothing
// tells where one ends. It is an error if they are more than MaxKey bytes; the key is then empty.
func (k *Key) Set(parts ...[]byte) error {
	used := 0
	for _, part := range parts {
		if len(part) > MaxKey-used {
			total := 0
			for _, p := range parts {
				total += len(p)
			}
			*k = Key{}
			return fmt.Errorf("plan: a key of %d bytes, at most %d fit", total, MaxKey)
		}
		used += copy(k.bytes[used:], part)
	}
	if used < k.used { // keys are compared as values too
		clear(k.bytes[used:k.used])
	}
	k.used = used
	k.hash = hashOf(k.bytes[:used])
	return nil
}

// Bytes returns the key's bytes, which are not to be changed.
func (k *Key) Bytes() []byte { return k.bytes[:k.used] }

func hashOf(key []byte) uint64 { return xxhash.Sum64(key) }

// is reports whether a key has these bytes, whose hash is given.
func (k *Key) is(hash uint64, key []byte) bool {
	return k.hash == hash && bytes.Equal(k.Bytes(), key)
}
