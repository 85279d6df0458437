package elf

import (
	"cmp"
	"slices"
)

// claim is a range of the file that holds a structure the rewriter relies on
// or may write.
type claim struct {
	off, size uint64
	what      string
}

// claims are all such ranges. Where two overlap, a write to one structure
// would change the other: no linker makes that, and a file that has it is
// declined.
type claims []claim

func (c *claims) add(off, size uint64, what string) {
	if size > 0 {
		*c = append(*c, claim{off, size, what})
	}
}

// disjoint reports an error when two claims overlap.
func (c claims) disjoint(src *source) error {
	sorted := slices.Clone(c)
	slices.SortFunc(sorted, func(a, b claim) int { return cmp.Compare(a.off, b.off) })
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; b.off < a.off+a.size {
			return src.errorf(b.off, b.what, "overlaps %s at file offset %#x (%d bytes): the file is corrupt", a.what, a.off, a.size)
		}
	}
	return nil
}

// apart reports an error when a range of kept overlaps a claim. Ranges of kept
// may overlap each other: they are only read.
func (c claims) apart(src *source, kept claims) error {
	for _, o := range kept {
		for _, a := range c {
			if o.off < a.off+a.size && a.off < o.off+o.size {
				return src.errorf(o.off, o.what, "overlaps %s at file offset %#x (%d bytes): the file is corrupt", a.what, a.off, a.size)
			}
		}
	}
	return nil
}
