package wire_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/provider/wire"
	"example.com/miopen_hipdnn_shim/tests/wire/draw"
)

// mutants is how many spoiled buffers are read: 20,000, or with MIOPEN_SHIM_NIGHTLY a million.
func mutants() int {
	if os.Getenv("MIOPEN_SHIM_NIGHTLY") != "" {
		return 1_000_000
	}
	return 20_000
}

// spoil changes a buffer in one to three places. other is a buffer to take bytes from.
func spoil(r *rand.Rand, b, other []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(3) {
		if len(b) < 8 {
			return b
		}
		word := r.IntN(len(b)/4) * 4
		switch r.IntN(9) {
		case 0: // a bit
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		case 1: // a byte
			b[r.IntN(len(b))] = byte(r.Uint32())
		case 2: // a word that sits on an edge
			edges := []uint32{0, 1, 3, 4, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff, uint32(len(b)), uint32(len(b) - word)}
			binary.LittleEndian.PutUint32(b[word:], edges[r.IntN(len(edges))])
		case 3: // an offset to anywhere
			binary.LittleEndian.PutUint32(b[word:], uint32(r.IntN(len(b)-word)))
		case 4: // half a word, as a vtable has it
			binary.LittleEndian.PutUint16(b[r.IntN(len(b)/2)*2:], uint16(r.IntN(64)))
		case 5: // the end is missing
			b = b[:r.IntN(len(b))]
		case 6: // the rest of another one
			at := min(word, len(other))
			b = append(b[:at:at], other[at:]...)
		case 7: // a piece of another one, anywhere
			from := r.IntN(len(other))
			copy(b[word:], other[from:min(len(other), from+4+r.IntN(64))])
		case 8: // a word twice
			copy(b[word:], b[r.IntN(len(b)/4)*4:][:4])
		}
	}
	return b
}

// A spoiled buffer is declined, or is another one that writes and reads back as it was. Nothing panics.
func TestMutants(t *testing.T) {
	const seed = 1
	n := mutants()
	for i, f := range forms {
		r := draw.Source(seed + uint64(i))
		buffers := make([][]byte, 200)
		for i := range buffers {
			_, buffers[i] = f.draw(uint64(i))
		}
		accepted, declined := 0, 0
		for range n / len(forms) {
			b := spoil(r, buffers[r.IntN(len(buffers))], buffers[r.IntN(len(buffers))])
			if reread(t, f, b) {
				accepted++
			} else {
				declined++
			}
		}
		t.Logf("%s: %d accepted, %d declined, seed %d", f.name, accepted, declined, seed)
		require.Greater(t, accepted, n/len(forms)/10, "%s: too few are accepted to say that those are right", f.name)
		require.Greater(t, declined, n/len(forms)/10, "%s: too few are declined to say that none crashes", f.name)
	}
}

// reread reads a buffer, and if that goes well writes it and reads what was written.
func reread(t *testing.T, f form, b []byte) bool {
	failed := true
	defer func() {
		if failed {
			t.Errorf("%s: %x", f.name, b)
		}
	}()
	v, err := f.read(b)
	if err != nil {
		require.IsType(t, &wire.Error{}, err)
		failed = false
		return false
	}
	if g, ok := v.(*wire.Graph); ok {
		_ = g.Check() // must not panic
	}
	written := f.write(v)
	again, err := f.read(written)
	require.NoError(t, err)
	require.True(t, draw.Equal(v, again), "%+v\n%+v", v, again)
	require.True(t, bytes.Equal(written, f.write(again)))
	failed = false
	return true
}

func fuzz(f *testing.F, form form) {
	for seed := range uint64(20) {
		_, b := form.draw(seed)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { reread(t, form, b) })
}

func FuzzReadGraph(f *testing.F)         { fuzz(f, forms[0]) }
func FuzzReadEngineConfig(f *testing.F)  { fuzz(f, forms[1]) }
func FuzzReadEngineDetails(f *testing.F) { fuzz(f, forms[2]) }

func BenchmarkReadGraph(b *testing.B) {
	tensor := wire.Tensor{UID: 1, Alignment: 16, RaggedOffsetMultiplier: 1, Dims: []int64{1, 2, 3, 4}, Strides: []int64{24, 12, 4, 1}}
	window := wire.Window{PrePadding: []int64{1, 1}, PostPadding: []int64{1, 1}, Stride: []int64{1, 1}, Dilation: []int64{1, 1}, Mode: 2}
	buffer := wire.WriteGraph(&wire.Graph{
		Tensors: []wire.Tensor{tensor, tensor, tensor},
		Nodes:   []wire.Node{{Attributes: &wire.ConvolutionFwd{X: 1, W: 1, Y: 1, Window: window}}},
	})
	b.Run(fmt.Sprint(len(buffer), "B"), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := wire.ReadGraph(buffer); err != nil {
				b.Fatal(err)
			}
		}
	})
}
