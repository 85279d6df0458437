package trace_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/trace"
	"example.com/miopen_hipdnn_shim/shim/trace/tracetest"
)

// requireSane: whatever is in a file, either it is refused with a *FormatError, or what was read adds up and refers to
// nothing that is not there. It returns whether the file was read.
func requireSane(t testing.TB, data []byte) bool {
	tr, err := open(t, data)
	if err != nil {
		var format *trace.FormatError
		require.True(t, errors.As(err, &format), "%v", err)
		return false
	}
	for _, p := range tr.Processes {
		require.LessOrEqual(t, len(p.Damage), p.DamageCount)
		require.Equal(t, len(p.Damage) == 0, p.DamageCount == 0)
		for _, d := range p.Damage {
			require.NotEmpty(t, d.Error())
		}
		for _, thread := range p.Threads {
			requireAdds(t, thread)
			for i, c := range thread.Calls {
				require.Less(t, int(c.Function), len(p.Functions))
				require.Less(t, c.Sequence, thread.Made)
				if i > 0 {
					require.Less(t, thread.Calls[i-1].Sequence, c.Sequence)
				}
			}
		}
	}
	n := 0
	for e := range tr.InTimeOrder() {
		_, _ = e.Since(), e.Process.Clock.Span(e.Duration)
		n++
	}
	require.LessOrEqual(t, n*32, len(data), "calls that are not in the file")
	return true
}

func FuzzOpen(f *testing.F) {
	sample := tracetest.Sample()
	f.Add(sample.Bytes())
	sample.TSC = false
	f.Add(sample.Bytes()[:sample.RecordOffset(1, 3)+7])
	f.Fuzz(func(t *testing.T, data []byte) { requireSane(t, data) })
}

// interesting are values that arithmetic goes wrong with.
var interesting = []uint64{0, 1, 2, 7, 8, 9, 31, 32, 127, 128, 4095, 4096, 1<<16 - 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 2, 1<<64 - 1}

// TestMutations is the seeded short form of FuzzOpen: fields of a good file are replaced, words and bytes are
// overwritten, the file is cut off.
func TestMutations(t *testing.T) {
	rounds := 1000
	if os.Getenv("MIOPEN_SHIM_NIGHTLY") != "" {
		rounds = 100_000
	}
	var fields []int
	for at := 8; at < 128; at += 4 {
		fields = append(fields, at)
	}
	sample := tracetest.Sample()
	for k := range sample.Rings {
		fields = append(fields, sample.RingOffset(k), sample.RingOffset(k)+8)
		for q := range 8 {
			for at := range 7 { // eight bytes from there are in the file
				fields = append(fields, sample.RecordOffset(k, q)+4*at)
			}
		}
	}
	rng := rand.New(rand.NewPCG(11, 12))
	refused := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		b := sample.Bytes()
		for range 1 + rng.IntN(3) {
			at := fields[rng.IntN(len(fields))]
			switch rng.IntN(4) {
			case 0:
				put32(b, at, uint32(interesting[rng.IntN(len(interesting))]))
			case 1:
				put64(b, at, interesting[rng.IntN(len(interesting))])
			case 2:
				b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			case 3:
				put64(b, at, rng.Uint64())
			}
		}
		if rng.IntN(8) == 0 {
			b = b[:rng.IntN(len(b)+1)]
		}
		if !requireSane(t, b) {
			refused++
		}
	}
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/uint64(rounds), uint64(1<<20), "memory for a file of 17 kB")
	// Control: the mutations reach both outcomes.
	require.Greater(t, refused, rounds/20)
	require.Less(t, refused, rounds*19/20)
}

// TestSparse: a file that claims terabytes and has nothing is read quickly.
func TestSparse(t *testing.T) {
	f := tracetest.Sample()
	b := f.Bytes()
	put64(b, 88, 1<<16)
	for k := range 2 {
		put64(b, f.RingOffset(k)+8, 1<<64-1)
	}
	path := tracetest.Write(t, t.TempDir(), "1.0.trace", b)
	require.NoError(t, os.Truncate(path, int64(f.RingOffset(1<<16))))
	tr, err := trace.OpenAt(path, noClock)
	require.NoError(t, err)
	for _, thread := range tr.Processes[0].Threads {
		requireAdds(t, thread)
	}
}
