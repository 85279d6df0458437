package forwarding_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
	"example.com/miopen_hipdnn_shim/tests/oracle"
	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

func file(t *testing.T, variable string) string {
	t.Helper()
	path, err := runfile.Path(variable)
	require.NoError(t, err)
	return path
}

// counts are the numbers of one entry point in the report at exit.
type counts struct{ calls, forwarded, native, failed int }

// outcome is what a run of the driver gave.
type outcome struct {
	results []convcases.Result
	stderr  string
	report  string
	counts  counts
}

var convolutionRow = regexp.MustCompile(`miopenConvolutionForward\s*│\s*(\d+)\s*│\s*(\d+)\s*│\s*(\d+)\s*│\s*(\d+)`)

// drive runs cases with forwarding on, or off when there is no environment for it.
func drive(t *testing.T, cases []convcases.Case, forwarding ...string) outcome {
	t.Helper()
	split, err := runfile.Dir("SHIM", "manifest.json")
	require.NoError(t, err)
	var in, stdout, stderr bytes.Buffer
	require.NoError(t, convcases.Write(&in, cases))
	report := filepath.Join(t.TempDir(), "report")
	cmd := exec.CommandContext(t.Context(), file(t, "CONVRUN"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &stdout, &stderr
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join([]string{split, filepath.Dir(file(t, "BRIDGE")), filepath.Dir(file(t, "REFHIPDNN"))}, ":"))
	if len(forwarding) > 0 {
		cmd.Env = append(append(cmd.Env, "MIOPEN_HIPDNN_FORWARDING=1", "MIOPEN_HIPDNN_FORWARDING_REPORT=file:"+report), forwarding...)
	}
	require.NoError(t, cmd.Run(), stderr.String())
	o := outcome{stderr: stderr.String()}
	o.results, err = convcases.Parse(&stdout)
	require.NoError(t, err)
	require.Len(t, o.results, len(cases))
	text, err := os.ReadFile(report)
	if errors.Is(err, os.ErrNotExist) {
		return o
	}
	require.NoError(t, err)
	o.report = string(text)
	m := convolutionRow.FindStringSubmatch(o.report)
	require.NotNil(t, m, o.report)
	for i, n := range []*int{&o.counts.calls, &o.counts.forwarded, &o.counts.native, &o.counts.failed} {
		*n, err = strconv.Atoi(m[1+i])
		require.NoError(t, err)
	}
	return o
}

// problems are seeded cases that call miopenConvolutionForward, four fifths of them with scalars of one and zero.
func problems(seed uint64, n int) []convcases.Case {
	rng := rand.New(rand.NewPCG(seed, 1))
	cases := convcases.Generate(seed, n)
	for i := range cases {
		c := &cases[i]
		c.Route = convcases.Find
		if rng.IntN(5) > 0 {
			c.Alpha, c.Beta = 1, 0
		}
	}
	return cases
}

// forwardable is whether a case has an exact translation.
func forwardable(t *testing.T, c *convcases.Case) bool {
	t.Helper()
	if translate.CheckScalars(miopen.Scalars{Alpha: c.Alpha, Beta: c.Beta, AlphaSet: true, BetaSet: true}) != translate.NoReason {
		return false
	}
	wide := func(values []int) (out []int64) {
		for _, v := range values {
			out = append(out, int64(v))
		}
		return out
	}
	tensor := func(d oracle.Tensor) miopen.Tensor {
		typ, ok := map[string]miopen.DataType{
			"half": miopen.Half, "bfloat16": miopen.BFloat16, "float": miopen.Float, "double": miopen.Double, "int8": miopen.Int8, "int32": miopen.Int32,
		}[fmt.Sprint(d.Type)]
		require.True(t, ok, d.Type)
		return miopen.Tensor{Type: typ, Rank: len(d.Lengths), Dims: wide(d.Lengths), Strides: wide(d.Strides), Cast: miopen.NoCast}
	}
	v := c.Convolution
	_, _, err := translate.Problem(&miopen.Convolution{
		X: tensor(c.X), W: tensor(c.W), Y: tensor(c.Y), Mode: miopen.ModeConvolution, Groups: int32(v.Groups), Spatial: len(v.Pads),
		Pads: wide(v.Pads), Strides: wide(v.Strides), Dilations: wide(v.Dilations), FP16Alternative: miopen.Unread,
	})
	var decline *translate.Decline
	require.True(t, err == nil || errors.As(err, &decline), err)
	return err == nil
}

// cell is what a case is one of, without its dilation: all of these have to be covered.
func cell(c *convcases.Case) string {
	parts := strings.Split(c.Name, "/")
	return strings.Join(parts[1:5], "/")
}

// TestDifferential: whatever serves a call, the oracle agrees with the result; the forwarding library counts as forwarded
// exactly those problems that have a translation; and those are most, in every cell.
func TestDifferential(t *testing.T) {
	const seed = 20261130
	n, atLeast := 1000, 1
	if os.Getenv("MIOPEN_SHIM_NIGHTLY") != "" {
		n, atLeast = 20_000, 50
	}
	cases := problems(seed, n)
	native, forwarded := drive(t, cases), drive(t, cases, "MIOPEN_LOG_LEVEL=4")
	require.Empty(t, native.report)

	want, cells := 0, map[string]int{}
	for i := range cases {
		c := &cases[i]
		require.NoError(t, c.Check(native.results[i]), "native")
		require.NoError(t, c.Check(forwarded.results[i]), "forwarded")
		cells[cell(c)]++
		if forwardable(t, c) {
			want++
		}
	}
	for name, count := range cells {
		require.GreaterOrEqual(t, count, atLeast, name)
	}
	require.Equal(t, counts{len(cases), want, len(cases) - want, 0}, forwarded.counts, forwarded.report)
	require.GreaterOrEqual(t, float64(want), 0.6*float64(len(cases)), forwarded.report)
	t.Logf("%d problems in %d cells, %d forwarded (%.1f %%)\n%s", len(cases), len(cells), want, 100*float64(want)/float64(len(cases)), forwarded.report)
}

// TestDifferentialControl: a backend that computes nothing is found out.
func TestDifferentialControl(t *testing.T) {
	cases := problems(7, 60)
	o := drive(t, cases, "REFHIPDNN_EXECUTE=none")
	wrong := 0
	for i := range cases {
		if cases[i].Check(o.results[i]) != nil {
			require.True(t, forwardable(t, &cases[i]), "%s was not forwarded", cases[i].Name)
			wrong++
		}
	}
	require.Positive(t, o.counts.forwarded)
	require.Equal(t, o.counts.forwarded, wrong, "every forwarded result")
}

// TestFallback: what hipDNN cannot do before anything was enqueued, MIOpen does; what fails afterwards is an error.
func TestFallback(t *testing.T) {
	cases := problems(3, 40)
	check := func(o outcome) (failed int) {
		for i := range cases {
			if o.results[i].Status != 0 {
				failed++
				continue
			}
			require.NoError(t, cases[i].Check(o.results[i]))
		}
		return failed
	}
	for _, failure := range []string{"hipdnnCreate", "hipdnnBackendCreateDescriptor", "hipdnnBackendSetAttribute", "hipdnnBackendFinalize"} {
		o := drive(t, cases, "REFHIPDNN_FAIL="+failure+":1+=INTERNAL_ERROR")
		require.Zero(t, check(o), failure)
		require.Equal(t, counts{len(cases), 0, len(cases), 0}, o.counts, "%s: %s", failure, o.report)
		require.Contains(t, o.stderr, "MIOpen serves ", failure)
	}
	o := drive(t, cases, "REFHIPDNN_FAIL=hipdnnBackendExecute:1+=EXECUTION_FAILED")
	require.Positive(t, o.counts.failed)
	require.Equal(t, o.counts.failed, check(o), "%s\n%s", o.report, o.stderr)

	o = drive(t, cases, "HIPDNN_BACKEND_LIBRARY_PATH=/nonexistent/libhipdnn_backend.so")
	require.Zero(t, check(o))
	require.Equal(t, counts{len(cases), 0, len(cases), 0}, o.counts)
	require.Contains(t, o.stderr, "/nonexistent/libhipdnn_backend.so")
	o = drive(t, cases, "HIPDNN_BACKEND_LIBRARY_PATH=/nonexistent/libhipdnn_backend.so", "MIOPEN_HIPDNN_FORWARDING_POLICY=strict")
	require.Equal(t, len(cases), check(o), "strict: all of them fail")
}

// TestDenied: an entry point that is on the deny list goes native, and forwarding of convolutions can be switched off.
func TestDenied(t *testing.T) {
	cases := problems(4, 20)
	for _, variable := range []string{"MIOPEN_DISABLE_HIPDNN_FOR=miopenConvolutionForward", "MIOPEN_DISABLE_HIPDNN_FOR=*", "MIOPEN_HIPDNN_FORWARDING_CONV=0"} {
		o := drive(t, cases, variable)
		require.Equal(t, counts{len(cases), 0, len(cases), 0}, o.counts, variable)
		require.Contains(t, o.report, "disabled-by-env")
		for i := range cases {
			require.NoError(t, cases[i].Check(o.results[i]))
		}
	}
}
