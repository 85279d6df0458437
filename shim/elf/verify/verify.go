// Package verify proves that an edited ELF64 shared object differs from its stock original only where it was asked to.
//
// It is the oracle for the rewriter of dynamic symbol names, SONAME, RUNPATH and NEEDED. For that it must stay
// independent: it knows what a loader reads (program headers, .dynamic and the tables that .dynamic names), it knows the
// closed list of places where an edit may change bytes, and it must not know, import or imitate how the rewriter gets
// there. Both files are read through their PT_DYNAMIC; section headers are compared where they exist and are never
// needed to understand a file.
//
// Supported: little-endian ELF64 ET_DYN for x86-64 with DT_HASH and/or DT_GNU_HASH, with or without symbol versions, with
// RELA, REL and RELR relocations, with or without section headers. Anything else is a [ReadError].
//
// Both inputs may be hostile. Every table is bounds-checked against the file, loops are bounded by the size of the file,
// and memory is bounded by the dynamic tables: the rest of both files is streamed.
package verify

import (
	"cmp"
	"fmt"
)

// Expect is what was asked of the rewriter.
type Expect struct {
	// Rename maps the old name of a defined dynamic symbol to its new one, for every version of that name. An undefined
	// symbol of the same name belongs to another library and keeps its name.
	Rename map[string]string
	// SONAME is the wanted DT_SONAME. "" means: as stock.
	SONAME string
	// RunPath is the wanted DT_RUNPATH, in place of DT_RUNPATH and DT_RPATH. nil means: both as stock; "" means: neither.
	RunPath *string
	// Needed maps a DT_NEEDED name of the stock file to its replacement, which the version needs' file names follow.
	Needed map[string]string
	// AddNeeded lists DT_NEEDED names that follow the stock ones, in this order. A name that is there already is not
	// added again.
	AddNeeded []string
}

// The names of the checks, in the order in which a [Report] lists them.
const (
	CheckHeaders     = "headers"         // ELF header and program headers
	CheckSymbols     = "dynamic symbols" // the symbol table as a multiset under the rename
	CheckHash        = "hash tables"     // every lookup through every hash table
	CheckRelocations = "relocations"     // RELA, REL, JMPREL and RELR
	CheckVersions    = "versions"        // verdef and verneed
	CheckDynamic     = "dynamic section" // entries of .dynamic and the string table they name
	CheckNotes       = "notes"           // PT_NOTE, build-id among them
	CheckBytes       = "bytes"           // every byte outside the closed list of ranges that may change
	CheckSections    = "sections"        // section headers
	CheckIdentity    = "identity"        // SONAME, RUNPATH and NEEDED as wanted
)

// checkOrder lists every check of a report, and whether a library may lack what the check looks at.
var checkOrder = []struct {
	name     string
	optional bool
}{
	{CheckHeaders, false},
	{CheckSymbols, false},
	{CheckHash, false},
	{CheckRelocations, true},
	{CheckVersions, true},
	{CheckDynamic, false},
	{CheckNotes, true},
	{CheckBytes, false},
	{CheckSections, true},
	{CheckIdentity, false},
}

// maxFindings bounds the findings that one check lists. One wrong table makes thousands of equal sentences.
const maxFindings = 20

// Check is the outcome of one check.
type Check struct {
	// Name is one of the Check constants.
	Name string
	// Compared counts what was compared: program headers, symbols, lookups, relocations, version nodes, entries, notes,
	// bytes or sections. A check that compared nothing proves nothing.
	Compared int
	// Findings are the differences that were not asked for, at most 20. Where there are more, one last line says how
	// many.
	Findings []string
	// Total counts all findings, those that are not listed included.
	Total int
	// Absent says that neither file has what the check looks at (no relocations, no version tables, no notes, no
	// section headers), so that nothing could be compared and nothing is lost.
	Absent bool
}

func (c *Check) finding(format string, args ...any) {
	c.Total++
	if c.Total <= maxFindings {
		c.Findings = append(c.Findings, fmt.Sprintf(format, args...))
	}
}

