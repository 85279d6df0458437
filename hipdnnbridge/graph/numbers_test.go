package graph_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
)

// reference reads the numbers of one kind from the table, which was taken from hipDNN's headers and
// schemas and not from the code here.
func reference(t *testing.T, kind string) map[string]int {
	t.Helper()
	table, err := os.ReadFile("testdata/numbers.tsv")
	require.NoError(t, err)
	out := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		fields := strings.Split(line, "\t")
		require.Len(t, fields, 4, line)
		require.NotEmpty(t, fields[3], "every number has a source")
		if fields[0] == kind {
			out[fields[1]], err = strconv.Atoi(fields[2])
			require.NoError(t, err)
		}
	}
	require.NotEmpty(t, out, kind)
	return out
}

func TestDataTypeNumbers(t *testing.T) {
	api, wire := reference(t, "api-type"), reference(t, "wire-type")
	seen := 0
	for typ := graph.DataType(0); typ < 255; typ++ {
		if !typ.Valid() {
			require.Equal(t, int32(-1), typ.API())
			require.Zero(t, typ.Wire())
			require.Zero(t, typ.Bits())
			continue
		}
		seen++
		name := typ.String()
		number, ok := wire[name]
		require.True(t, ok, name)
		require.EqualValues(t, number, typ.Wire(), name)
		if _, ok := api[name]; !ok {
			name += "_EXT" // the C API marks two of them as its own extensions
		}
		number, ok = api[name]
		require.True(t, ok, name)
		require.EqualValues(t, number, typ.API(), name)

		back, ok := graph.DataTypeFromAPI(typ.API())
		require.True(t, ok)
		require.Equal(t, typ, back)
		back, ok = graph.DataTypeFromWire(typ.Wire())
		require.True(t, ok)
		require.Equal(t, typ, back)
	}
	require.Len(t, wire, seen+1, "the wire has UNSET besides")
	require.Len(t, api, seen+1, "the C API has BOOLEAN besides")

	for _, number := range []int32{-1, 15, 18, 1 << 30} {
		_, ok := graph.DataTypeFromAPI(number)
		require.False(t, ok, number)
	}
	unset, ok := graph.DataTypeFromWire(0)
	require.True(t, ok)
	require.Equal(t, graph.Unset, unset)
	for _, number := range []int8{-1, 18, 127} {
		_, ok := graph.DataTypeFromWire(number)
		require.False(t, ok, number)
	}
}

// The size of a type is the number in its name, or follows from the name.
func TestDataTypeSizes(t *testing.T) {
	for typ := graph.Unset + 1; typ.Valid(); typ++ {
		want := map[string]int64{"FLOAT": 32, "DOUBLE": 64, "HALF": 16, "BFLOAT16": 16}[typ.String()]
		if want == 0 {
			digits := strings.TrimLeft(typ.String(), "UINTFP")
			n, err := strconv.Atoi(strings.SplitN(digits, "_", 2)[0])
			require.NoError(t, err, typ)
			want = int64(n)
		}
		require.Equal(t, want, typ.Bits(), typ)
	}
}

func TestConvolutionModeNumbers(t *testing.T) {
	api, wire := reference(t, "api-mode"), reference(t, "wire-mode")
	require.Len(t, api, 2)
	require.Len(t, wire, 3)
	for m := graph.ConvolutionMode(0); m < 10; m++ {
		number, ok := api[m.String()]
		require.Equal(t, ok, m.Valid(), m)
		if ok {
			require.EqualValues(t, number, m.API())
			require.EqualValues(t, wire[m.String()], m)
		}
	}
	require.EqualValues(t, -1, graph.ConvolutionMode(0).API())
}

func TestPointwiseModeNumbers(t *testing.T) {
	all := reference(t, "pointwise")
	require.Len(t, all, 47)
	known := 0
	for m := graph.PointwiseMode(0); m < 60; m++ {
		if number, ok := all[m.String()]; ok {
			known++
			require.EqualValues(t, number, m)
			require.Positive(t, m.Operands())
		} else {
			require.Zero(t, m.Operands())
			require.Contains(t, m.String(), strconv.Itoa(int(m)))
		}
	}
	require.Equal(t, 3, known)
}

func TestStatusNumbers(t *testing.T) {
	all := reference(t, "status")
	require.Len(t, all, 16)
	for name, number := range all {
		require.Equal(t, name, graph.Status(number).String())
	}
	for _, s := range []graph.Status{-1, 16, 1 << 20} {
		require.Contains(t, s.String(), strconv.Itoa(int(s)))
	}
}
