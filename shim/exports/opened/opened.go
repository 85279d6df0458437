// Package opened finds the files that a library may open while it runs and that its dynamic section does not name.
//
// The result is evidence, not proof. A shared library's name that stands as a whole, NUL-terminated string in the
// read-only part of the image is a candidate for dlopen. A name that is put together at run time is not found, nor is one
// that the linker merged into the end of a longer constant; and a string need not be used. Libraries that carry .note.dlopen (UAPI group, "ELF Metadata: dlopen") state the names
// themselves. Each finding says which of the two it is.
//
// The scan streams the file: memory does not grow with it.
package opened

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"

	"example.com/miopen_hipdnn_shim/shim/exports/dynobj"
)

// Evidence says how a name was found.
type Evidence string

// The kinds of evidence.
const (
	EvidenceNote   Evidence = "note.dlopen" // the library's own statement
	EvidenceString Evidence = "string"      // a string constant that has the form of a shared library's name
)

// File is a file that may be opened at run time.
type File struct {
	Name     string   `json:"name"` // a SONAME, or a path when the string holds one
	Evidence Evidence `json:"evidence"`
}

// DatabaseVariable is the environment variable that overrides the folder of MIOpen's system databases. A library in
// which the name occurs looks for that folder.
const DatabaseVariable = "MIOPEN_SYSTEM_DB_PATH"

// Report is what a library may open beyond its NEEDED entries.
type Report struct {
	Libraries []File // sorted by name, without the library's own SONAME and its NEEDED entries
	// SystemDatabase says that the library looks for MIOpen's system databases: in ../share/miopen/db as seen from the
	// real folder of the file that defines miopenCreate, which after a split is the private library, unless
	// DatabaseVariable is set.
	SystemDatabase bool
	// DatabaseFolders are the absolute folders of such databases that were compiled in, sorted.
	DatabaseFolders []string
}

var (
	libraryName    = regexp.MustCompile(`^(?:[A-Za-z0-9_./+-]*/)?lib[A-Za-z0-9_.+-]+\.so(?:\.[0-9]+)*$`)
	databaseFolder = regexp.MustCompile(`^/[A-Za-z0-9_./+-]*/miopen/db/?$`)
)

// ScanFile scans the library at path.
func ScanFile(path string) (Report, error) {
	o, err := dynobj.Open(path)
	if err != nil {
		return Report{}, err
	}
	defer o.Close()
	return Scan(o)
}

// Scan reads all segments that are not writable, and the notes.
func Scan(o *dynobj.Object) (Report, error) {
	var r Report
	found := map[string]Evidence{}
	if err := scanNotes(o, found); err != nil {
		return Report{}, err
	}
	known := map[string]bool{o.SONAME: true}
	for _, n := range o.Needed {
		known[n] = true
	}
	for _, seg := range o.Segments {
		if seg.Type != elf.PT_LOAD || seg.Flags&elf.PF_W != 0 {
			continue
		}
		err := eachString(o.ReadSegment(seg), func(s string) {
			switch {
			case s == DatabaseVariable:
				r.SystemDatabase = true
			case databaseFolder.MatchString(s):
				if !slices.Contains(r.DatabaseFolders, s) {
					r.DatabaseFolders = append(r.DatabaseFolders, s)
				}
			case libraryName.MatchString(s) && !known[s] && found[s] == "":
				found[s] = EvidenceString
			}
		})
		if err != nil {
			return Report{}, err
		}
	}
	for name, evidence := range found {
		r.Libraries = append(r.Libraries, File{Name: name, Evidence: evidence})
	}
	slices.SortFunc(r.Libraries, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(r.DatabaseFolders)
	return r, nil
}

// noteDlopen is the note type of .note.dlopen; its owner is "FDO".
const noteDlopen = 0x407c0c0a

func scanNotes(o *dynobj.Object, found map[string]Evidence) error {
	notes, err := o.Notes()
	if err != nil {
		return err
	}
	for _, n := range notes {
		if n.Owner != "FDO" || n.Type != noteDlopen {
			continue
		}
		var entries []struct {
			SONAME []string `json:"soname"`
		}
		desc := bytes.TrimRight(n.Desc, "\x00")
		if err := json.Unmarshal(desc, &entries); err != nil {
			return &dynobj.FormatError{Path: o.Path, Structure: ".note.dlopen", Offset: -1, Reason: err.Error()}
		}
		for _, e := range entries {
			for _, name := range e.SONAME {
				found[name] = EvidenceNote
			}
		}
	}
	return nil
}

const (
	chunkSize = 1 << 20
	// maxString bounds the strings that are looked at. Longer ones are no file names (PATH_MAX).
	maxString = 4096
)

// needles are texts of which every string that Scan looks for holds one.
var needles = [][]byte{[]byte(".so"), []byte("miopen/db"), []byte(DatabaseVariable)}

// eachString calls f for every NUL-terminated string that starts at the beginning of r or after a NUL and holds one of
// needles. It searches for the needles rather than for strings, because most of a library is neither.
func eachString(r io.Reader, f func(string)) error {
	buf := make([]byte, 0, chunkSize+maxString+1)
	first := true // buf[0] is the first byte of r
	for {
		n, err := io.ReadFull(r, buf[len(buf):len(buf)+chunkSize])
		buf = buf[:len(buf)+n]
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		// Strings that begin at limit or after it may go on in the next chunk, and are handled then.
		limit := len(buf)
		if !last {
			limit -= maxString
		}
		for _, needle := range needles {
			for pos := 0; ; pos += len(needle) {
				i := bytes.Index(buf[pos:], needle)
				if i < 0 {
					break
				}
				pos += i
				if start, end, ok := enclosing(buf, pos, first); ok && start < limit {
					f(string(buf[start:end]))
				}
			}
		}
		if last {
			return nil
		}
		// The byte before limit stays too: it tells whether a string starts at limit.
		buf = buf[:copy(buf, buf[limit-1:])]
		first = false
	}
}

// enclosing returns the bounds of the NUL-terminated string around buf[pos], when both its ends are in buf and it is
// not longer than maxString.
func enclosing(buf []byte, pos int, first bool) (start, end int, ok bool) {
	low := max(0, pos-maxString)
	start = low + bytes.LastIndexByte(buf[low:pos], 0) + 1
	if buf[max(0, start-1)] != 0 && !(start == 0 && first) {
		return 0, 0, false
	}
	n := bytes.IndexByte(buf[pos:min(len(buf), pos+maxString)], 0)
	if n < 0 {
		return 0, 0, false
	}
	return start, pos + n, true
}
