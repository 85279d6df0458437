package private_test

import (
	"encoding/binary"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/provider/engine"
	"example.com/miopen_hipdnn_shim/provider/engine/enginetest"
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
	const optional = 4 // at the end
	for i := range members - optional {
		err := changed(func(b []byte) { clear(b[word*(1+i):][:word]) })
		require.ErrorContains(t, err, "has no ")
		require.False(t, seen[err.Error()], err)
		seen[err.Error()] = true
	}
	require.NoError(t, changed(func(b []byte) { clear(b[word*(1+members-optional):]) }), "execute_fusion_plan_v2 is new in 3.5, and there may be no HIP")
	require.ErrorContains(t, changed(func(b []byte) { b[0]++ }), "has version 2, not 1")
	require.ErrorContains(t, changed(func(b []byte) { b[4] += 8 }), "bytes, not")
	_, err := private.Open(nil)
	require.ErrorContains(t, err, "no table")
}

// What HIP knows of devices comes through, and nothing where there is no HIP, as under the reference MIOpen.
func TestDevices(t *testing.T) {
	runtime.LockOSThread() // devices are the thread's
	defer runtime.UnlockOSThread()
	without := library(t)
	require.EqualValues(t, -1, without.Device())
	require.EqualValues(t, -1, without.StreamDevice(4098))
	require.NotZero(t, without.SetDevice(0))

	m, err := private.Open(privatetest.WithDevices(table(t)))
	require.NoError(t, err)
	require.Zero(t, m.SetDevice(2))
	require.EqualValues(t, 2, m.Device())
	require.EqualValues(t, 101, m.SetDevice(9))
	require.EqualValues(t, 3, m.StreamDevice(4099))
	require.EqualValues(t, -1, m.StreamDevice(3), "HIP fails")

	h, err := engine.Open(m)
	require.NoError(t, err)
	require.NoError(t, h.OnDevice(1))
	x, workspace, buffers := prepared(t, h, smallest(enginetest.Forward))
	require.NoError(t, x.Execute(h, workspace.Address(), buffers))
	require.EqualValues(t, 2, m.Device(), "put back")
	var e *engine.Error
	require.ErrorAs(t, h.SetStream(4099), &e)
	require.Equal(t, engine.StatusInvalidValue, e.Status)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := x.Execute(h, workspace.Address(), buffers); err != nil {
			t.Fatal(err)
		}
	}), "also where the device is changed")
	require.NoError(t, h.Close())
	require.EqualValues(t, 2, m.Device())
}
