// Package tracetest makes trace files for tests: what the wrapper would have written, call by call, and the places in it
// that a test damages.
//
// It is a second statement of the layout, written apart from the reader's: it shares no constant with it.
package tracetest

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

const (
	page   = 4096
	record = 32
)

// Call is one call as the wrapper records it.
type Call struct {
	Clock    uint64
	Function uint32
	Flags    uint32 // 0: instant, 1: Duration is valid, 2: not returned
	Duration uint64
}

// Ring is one thread.
type Ring struct {
	TID   uint32
	Calls []Call // all that were made; the newest of them are in the ring
}

// File is one process.
type File struct {
	PID, ParentPID        uint32
	TSC                   bool
	StartClock, LastClock uint64
	StartNanos, LastNanos uint64
	Realtime              uint64
	Command               string
	Names                 []string
	Capacity              uint32
	Rings                 []Ring
	RingsLost, CallsLost  uint64
	ThreadsBeyond         uint64
}

// Sample is a process of which the counter makes two ticks in a nanosecond, with two threads: one with an instant, a
// call of 500 ns and one that has not returned, and one whose ring of eight ran over by two.
func Sample() File {
	f := File{
		PID: 100, ParentPID: 1, TSC: true, StartClock: 1_000_000, StartNanos: 5_000_000_000,
		LastClock: 41_000_000, LastNanos: 5_020_000_000, Realtime: 1_700_000_000_000_000_000,
		Command: "sample", Names: []string{"miopenAlpha", "miopenBeta", "miopenGamma"}, Capacity: 8,
		Rings: []Ring{
			{TID: 100, Calls: []Call{
				{Clock: 1_002_000}, {Clock: 1_004_000, Function: 1, Flags: 1, Duration: 1000}, {Clock: 1_040_000, Function: 2, Flags: 2},
			}},
			{TID: 101},
		},
	}
	for i := range uint64(10) {
		f.Rings[1].Calls = append(f.Rings[1].Calls, Call{Clock: 1_003_000 + 2000*i, Function: 1, Flags: 1, Duration: 200 * (i + 1)})
	}
	return f
}

// HeaderBytes is the offset of the first ring.
func (f File) HeaderBytes() int {
	n := page
	for _, name := range f.Names {
		n += len(name) + 1
	}
	return (n + page - 1) / page * page
}

// RingOffset is the offset of ring k.
func (f File) RingOffset(k int) int { return f.HeaderBytes() + k*(page+int(f.Capacity)*record) }

// RecordOffset is the offset of the place of call number q in ring k.
func (f File) RecordOffset(k, q int) int {
	return f.RingOffset(k) + page + q%int(f.Capacity)*record
}

// Bytes is the file.
func (f File) Bytes() []byte {
	b := make([]byte, f.RingOffset(len(f.Rings)))
	u32 := func(at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
	u64 := func(at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
	copy(b, "MIOTRC02")
	u32(8, uint32(f.HeaderBytes()))
	u32(12, record)
	u32(16, f.Capacity)
	u32(20, page+f.Capacity*record)
	u32(24, f.PID)
	u32(28, f.ParentPID)
	if f.TSC {
		u32(32, 1)
	}
	u32(36, uint32(len(f.Names)))
	u64(40, f.StartClock)
	u64(48, f.StartNanos)
	u64(56, f.LastClock)
	u64(64, f.LastNanos)
	u64(72, f.Realtime)
	u32(80, page)
	at := page
	for _, name := range f.Names {
		at += copy(b[at:], name) + 1
	}
	u32(84, uint32(at-page))
	u64(88, uint64(len(f.Rings)))
	copy(b[96:112], f.Command)
	u64(112, f.RingsLost)
	u64(120, f.CallsLost)
	u64(128, f.ThreadsBeyond)
	for k, ring := range f.Rings {
		u32(f.RingOffset(k), ring.TID)
		u64(f.RingOffset(k)+8, uint64(len(ring.Calls)))
		for q, call := range ring.Calls {
			at := f.RecordOffset(k, q)
			u64(at, uint64(q)+1)
			u64(at+8, call.Clock)
			u32(at+16, call.Function)
			u32(at+20, call.Flags)
			u64(at+24, call.Duration)
		}
	}
	return b
}

// Write writes the file into dir and returns its path.
func (f File) Write(t testing.TB, dir, name string) string {
	t.Helper()
	return Write(t, dir, name, f.Bytes())
}

// Write writes a file into dir and returns its path.
func Write(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

// Writer writes calls into a mapped file as the wrapper does, while others read it.
type Writer struct {
	Mapped []byte
	File   File
}

// Write records call number q of ring k.
func (w Writer) Write(k int, q uint64, c Call) {
	store64(w.Mapped[w.File.RingOffset(k)+8:], q+1)
	at := w.File.RecordOffset(k, int(q%uint64(w.File.Capacity)))
	store64(w.Mapped[at:], 0)
	binary.LittleEndian.PutUint64(w.Mapped[at+8:], c.Clock)
	binary.LittleEndian.PutUint32(w.Mapped[at+16:], c.Function)
	binary.LittleEndian.PutUint32(w.Mapped[at+20:], c.Flags)
	binary.LittleEndian.PutUint64(w.Mapped[at+24:], c.Duration)
	store64(w.Mapped[at:], q+1)
}

// store64 stores after everything that was stored before it.
func store64(b []byte, v uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&b[0])), v)
}
