package miopendriver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutputRules: each rule changes what it is for, and nothing that was computed or chosen.
func TestOutputRules(t *testing.T) {
	for line, want := range map[string]string{
		"Timestamp: 2026-05-27 14:49:25 UTC; Host Name: host; MIOpen Driver: 3.5.2;":               "Timestamp: TIME; Host Name: host; MIOpen Driver: 3.5.2;",
		"GPU Kernel Time Forward Conv. Elapsed: 0.006776 ms (average)":                             "GPU Kernel Time Forward Conv. Elapsed: TIME ms (average)",
		"GPU Kernel Avg Time Forward Activation Elapsed: 0.1 ms, for 9 iterations.":                "GPU Kernel Avg Time Forward Activation Elapsed: TIME ms, for 9 iterations.",
		"Wall-clock Time Forward Conv. Elapsed: 1.5 ms, Auxiliary API calls: 2e-05 ms (GWSS: 0.1)": "Wall-clock Time Forward Conv. Elapsed: TIME ms, Auxiliary API calls: TIME ms (GWSS: TIME)",
		"stats: fwd-conv3x3u1, 1, 1, 8, 8, 3, 3, 1, 1152, 146, 128, 0, 0, 0.006776":                "stats: fwd-conv3x3u1, 1, 1, 8, 8, 3, 3, 1, 1152, 146, 128, GFLOPS, GB/S, TIME",
		"stats: fwd-activ, 12288, 12288, inf, 0.000000":                                            "stats: fwd-activ, 12288, 12288, GB/S, TIME",
		"MIOpenDriver conv -n 1 -V 1 -C /a/b":                                                      "MIOpenDriver conv -n 1 -V 1 -C REFERENCES",
		"Wrote output to file /a/b/conv_fwd_out_0":                                                 "Wrote output to file REFERENCES/conv_fwd_out_0",
		"Read data from input file /a/b/conv_fwd_out_0":                                            "Read data from input file REFERENCES/conv_fwd_out_0",
		// Untouched.
		"MIOpen Forward Conv. Algorithm: 1, Solution: 85/ConvDirectNaiveConvFwd":     "",
		"Forward Convolution Verifies OK on CPU reference (0.000638118 < 0.0656)":    "",
		"stats: name, bytesRead, bytesWritten, GB/s, timeMs":                         "",
		"stats: name, n, c, ho, wo, y, x, k, flopCnt, bytesRead, bytesWritten, GB/s": "",
		"PRNG seed: 12345678": "",
	} {
		if want == "" {
			want = line
		}
		require.Equal(t, want+"\n", Normalise(line+"\n", OutputRules...))
	}
	for _, r := range append(append([]Rule{ErrorRule}, OutputRules...), LogRules...) {
		require.NotEmpty(t, r.Name)
		require.NotEmpty(t, r.Why, r.Name)
	}
	require.Equal(t, "Forward Convolution Verifies OK on CPU reference (ERROR < 0.0656)", Normalise("Forward Convolution Verifies OK on CPU reference (0.000638118 < 0.0656)", ErrorRule))
	require.Equal(t, "Forward Convolution FAILED: 0.1 > 0.0656", Normalise("Forward Convolution FAILED: 0.1 > 0.0656", ErrorRule))
}

// TestNormaliseRecorded: two recorded runs of one problem are the same but for where the reference came from, and runs
// of which one failed are not.
func TestNormaliseRecorded(t *testing.T) {
	written, read := recorded(t, "references-written"), recorded(t, "references-read")
	require.NotEqual(t, written, read)
	read = strings.ReplaceAll(read, "Read data from input file", "Wrote output to file")
	require.Equal(t, Normalise(written, OutputRules...), Normalise(read, OutputRules...))
	require.NotEqual(t, Normalise(recorded(t, "convolution-differs"), append(OutputRules, ErrorRule)...), Normalise(recorded(t, "convolution-not-run"), append(OutputRules, ErrorRule)...))
}

func TestParseLog(t *testing.T) {
	const first = "MIOpen(HIP): Info [Handle] stream: 0x555559da3aa0, device_id: 0\n" +
		"MIOpen(HIP): Info2 [refresh_lock] Lock Refresh Active < /home/db.lock.fslock.host.10140\n" +
		"MIOpen(HIP): Info [Measure] RamDb::Prefetch time: 0.017803 ms\n" +
		"MIOpen(HIP): \treturnedAlgoCount = 32766\n" +
		"MIOpen(HIP): Info [FindConvolution] miopenConvolutionFwdAlgoGEMM\t0.005276\t1152\n" +
		"MIOpen(HIP): Info [EvaluateInvokers] GemmFwdRest: : 0.005276 < 3.40282e+38\n"
	const second = "MIOpen(HIP): Info [Handle] stream: 0x7ff0aa73eb0, device_id: 0\n" +
		"MIOpen(HIP): Info [Measure] RamDb::Prefetch time: 1.5e-02 ms\n" +
		"MIOpen(HIP): \treturnedAlgoCount = 0\n" +
		"MIOpen(HIP): Info [FindConvolution] miopenConvolutionFwdAlgoGEMM\t8.9e-03\t1152\n" +
		"MIOpen(HIP): Info2 [refresh_lock] Lock Refresh Active < /home/db.lock.fslock.host.99\n" +
		"MIOpen(HIP): Info [EvaluateInvokers] GemmFwdRest: : 0.0089885 < 3.40282e+38\n"
	a, b := ParseLog(first, LogRules...), ParseLog(second, LogRules...)
	require.Equal(t, a, b)
	require.Len(t, a.Lines, 5)
	require.Len(t, a.Locks, 1)

	for name, change := range map[string][2]string{
		"another line":      {"device_id: 0", "device_id: 1"},
		"another name":      {"[Measure]", "[Measure_impl]"},
		"another workspace": {"\t1152", "\t1153"},
		"a lock less":       {"Lock Refresh Active", "Lock Refresh Exit"},
		"another parameter": {"returnedAlgoCount", "requestAlgoCount"},
	} {
		require.NotEqual(t, a, ParseLog(strings.Replace(second, change[0], change[1], 1), LogRules...), name)
	}
}
