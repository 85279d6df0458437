// Package shapes draws convolutions for MIOpenDriver.
//
// It knows what the driver and MIOpen's naive kernels accept, so that what it draws is never refused: a run without
// verdicts is then always a fault. It runs nothing.
package shapes

import (
	"math/rand/v2"
	"slices"

	"example.com/miopen_hipdnn_shim/tests/miopendriver"
)

// Features of a convolution that are drawn on purpose, as a set.
type Features uint8

// The features.
const (
	Grouped   Features = 1 << iota // several groups of several channels
	Depthwise                      // a group for each channel
	Dilated
	Strided
	Padded
	Uneven // spatial dimensions that differ in everything

	allFeatures = Grouped | Depthwise | Dilated | Strided | Padded | Uneven
)

// maxProducts bounds the multiplications of one direction, which two CPUs compute, the driver's and a simulated
// device's.
const maxProducts = 1 << 20

// Draw draws n different convolutions. The same seed gives the same ones, and a smaller n the first of them. Every
// twelve in a row have all types, layouts and numbers of spatial dimensions.
func Draw(seed uint64, n int) []miopendriver.Convolution {
	rng := rand.New(rand.NewPCG(seed, 0x636f6e766f6c7665))
	seen := map[string]bool{}
	var drawn []miopendriver.Convolution
	for len(drawn) < n {
		i := len(drawn)
		c := draw(rng, miopendriver.Type(i%3), miopendriver.Layout(i/3%2), 2+i/6%2)
		// A result of zeros alone, in which nothing can be wrong, is not worth the run.
		zero := slices.ContainsFunc(c.Axes, func(a miopendriver.Axis) bool { return !a.Touches() })
		if name := c.String(); !zero && c.Products() <= maxProducts && !seen[name] {
			seen[name] = true
			drawn = append(drawn, c)
		}
	}
	return drawn
}

func draw(rng *rand.Rand, t miopendriver.Type, layout miopendriver.Layout, spatial int) miopendriver.Convolution {
	features := Features(rng.IntN(int(allFeatures) + 1))
	c := miopendriver.Convolution{Type: t, Layout: layout, Batch: 1 + rng.IntN(4), Groups: 1}
	perGroup, outputs := 1+rng.IntN(12), 1+rng.IntN(12)
	switch {
	case features&Depthwise != 0:
		c.Groups, perGroup, outputs = 2+rng.IntN(15), 1, 1+rng.IntN(2)
	case features&Grouped != 0:
		c.Groups, perGroup, outputs = 2+rng.IntN(3), 2+rng.IntN(4), 2+rng.IntN(4)
	}
	c.Channels, c.Outputs = c.Groups*perGroup, c.Groups*outputs

	largest := map[int]int{2: 24, 3: 9}[spatial]
	for i := range spatial {
		if i > 0 && features&Uneven == 0 {
			c.Axes = append(c.Axes, c.Axes[0])
			continue
		}
		a := miopendriver.Axis{Filter: 1 + rng.IntN(5), Stride: 1, Dilation: 1}
		if features&Dilated != 0 {
			a.Filter, a.Dilation = 2+rng.IntN(2), 2+rng.IntN(2)
		}
		if features&Strided != 0 {
			a.Stride = 2 + rng.IntN(2)
		}
		if features&Padded != 0 {
			a.Pad = 1 + rng.IntN(2)
		}
		a.Input = max(1, a.Reach()-2*a.Pad) + rng.IntN(largest)
		c.Axes = append(c.Axes, a)
	}
	return c
}

// FeaturesOf says which features a convolution has.
func FeaturesOf(c miopendriver.Convolution) Features {
	var f Features
	if c.Groups > 1 && c.Channels == c.Groups {
		f |= Depthwise
	} else if c.Groups > 1 {
		f |= Grouped
	}
	for _, a := range c.Axes {
		if a.Dilation > 1 {
			f |= Dilated
		}
		if a.Stride > 1 {
			f |= Strided
		}
		if a.Pad > 0 {
			f |= Padded
		}
		if a != c.Axes[0] {
			f |= Uneven
		}
	}
	return f
}
