package miopendriver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The driver's references are plain 32-bit floats, whatever the type of the problem's tensors. Their files' names end
// in the two types.
const (
	referenceSuffix = "_REFfloat"
	referenceSize   = 4
)

// NegateReferences changes the sign of every number in the references that a verified run of r left in its folder. It
// is the control of a verification that needs nothing of the device: a run that takes them now has to find that what it
// computed differs, in each direction.
//
// All numbers are changed, since the driver compares by the root of the mean square, relative to the largest number: in
// half or bfloat16 a single wrong element of a few hundred is within its tolerance.
//
// It fails unless the folder has one file for each direction, of the right length, with at least one number that is
// not 0.
func (r Request) NegateReferences() error {
	c, ok := r.Operation.(Convolution)
	if !ok || r.References == "" || !r.Verify {
		return errors.New("only a verified convolution with a folder for references leaves any")
	}
	entries, err := os.ReadDir(r.References)
	if err != nil {
		return err
	}
	prefixes := map[Directions]string{Forward: "conv_fwd_out_", BackwardData: "conv_bwd_dat_", BackwardWeights: "conv_bwd_wei_"}
	directions := r.Directions.List()
	if len(entries) != len(directions) {
		return fmt.Errorf("%s has %d references, not one for each of %v", r.References, len(entries), r.Directions)
	}
	for _, direction := range directions {
		found := false
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), prefixes[direction]) {
				found = true
				if err := negate(filepath.Join(r.References, entry.Name()), c.Results(direction)); err != nil {
					return err
				}
			}
		}
		if !found {
			return fmt.Errorf("%s has no reference %s*", r.References, prefixes[direction])
		}
	}
	return nil
}

// negate changes the signs of the count numbers in a file.
func negate(path string, count int) error {
	if !strings.HasSuffix(path, referenceSuffix) {
		return fmt.Errorf("%s: a reference of another type than %s", path, strings.TrimPrefix(referenceSuffix, "_REF"))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(data) != count*referenceSize {
		return fmt.Errorf("%s has %d bytes, the result has %d numbers of %d", path, len(data), count, referenceSize)
	}
	something := false
	for i := referenceSize - 1; i < len(data); i += referenceSize { // the last byte of a little-endian number has the sign
		something = something || data[i]&0x7f != 0
		data[i] ^= 0x80
	}
	if !something {
		return fmt.Errorf("%s has no number but 0: with its sign changed it is the same", path)
	}
	return os.WriteFile(path, data, 0o600)
}