// seal adds the line that stands for the findings that are not listed.
func (c Check) seal() Check {
	if more := c.Total - len(c.Findings); more > 0 {
		c.Findings = append(c.Findings, fmt.Sprintf("and %d more, %d in all", more, c.Total))
	}
	return c
}

// Report is the outcome of all checks.
type Report struct {
	Checks []Check
}

// Clean says that all checks ran, that each of them compared something unless neither file has what it looks at, and
// that none found anything. The zero Report is not clean.
func (r Report) Clean() bool {
	if len(r.Checks) != len(checkOrder) {
		return false
	}
	for i, c := range r.Checks {
		want := checkOrder[i]
		switch {
		case c.Name != want.name, c.Total != 0, len(c.Findings) != 0:
			return false
		case c.Compared == 0 && !(c.Absent && want.optional):
			return false
		}
	}
	return true
}

// ReadError says that a file cannot be read as an ELF64 little-endian x86-64 shared object, so that there is nothing to
// compare.
type ReadError struct {
	File      string // path as it was given
	Offset    uint64 // file offset of the structure, in bytes
	Structure string // what was being read
	Err       error  // what is wrong with it
}

// Error names the file, the structure, its offset and what is wrong.
func (e *ReadError) Error() string {
	return fmt.Sprintf("%s: %s at file offset %#x: %v", e.File, e.Structure, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// comparison is what all checks look at.
type comparison struct {
	stock, edited *image
	want          Expect
	layout        layout
	maxSteps      int // bounds the lookups through one hash table
	// stockClass and editedClass give symbols that are equal under the rename the same number, by symbol index. A
	// symbol of the edited file that has no counterpart has class noClass.
	stockClass, editedClass []int32
	defined                 map[string]bool // names that stock defines
	newNames                map[string]bool // what an edit may add to the string table
}

const noClass = -1

// Files compares an edited shared object with the stock one it was made from. Differences that were not asked for are
// findings of the report. The error is a *[ReadError], and is not nil only when one of the files cannot be read as an
// ELF64 little-endian x86-64 shared object.
func Files(stock, edited string, want Expect) (Report, error) {
	s, err := openImage(stock)
	if err != nil {
		return Report{}, err
	}
	defer s.close()
	e, err := openImage(edited)
	if err != nil {
		return Report{}, err
	}
	defer e.close()
	return compare(s, e, want)
}

func compare(s, e *image, want Expect) (Report, error) {
	c, err := newComparison(s, e, want)
	if err != nil {
		return Report{}, err
	}
	return c.run()
}

// newComparison reads what more than one check needs.
func newComparison(s, e *image, want Expect) (*comparison, error) {
	count, err := s.countSymbols()
	if err != nil {
		return nil, err
	}
	if err := s.loadSymbols(count); err != nil {
		return nil, err
	}
	if len(s.badNames) != 0 {
		return nil, s.failure(s.symtab.off, "dynamic symbol table", fmt.Errorf(
			"the name of symbol %d lies outside DT_STRTAB", s.badNames[0]))
	}
	// The edited file must have the symbols of the stock one, so its own idea of their number (which a broken hash table
	// spoils) is the hash check's business.
	if err := e.loadSymbols(count); err != nil {
		return nil, err
	}
	s.loadVersions()
	e.loadVersions()
	s.loadSections()
	e.loadSections()

	c := &comparison{stock: s, edited: e, want: want, maxSteps: maxSteps}
	c.layout = c.findLayout()
	return c, nil
}

// run makes all checks.
func (c *comparison) run() (Report, error) {
	// The stream over all bytes takes as long as everything else together and shares nothing with it.
	type outcome struct {
		check Check
		err   error
	}
	stream := make(chan outcome, 1)
	go func() {
		check, err := c.bytes()
		stream <- outcome{check, err}
	}()

	var r Report
	var errs []error
	for _, f := range []func() (Check, error){
		c.headers, c.symbols, c.hashTables, c.relocations, c.versions, c.dynamic, c.notes,
		func() (Check, error) { o := <-stream; return o.check, o.err },
		c.sections, c.identity,
	} {
		check, err := f()
		errs = append(errs, err)
		r.Checks = append(r.Checks, check.seal())
	}
	if err := cmp.Or(errs...); err != nil {
		return Report{}, err
	}
	return r, nil
}
