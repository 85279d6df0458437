package routing_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
)

func TestEnvironmentTable(t *testing.T) {
	for _, c := range []struct {
		variable string
		effect   string // "" for none
	}{
		{"MIOPEN_FIND_MODE=NORMAL", "ignored"},
		{"MIOPEN_FIND_ENFORCE=SEARCH_DB_UPDATE", "ignored"},
		{"MIOPEN_TUNING_PATIENCE=3", "ignored"},
		{"MIOPEN_DEBUG_FIND_ONLY_SOLVER=ConvDirectNaiveConvFwd", "ignored"},
		{"MIOPEN_DEBUG_CONV_WINOGRAD=0", "ignored"},
		{"MIOPEN_DEBUG_GCN_ASM_KERNELS=0", "ignored"},
		{"MIOPEN_DEBUG_SOMETHING_NEW=1", "ignored"},
		{"MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP8_ROUNDING_SEED=1", "ignored"},
		{"MIOPEN_GEMM_ENFORCE_BACKEND=1", "ignored"},
		{"MIOPEN_FIND_MODE=", ""},
		{"MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC=1", "native"},
		{"MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC=enabled", "native"},
		{"MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC=0", ""},
		{"MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP16_ALT_IMPL=0", "native"},
		{"MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE=0", "native"},
		{"MIOPEN_CHECK_NUMERICS=0x04", "native"},
		{"MIOPEN_CHECK_NUMERICS=yes", "native"},
		{"MIOPEN_CHECK_NUMERICS=0x00", ""},
		{"MIOPEN_CHECK_NUMERICS= 000 ", ""},
		{"MIOPEN_CHECK_NUMERICS=0x", "native"},
		{"MIOPEN_CHECK_NUMERICS= ", "native"},
		{"MIOPEN_DEBUG_CHECK_SUB_BUFFER_OOB_MEMORY_ACCESS=2", "native"},
		{"MIOPEN_DUMP_TENSOR_PATH=/tmp", "native"},
		{"MIOPEN_DEBUG_COMPILE_ONLY=1", "native"},
		{"MIOPEN_DEBUG_COMPILE_ONLY=no", ""},
		{"MIOPEN_DEVICE_ARCH=gfx942", "native"},
		{"MIOPEN_DEBUG_AMD_MP_BD_WINOGRAD_EXPEREMENTAL_FP16_TRANSFORM=1", "native"},
		{"NVIDIA_TF32_OVERRIDE=1", "native"},
		{"NVIDIA_TF32_OVERRIDE=0", ""},
		{"MIOPEN_LOG_LEVEL=6", ""},
		{"MIOPEN_ENABLE_LOGGING_CMD=1", ""},
		{"MIOPEN_USER_DB_PATH=/x", ""},
		{"MIOPEN_DEBUG_SAVE_TEMP_DIR=1", ""},
		{"MIOPEN_DRIVER_USE_GPU_REFERENCE=0", ""},
		{"MIOPEN_DEBUG_BN_BWDTRG_ACTIV_FUSED=0", ""},
		{"MIOPEN_UNKNOWN=1", ""},
		{"XMIOPEN_FIND_MODE=1", ""},
		{"NVIDIA_VISIBLE_DEVICES=all", ""},
	} {
		s := parse(c.variable)
		switch c.effect {
		case "":
			require.Empty(t, s.Warnings, c.variable)
			require.Empty(t, s.Native, c.variable)
		case "ignored":
			require.Len(t, s.Warnings, 1, c.variable)
			require.Contains(t, s.Warnings[0], c.variable+": not looked at for forwarded calls: ")
			require.Empty(t, s.Native, c.variable)
		case "native":
			require.Len(t, s.Warnings, 1, c.variable)
			require.Contains(t, s.Warnings[0], c.variable+": no call is forwarded: ")
			require.Equal(t, c.variable, s.Native)
		}
		// The databases are where MIOpen takes a plan's solution from.
		decides := c.effect == "ignored" || strings.Contains(c.variable, "_DB_PATH=")
		require.Equal(t, decides, s.Digest != parse().Digest, c.variable)

		off := routing.Parse([]string{c.variable})
		require.Empty(t, off.Warnings, "nobody forwards: %s", c.variable)
		require.Empty(t, off.Native)
	}
}

