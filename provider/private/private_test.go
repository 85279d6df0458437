package private_test

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/provider/private"
	"example.com/miopen_hipdnn_shim/provider/private/privatetest"
)

func TestVersion(t *testing.T) {
	v, s := library(t).Version()
	require.Equal(t, miopen.StatusSuccess, s)
	require.Equal(t, [3]uint64{3, 5, 1}, v)
}

// A table with a hole, or of another release, is refused by name; what MIOpen 3.4 does not have may
// be missing.
func TestTablesThatAreRefused(t *testing.T) {
	source := table(t)
	size := int(binary.LittleEndian.Uint32(unsafe.Slice((*byte)(source), 8)[4:]))
	const word = 8
	members := (size - word) / word
	require.Greater(t, members, 50)
	changed := func(change func(b []byte)) error {
		m := privatetest.Allocate(size)
		defer m.Free()
		copy(m, unsafe.Slice((*byte)(source), size))
		change(m)
		_, err := private.Open(unsafe.Pointer(unsafe.SliceData(m)))
		return err
	}
	require.NoError(t, changed(func([]byte) {}), "the control")
	seen := map[string]bool{}
	for i := range members - 1 {
		err := changed(func(b []byte) { clear(b[word*(1+i):][:word]) })
		require.ErrorContains(t, err, "has no ")
		require.False(t, seen[err.Error()], err)
		seen[err.Error()] = true
	}
	require.NoError(t, changed(func(b []byte) { clear(b[word*members:]) }), "execute_fusion_plan_v2 is new in 3.5")
	require.ErrorContains(t, changed(func(b []byte) { b[0]++ }), "has version 2, not 1")
	require.ErrorContains(t, changed(func(b []byte) { b[4] += 8 }), "bytes, not")
	_, err := private.Open(nil)
	require.ErrorContains(t, err, "no table")
}
