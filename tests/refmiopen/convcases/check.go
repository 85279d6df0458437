package convcases

import (
	"bytes"
	"fmt"
	"slices"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// Check compares a successful case's result with the oracle. It returns nil when the output lengths
// are right, every element is within the oracle's tolerance and the gaps between the elements are
// as they were.
func (c *Case) Check(r Result) error {
	if r.Name != c.Name {
		return fmt.Errorf("case %s got the result of %s", c.Name, r.Name)
	}
	if r.Status != 0 {
		return fmt.Errorf("case %s: %s gave status %d", c.Name, r.Function, r.Status)
	}
	if !slices.Equal(r.Output, c.Y.Lengths) {
		return fmt.Errorf("case %s: the library says the output is %v, it is %v", c.Name, r.Output, c.Y.Lengths)
	}
	want, err := c.Convolution.Forward(c.Operands)
	if err != nil {
		return fmt.Errorf("case %s: %w", c.Name, err)
	}
	wrong, err := oracle.Compare(c.X.Type, c.Y, r.Y, want)
	if err != nil {
		return fmt.Errorf("case %s: %w", c.Name, err)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("case %s: %d of %d elements are wrong, the first: %v", c.Name, len(wrong), len(want), wrong[0])
	}
	return c.checkGaps(r)
}

func (c *Case) checkGaps(r Result) error {
	if len(r.Y) != len(c.YData) {
		return fmt.Errorf("case %s: y has %d bytes, had %d", c.Name, len(r.Y), len(c.YData))
	}
	before, after := bytes.Clone(c.YData), bytes.Clone(r.Y)
	size := c.Y.Type.Size()
	c.Y.Each(func(_ []int, offset int) {
		clear(before[offset : offset+size])
		clear(after[offset : offset+size])
	})
	for i := range before {
		if before[i] != after[i] {
			return fmt.Errorf("case %s: byte %d of y lies between the elements and was written", c.Name, i)
		}
	}
	return nil
}
