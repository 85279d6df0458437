package translate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// The classes of hipDNN's errors, by the names of the statuses: the translation must sort all of them,
// whatever their numbers.
func TestStatusTranslation(t *testing.T) {
	seen := map[miopen.Status]int{}
	for s := graph.Status(0); s <= graph.StatusVersionMismatch; s++ {
		name := s.String()
		expected := miopen.StatusInternalError
		switch {
		case name == "SUCCESS":
			expected = miopen.StatusSuccess
		case name == "NOT_SUPPORTED":
			expected = miopen.StatusUnsupportedOp
		case strings.HasPrefix(name, "BAD_PARAM"):
			expected = miopen.StatusBadParm
		case strings.Contains(name, "ALLOC"):
			expected = miopen.StatusAllocFailed
		}
		require.Equal(t, expected, translate.Status(s), name)
		seen[expected]++
	}
	require.Equal(t, map[miopen.Status]int{
		miopen.StatusSuccess: 1, miopen.StatusUnsupportedOp: 1, miopen.StatusBadParm: 6, miopen.StatusAllocFailed: 3, miopen.StatusInternalError: 5,
	}, seen)
	for _, s := range []graph.Status{-1, graph.StatusVersionMismatch + 1, 1 << 30} {
		require.Equal(t, miopen.StatusInternalError, translate.Status(s), "%v", s)
	}
}

func TestErrorText(t *testing.T) {
	require.Equal(t, "[hipDNN-forwarded] miopenConvolutionForward: hipDNN NOT_SUPPORTED: no engine",
		translate.ErrorText("miopenConvolutionForward", graph.StatusNotSupported, "no engine"))
	require.Equal(t, "[hipDNN-forwarded] miopenConvolutionForward: hipDNN hipdnnStatus_t(99)",
		translate.ErrorText("miopenConvolutionForward", 99, " \n"))
	require.Equal(t, "[hipDNN-forwarded] f: hipDNN PLUGIN_ERROR: two lines of [31mred",
		translate.ErrorText("f", graph.StatusPluginError, "two\nlines\tof \x1b[31mred\x00"))
}

func TestTypesMapBothWays(t *testing.T) {
	seen := map[graph.DataType]bool{}
	for _, m := range miopen.DataTypes {
		g, ok := translate.DataType(m)
		require.True(t, ok, "every type of MIOpen has one of hipDNN: %v", m)
		require.False(t, seen[g], "two types become %v", g)
		seen[g] = true
		back, ok := translate.MIOpenDataType(g)
		require.True(t, ok)
		require.Equal(t, m, back)
		require.Equal(t, 8*m.Size(), g.Bits(), m)
	}
	for g := graph.Unset; g < 40; g++ {
		_, ok := translate.MIOpenDataType(g)
		require.Equal(t, seen[g], ok, g)
	}
	_, ok := translate.DataType(4)
	require.False(t, ok)
}

func TestReasons(t *testing.T) {
	names := map[string]bool{}
	for r := range translate.Reasons {
		name := translate.Reason(r).String()
		require.Regexp(t, "^[a-z0-9]+(-[a-z0-9]+)*$", name)
		require.False(t, names[name], name)
		names[name] = true
	}
	require.Equal(t, "unknown", translate.Reason(translate.Reasons).String())
	require.Equal(t, "no exact translation: cast-type", (&translate.Decline{Reason: translate.CastType}).Error())
}

// Every reason of the way to hipDNN is the outcome of a row of the decline table: a reason that no
// test reaches would be one that no call has.
func TestEveryReasonIsTested(t *testing.T) {
	seen := map[translate.Reason]bool{}
	recording := func(c *miopen.Convolution, s miopen.Scalars, b translate.Buffers) (graph.Graph, translate.Binding, error) {
		g, binding, err := translate.Forward(c, s, b)
		var decline *translate.Decline
		if errors.As(err, &decline) {
			seen[decline.Reason] = true
		}
		return g, binding, err
	}
	for _, r := range declineTable {
		require.NoError(t, r.check(recording), r.name)
	}
	for r := translate.NoReason + 1; r < translate.OperationUnsupported; r++ {
		require.True(t, seen[r], "%v", r)
	}
}
