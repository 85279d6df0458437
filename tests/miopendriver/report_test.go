package miopendriver

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorded is what MIOpenDriver 3.5.1 printed, with the machine's name and system taken out.
func recorded(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	require.NoError(t, err)
	require.NotEmpty(t, data)
	return string(data)
}

var (
	threeDirections = []Check{ForwardConvolution, BackwardConvolutionData, BackwardConvolutionWeights}
	twoDirections   = []Check{ForwardActivation, BackwardActivation}
)

// finding says whether one of the findings has the text.
func finding(findings []string, text string) bool {
	return slices.ContainsFunc(findings, func(f string) bool { return strings.Contains(f, text) })
}

func TestParse(t *testing.T) {
	r := Parse(recorded(t, "convolution-verified"))
	require.Equal(t, "MIOpenDriver conv -n 1 -c 3 -H 32 -W 32 -k 16 -y 3 -x 3 -p 1 -q 1 -F 0 -t 1 -V 1", r.Command)
	require.Equal(t, "3.5.1", r.Version)
	require.Equal(t, []Solution{
		{Forward, 1, 85, "ConvDirectNaiveConvFwd"},
		{BackwardData, 1, 86, "ConvDirectNaiveConvBwd"},
		{BackwardWeights, 1, 87, "ConvDirectNaiveConvWrw"},
	}, r.Solutions)
	require.Len(t, r.Verdicts, 3)
	require.Equal(t, Verdict{Check: BackwardConvolutionWeights, Outcome: Verified, Error: 0, Tolerance: 3e-06, Reference: "CPU",
		Line: "Backward Convolution Weights Verifies OK on CPU reference (0 < 3e-06)"}, r.Verdicts[2])
	require.Len(t, r.Stats, 3)
	require.Equal(t, "fwd-conv3x3u1", r.Stats[0]["name"])
	require.Equal(t, "0.249441", r.Stats[0]["timeMs"])
	require.Len(t, r.Elapsed, 3)
	require.Len(t, r.Other, 2)
	require.Empty(t, r.Doubtful)
	require.Empty(t, r.Cut)

	for name, want := range map[string][2]int{"references-written": {3, 0}, "references-read": {0, 3}} {
		r := Parse(recorded(t, name))
		require.Equal(t, want, [2]int{len(r.Wrote), len(r.Read)}, name)
		require.Empty(t, r.Findings(threeDirections), name)
		require.InDelta(t, 0.000638118, r.Verdicts[0].Error, 1e-12)
		require.Equal(t, "3", r.Stats[0]["do"])
	}
}

