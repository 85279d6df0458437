package miopen_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
)

// enumerators reads what MIOpen 3.5.1's header says about each enumerator; the reference library's
// tests hold that table against the real header.
func enumerators(t *testing.T) map[string]int {
	t.Helper()
	table, err := os.ReadFile("../../tests/refmiopen/header-abi-3.5.1.txt")
	require.NoError(t, err)
	out := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^enumerator (\w+) (-?\d+) `).FindAllStringSubmatch(string(table), -1) {
		out[m[1]], err = strconv.Atoi(m[2])
		require.NoError(t, err)
	}
	require.NotEmpty(t, out)
	return out
}

func TestNumbersAreTheHeaders(t *testing.T) {
	header := enumerators(t)
	for _, group := range []struct {
		enumerator string // pattern of the header's names
		name       func(number int) string
		known      int
	}{
		{`^miopen(Half|Float|Int32|Int8|BFloat16|Double|Float8_fnuz|BFloat8_fnuz|Int64)$`, func(n int) string { return miopen.DataType(n).String() }, 9},
		{`^miopenStatus[A-Z]\w+$`, func(n int) string { return miopen.Status(n).String() }, 11},
		{`^miopen(Convolution|Transpose|GroupConv|Depthwise)$`, func(n int) string { return miopen.Mode(n).String() }, 4},
		{`^miopenActivation(RELU|CLIPPEDRELU|LEAKYRELU|CLAMP)$`, func(n int) string { return miopen.ActivationMode(n).String() }, 4},
	} {
		pattern := regexp.MustCompile(group.enumerator)
		seen := 0
		for name, number := range header {
			if pattern.MatchString(name) {
				seen++
				require.Equal(t, name, group.name(number))
			}
		}
		require.Equal(t, group.known, seen, group.enumerator)
		for number := -2; number < 16; number++ {
			if name := group.name(number); !strings.Contains(name, "(") {
				require.Equal(t, number, header[name], name)
			} else {
				require.Contains(t, name, "("+strconv.Itoa(number)+")")
			}
		}
	}
	require.Equal(t, header["miopenF8RoundingModeStandard"], int(miopen.RoundingStandard))
	require.Equal(t, header["miopenF8RoundingModeStochastic"], int(miopen.RoundingStochastic))
}

// An element type added to the header must not be overlooked here.
func TestEveryElementTypeIsKnown(t *testing.T) {
	sizes := map[string]int64{
		"miopenHalf": 2, "miopenFloat": 4, "miopenInt32": 4, "miopenInt8": 1, "miopenBFloat16": 2, "miopenDouble": 8,
		"miopenFloat8_fnuz": 1, "miopenBFloat8_fnuz": 1, "miopenInt64": 8,
	}
	require.Len(t, miopen.DataTypes, len(sizes))
	for _, typ := range miopen.DataTypes {
		require.True(t, typ.Valid())
		require.Equal(t, sizes[typ.String()], typ.Size(), typ)
	}
	for _, typ := range []miopen.DataType{miopen.NoCast, 4, 10, 1 << 30, -1 << 31} {
		require.False(t, typ.Valid(), typ)
		require.Zero(t, typ.Size())
	}
}

func TestLayouts(t *testing.T) {
	dims := []int64{2, 3, 4, 5}
	require.Equal(t, []int64{60, 20, 5, 1}, miopen.PackedStrides(dims))
	require.Equal(t, []int64{60, 1, 15, 3}, miopen.ChannelsLastStrides(dims))
	require.Equal(t, []int64{360, 1, 90, 18, 3}, miopen.ChannelsLastStrides([]int64{2, 3, 4, 5, 6}))
	require.Equal(t, []int64{1}, miopen.ChannelsLastStrides([]int64{7}))
	require.Empty(t, miopen.PackedStrides(nil))
}