func TestOneWarningForEachRow(t *testing.T) {
	s := parse("MIOPEN_DEBUG_CONV_GEMM=0", "MIOPEN_DEBUG_CONV_FFT=0", "MIOPEN_FIND_MODE=1", "MIOPEN_DEVICE_CU=1", "MIOPEN_DEVICE_ARCH=gfx90a")
	require.Len(t, s.Warnings, 3)
	require.Contains(t, strings.Join(s.Warnings, "\n"), "MIOPEN_DEBUG_CONV_FFT=0, MIOPEN_DEBUG_CONV_GEMM=0: not looked at")
	require.Equal(t, "MIOPEN_DEVICE_ARCH=gfx90a", s.Native)
}

func TestDigest(t *testing.T) {
	a := parse("MIOPEN_DEBUG_CONV_GEMM=0", "MIOPEN_DEBUG_CONV_FFT=0").Digest
	require.Equal(t, a, parse("MIOPEN_DEBUG_CONV_FFT=0", "PATH=/bin", "MIOPEN_DEBUG_CONV_GEMM=0").Digest, "the order is not the environment's")
	require.NotEqual(t, a, parse("MIOPEN_DEBUG_CONV_GEMM=0", "MIOPEN_DEBUG_CONV_FFT=1").Digest)
	require.NotEqual(t, a, parse("MIOPEN_DEBUG_CONV_GEMM=0").Digest)
	require.NotEqual(t, parse("MIOPEN_DEBUG_A=B", "MIOPEN_DEBUG_C=D").Digest, parse("MIOPEN_DEBUG_A=BMIOPEN_DEBUG_C=D").Digest)
}

// Each row but the general one is reached: no earlier row takes all of its variables.
func TestRowsAreReached(t *testing.T) {
	for i, v := range routing.Environment {
		require.NotEmpty(t, v.Why)
		for _, name := range v.Names {
			name = strings.ReplaceAll(name, "*", "X")
			for j := range i {
				for _, earlier := range routing.Environment[j].Names {
					prefix, wildcard := strings.CutSuffix(earlier, "*")
					require.False(t, name == earlier || wildcard && strings.HasPrefix(name, prefix), "row %d takes %s from row %d", j, name, i)
				}
			}
		}
	}
}

// The variables of convolutions that MIOpen 3.5.1 reads, from its library's strings. Those with a row
// of their own must exist: a row with a misspelt name would do nothing.
func TestRowsNameWhatMIOpenReads(t *testing.T) {
	file, err := os.ReadFile("testdata/miopen-3.5.1-environment.txt")
	require.NoError(t, err)
	known := strings.Fields(string(file))
	require.Greater(t, len(known), 150)
	newer := map[string]bool{ // in later releases, or another program's
		"MIOPEN_TF32_OVERRIDE": true, "NVIDIA_TF32_OVERRIDE": true, "MIOPEN_LOG_BUFFER_SIZE": true, "MIOPEN_DRIVER_*": true, "MIOPEN_SEARCH_CUTOFF": true,
		"MIOPEN_NAIVE_*": true, "MIOPEN_DEBUG_DISABLE_SYSTEM_DB": true, "MIOPEN_DEBUG_DISABLE_USER_DB": true,
	}
	used := map[string]bool{}
	for _, v := range routing.Environment {
		for _, pattern := range v.Names {
			prefix, wildcard := strings.CutSuffix(pattern, "*")
			found := newer[pattern]
			for _, name := range known {
				if name == pattern || wildcard && strings.HasPrefix(name, prefix) {
					found, used[name] = true, true
				}
			}
			require.True(t, found, "MIOpen has no %s", pattern)
		}
	}
	for _, name := range known {
		require.True(t, used[name], "no row is about %s", name)
	}
}

func TestMarkdown(t *testing.T) {
	text := routing.Markdown()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.Len(t, lines, 2+len(routing.Environment)+2)
	for _, line := range lines {
		require.Equal(t, 4, strings.Count(line, "|"), line)
	}
	require.Contains(t, text, "| `MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC`, when on | forces native | ")
	require.Contains(t, text, "| `miopenSetTuningPolicy()` | ignored | ")
}
