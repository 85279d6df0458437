package miopen_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
)

func example() miopen.Convolution {
	return miopen.Convolution{
		X:    miopen.Tensor{Type: miopen.BFloat16, Rank: 4, Dims: []int64{2, 6, 7, 9}, Strides: []int64{378, 1, 54, 6}, Cast: miopen.NoCast},
		W:    miopen.Tensor{Type: miopen.Half, Rank: 4, Dims: []int64{4, 3, 3, 2}, Strides: []int64{18, 6, 2, 1}, Cast: miopen.Float8Fnuz},
		Y:    miopen.Tensor{Type: miopen.Int64, Rank: 4, Dims: []int64{2, 4, 5, 1 << 30}, Strides: []int64{160, 40, 8, 1}, Cast: miopen.NoCast, Vectorised: true},
		Mode: miopen.ModeTranspose, Groups: 2, Spatial: 2,
		Pads: []int64{1, 2}, Strides: []int64{3, 4}, Dilations: []int64{5, 6},
		FP16Alternative: 1, Deterministic: 7, FP8Rounding: miopen.RoundingStochastic,
	}
}

// A C program fills the structure that the wrapper fills; what it is in memory must be what is read.
func TestFlatIsTheWrappersStructure(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "fill.c")
	require.NoError(t, os.WriteFile(source, []byte(`
#include "bridge.h"
#include <stdio.h>
int main(void) {
  static const struct miopen_bridge_convolution c = {
      .x = {.type = 5, .rank = 4, .dims = {2, 6, 7, 9}, .strides = {378, 1, 54, 6}, .cast = -1},
      .w = {.type = 0, .rank = 4, .dims = {4, 3, 3, 2}, .strides = {18, 6, 2, 1}, .cast = 7},
      .y = {.type = 9, .rank = 4, .dims = {2, 4, 5, 1 << 30}, .strides = {160, 40, 8, 1}, .cast = -1, .vectorised = 1},
      .mode = 1, .groups = 2, .spatial = 2, .pads = {1, 2}, .strides = {3, 4}, .dilations = {5, 6},
      .fp16_alternative = 1, .deterministic = 7, .fp8_rounding = 1};
  return fwrite(&c, sizeof c, 1, stdout) != 1;
}
`), 0o644))
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	program := filepath.Join(dir, "fill")
	out, err := exec.Command(cc, "-I../../shim/runtime/src", "-o", program, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	flat, err := exec.Command(program).Output()
	require.NoError(t, err)

	want := example()
	require.Equal(t, flat, miopen.AppendFlat(nil, &want))
	got, err := miopen.DecodeFlat(flat)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestFlatRefusesOtherSizes(t *testing.T) {
	for _, size := range []int{0, 1, miopen.FlatSize - 1, miopen.FlatSize + 1} {
		_, err := miopen.DecodeFlat(make([]byte, size))
		require.ErrorContains(t, err, "different releases", "%d", size)
	}
}

// What could not be read, or has too many dimensions, comes without arrays.
func TestFlatRankOutOfRange(t *testing.T) {
	c := example()
	c.X.Rank, c.X.Dims, c.X.Strides = 0, nil, nil
	c.Y.Rank, c.Y.Dims, c.Y.Strides = miopen.MaxRank+1, nil, nil
	c.Spatial, c.Pads, c.Strides, c.Dilations = miopen.MaxSpatial+1, nil, nil, nil
	got, err := miopen.DecodeFlat(miopen.AppendFlat(nil, &c))
	require.NoError(t, err)
	require.Empty(t, got.X.Dims)
	require.Nil(t, got.Y.Dims)
	require.Nil(t, got.Pads)
	require.Equal(t, miopen.MaxRank+1, got.Y.Rank)
	require.Equal(t, miopen.MaxSpatial+1, got.Spatial)
}

// Any bytes are read without a panic, and what was read is written the same.
func TestFlatAnyBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		b := make([]byte, miopen.FlatSize)
		for i := range b {
			if rng.IntN(4) == 0 {
				b[i] = byte(rng.Uint32())
			}
		}
		c, err := miopen.DecodeFlat(b)
		require.NoError(t, err)
		again, err := miopen.DecodeFlat(miopen.AppendFlat(nil, &c))
		require.NoError(t, err)
		require.Equal(t, c, again)
	}
}