// TestFindings: every recorded output against what was asked for, and what is said about it.
func TestFindings(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		checks []Check
		says   []string // nothing: it is verified
	}{
		"verified":            {recorded(t, "convolution-verified"), threeDirections, nil},
		"verified activation": {recorded(t, "activation-verified"), twoDirections, nil},
		"verified product":    {"Forward GEMM Verifies on CPU and GPU (err=0.000000)\n", []Check{ForwardGemm}, nil},
		"differs": {recorded(t, "convolution-differs"), threeDirections,
			[]string{"forward convolution differs", "backward data convolution differs", "backward weights convolution differs"}},
		"activation differs": {recorded(t, "activation-differs"), twoDirections,
			[]string{"forward activation differs", "backward activation differs"}},
		"product differs": {recorded(t, "gemm-differs"), []Check{ForwardGemm}, []string{"forward GEMM differs"}},
		"not run": {recorded(t, "convolution-not-run"), threeDirections,
			[]string{"may be a verdict: \"RunBackwardGPU() FAILED", "backward data convolution not run", "backward weights convolution not run"}},
		"compared with itself": {recorded(t, "convolution-device-reference"), threeDirections,
			[]string{"compared with the device itself", "compared with the device itself", "compared with the device itself"}},
		"refused": {recorded(t, "refused"), threeDirections,
			[]string{"forward convolution: no verdict", "backward data convolution: no verdict", "backward weights convolution: no verdict", "ends within a line"}},
		"empty":         {"", []Check{ForwardConvolution}, []string{"forward convolution: no verdict"}},
		"nothing asked": {"PRNG seed: 12345678\n", nil, []string{"nothing was to be verified"}},
		"not asked for": {recorded(t, "convolution-verified"), threeDirections[:2], []string{"backward weights convolution: nobody asked for it"}},
		"another operation": {recorded(t, "activation-verified"), []Check{ForwardConvolution},
			[]string{"forward activation: nobody asked", "backward activation: nobody asked", "forward convolution: no verdict"}},
		"twice": {recorded(t, "gemm-differs") + "Forward GEMM Verifies on CPU and GPU (err=0.000000)\n", []Check{ForwardGemm},
			[]string{"forward GEMM: 2 verdicts", "forward GEMM differs"}},
		"unknown verdict": {recorded(t, "convolution-verified") + "Backward Convolution Bias Verifies OK on CPU reference (0)\n", threeDirections,
			[]string{"may be a verdict: \"Backward Convolution Bias"}},
		"no number":              {"Forward Convolution FAILED: much > 1.5e-06\n", []Check{ForwardConvolution}, []string{"forward convolution: no verdict", "may be a verdict"}},
		"an exception":           {"terminate called after throwing an instance of 'std::runtime_error'\n", []Check{ForwardGemm}, []string{"no verdict", "may be a verdict"}},
		"passed above tolerance": {"Forward Convolution Verifies OK on CPU reference (2e-06 < 1.5e-06)\n", []Check{ForwardConvolution}, []string{"above its tolerance"}},
	} {
		t.Run(name, func(t *testing.T) {
			findings := Parse(c.output).Findings(c.checks)
			require.Len(t, findings, len(c.says), "%q", findings)
			for _, text := range c.says {
				require.True(t, finding(findings, text), "%q is not in %q", text, findings)
			}
		})
	}
}

// TestCut: no beginning of a verified output is verified, wherever it was cut.
func TestCut(t *testing.T) {
	for name, checks := range map[string][]Check{"convolution-verified": threeDirections, "activation-verified": twoDirections, "references-read": threeDirections} {
		output := recorded(t, name)
		for end := range len(output) {
			require.NotEmpty(t, Parse(output[:end]).Findings(checks), "%s cut at %d", name, end)
		}
		require.Empty(t, Parse(output).Findings(checks))
	}
}

// TestLineMissing: an output without one of its verdicts is not verified.
func TestLineMissing(t *testing.T) {
	lines := slices.Collect(strings.Lines(recorded(t, "convolution-verified")))
	missing := 0
	for i, line := range lines {
		rest := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
		if strings.Contains(line, "Verifies") {
			missing++
			require.NotEmpty(t, Parse(rest).Findings(threeDirections))
		}
	}
	require.Equal(t, 3, missing)
}

// TestUndetected: a control fails when each check is there and found a difference, and only then.
func TestUndetected(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		checks []Check
		says   string
	}{
		"convolution":  {recorded(t, "convolution-differs"), threeDirections, ""},
		"activation":   {recorded(t, "activation-differs"), twoDirections, ""},
		"passes":       {recorded(t, "convolution-verified"), threeDirections, "verified"},
		"did not run":  {recorded(t, "convolution-not-run"), threeDirections, "not run"},
		"said nothing": {"", threeDirections, "no verdict"},
		"no checks":    {"", nil, "nothing was to be verified"},
	} {
		undetected := Parse(c.output).Undetected(c.checks)
		if c.says == "" {
			require.Empty(t, undetected, name)
		} else {
			require.True(t, finding(undetected, c.says), "%s: %q", name, undetected)
		}
	}
	require.True(t, math.IsNaN(Parse(recorded(t, "convolution-differs")).Verdicts[0].Error))
	require.Equal(t, Differs, Parse("Forward Convolution FAILED: inf > 1.5e-06\n").Verdicts[0].Outcome)
}

// TestStats: a line of measurements that does not fit the names before it says nothing certain.
func TestStats(t *testing.T) {
	r := Parse("stats: fwd-conv3x3u1, 1\nstats: name, n\nstats: fwd-conv3x3u1, 1\nstats: fwd-conv3x3u1, 1, 2\n")
	require.Equal(t, []Stats{{"name": "fwd-conv3x3u1", "n": "1"}}, r.Stats)
	require.Len(t, r.Doubtful, 2)
}
