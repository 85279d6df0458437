package plan_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/plan"
)

func TestKeyIsItsParts(t *testing.T) {
	var a, b plan.Key
	require.NoError(t, a.Set([]byte("problem"), []byte("device"), nil))
	require.Equal(t, "problemdevice", string(a.Bytes()))
	require.NoError(t, b.Set([]byte("a longer problem than before"), []byte("device")))
	require.NotEqual(t, a, b)
	require.NoError(t, b.Set([]byte("problem"), []byte("devicf")))
	require.NotEqual(t, a.Bytes(), b.Bytes())
	require.Empty(t, new(plan.Key).Bytes())
}

// What a longer key left behind must not make two equal keys different.
func TestKeyThatIsSetAgain(t *testing.T) {
	var a, b plan.Key
	require.NoError(t, a.Set(bytes.Repeat([]byte{7}, plan.MaxKey)))
	require.NoError(t, a.Set([]byte("short")))
	require.NoError(t, b.Set([]byte("short")))
	require.Equal(t, a, b)
}

func TestKeyTooLong(t *testing.T) {
	var k plan.Key
	require.NoError(t, k.Set(make([]byte, plan.MaxKey)))
	require.ErrorContains(t, k.Set(make([]byte, plan.MaxKey), []byte{1, 2}), "514 bytes")
	require.Empty(t, k.Bytes())
}

// A problem, a device's uuid and a digest fit.
func TestKeyHoldsAProblem(t *testing.T) {
	var k plan.Key
	require.NoError(t, k.Set(make([]byte, miopen.FlatSize), make([]byte, 16), make([]byte, 8)))
}
