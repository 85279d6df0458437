package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// A file is, all numbers little-endian:
//
//	magic        8 bytes
//	key length   uint32
//	plan length  uint32
//	key, plan
//	digest       SHA-256 of all before it
//
// The last byte of the magic is the version of this form.
const (
	magic  = "MIHDPLN\x01"
	header = len(magic) + 4 + 4
)

// MaxPlan is the largest plan that is kept, in bytes.
const MaxPlan = 64 << 20

const (
	suffix   = ".plan"
	digits   = 40                 // of a digest of the key, in a file's name
	lastLook = ".plans-looked-at" // has the time when somebody last looked through the folder
)

// fileName is where the plan of a key is kept.
func fileName(key []byte) string {
	digest := sha256.Sum256(key)
	return hex.EncodeToString(digest[:digits/2]) + suffix
}

// isPlan reports whether a file's name is one of fileName's.
func isPlan(name string) bool {
	start, ours := strings.CutSuffix(name, suffix)
	return ours && len(start) == digits && strings.Trim(start, "0123456789abcdef") == ""
}

// isUnfinished reports whether a file's name is one of unfinishedName's.
func isUnfinished(name string) bool {
	const end = 1 + digits + len(suffix)
	return len(name) > end && name[0] == '.' && isPlan(name[1:end]) && strings.Trim(name[end:], "0123456789") == ""
}

func encode(key, plan []byte) []byte {
	file := make([]byte, 0, header+len(key)+len(plan)+sha256.Size)
	file = append(file, magic...)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(key)))
	file = binary.LittleEndian.AppendUint32(file, uint32(len(plan)))
	file = append(file, key...)
	file = append(file, plan...)
	digest := sha256.Sum256(file)
	return append(file, digest[:]...)
}

// decode returns the plan in a file, which aliases it, or what is wrong with the file.
func decode(file, key []byte) ([]byte, error) {
	if len(file) < header+sha256.Size {
		return nil, fmt.Errorf("%d bytes are no plan", len(file))
	}
	if !bytes.HasPrefix(file, []byte(magic)) {
		return nil, errors.New("not a plan of this version")
	}
	keyLength := uint64(binary.LittleEndian.Uint32(file[len(magic):]))
	planLength := uint64(binary.LittleEndian.Uint32(file[len(magic)+4:]))
	if uint64(len(file)) != uint64(header)+keyLength+planLength+sha256.Size {
		return nil, fmt.Errorf("%d bytes, not those of a key of %d and a plan of %d", len(file), keyLength, planLength)
	}
	content := file[:len(file)-sha256.Size]
	if digest := sha256.Sum256(content); !bytes.Equal(digest[:], file[len(content):]) {
		return nil, errors.New("the digest is not that of the content")
	}
	if !bytes.Equal(content[header:uint64(header)+keyLength], key) {
		return nil, errors.New("the plan of another key")
	}
	return content[uint64(header)+keyLength:], nil
}
