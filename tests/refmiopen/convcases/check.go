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
	wrong, err := c.compare(r)
	if err != nil {
		return fmt.Errorf("case %s: %w", c.Name, err)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("case %s: %d elements are wrong, the first: %v", c.Name, len(wrong), wrong[0])
	}
	return c.checkGaps(r)
}

func (c *Case) compare(r Result) ([]oracle.Mismatch, error) {
	if f := c.Fusion; f != nil {
		activation, err := f.Activation.function()
		if err != nil {
			return nil, err
		}
		bounds, err := c.Convolution.Fused(c.Operands, oracle.Epilogue{
			Bias: f.Bias, BiasData: f.BiasData, Add: f.Add, AddData: f.AddData, AddScale: f.AddScale, Activation: activation,
		})
		if err != nil {
			return nil, err
		}
		return oracle.CompareBounds(c.Y, r.Y, bounds)
	}
	direction, operands := c.computation()
	want, err := c.Convolution.Compute(direction, operands)
	if err != nil {
		return nil, err
	}
	result, _ := operands.Result(direction)
	return oracle.Compare(c.X.Type, result, r.Y, want)
}

func (c *Case) checkGaps(r Result) error {
	result, data := c.Result(c.Direction)
	if len(r.Y) != len(data) {
		return fmt.Errorf("case %s: the result has %d bytes, had %d", c.Name, len(r.Y), len(data))
	}
	before, after := bytes.Clone(data), bytes.Clone(r.Y)
	size := result.Type.Size()
	result.Each(func(_ []int, offset int) {
		clear(before[offset : offset+size])
		clear(after[offset : offset+size])
	})
	for i := range before {
		if before[i] != after[i] {
			return fmt.Errorf("case %s: byte %d of the result lies between the elements and was written", c.Name, i)
		}
	}
	return nil
}
