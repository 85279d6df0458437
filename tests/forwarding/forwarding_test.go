package forwarding_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
			"float8_fnuz": miopen.Float8Fnuz, "bfloat8_fnuz": miopen.BFloat8Fnuz,
		}[fmt.Sprint(d.Type)]
		require.True(t, ok, d.Type)
		return miopen.Tensor{Type: typ, Rank: len(d.Lengths), Dims: wide(d.Lengths), Strides: wide(d.Strides), Cast: miopen.NoCast}
	}
	v := c.Convolution
	mode, rounding := miopen.ModeConvolution, miopen.RoundingStochastic
	if c.Transposed {
		mode = miopen.ModeTranspose
	}
	if c.StandardRounding {
		rounding = miopen.RoundingStandard
	}
	_, _, err := translate.Problem(&miopen.Convolution{
		X: tensor(c.X), W: tensor(c.W), Y: tensor(c.Y), Mode: mode, Groups: int32(v.Groups), Spatial: len(v.Pads),
		Pads: wide(v.Pads), Strides: wide(v.Strides), Dilations: wide(v.Dilations), FP16Alternative: miopen.Unread, FP8Rounding: rounding,
	})
	var decline *translate.Decline
	require.True(t, err == nil || errors.As(err, &decline), err)
	return err == nil
}

// cell is what a case is one of: types, rank, layout, kind of groups, and the mode where that is not given with the types. Whether
// it is dilated does not tell.
func cell(c *convcases.Case) string {
	parts := strings.Split(c.Name, "/")
	return strings.Join(parts[1:len(parts)-1], "/")
}

// beyond is whether MIOpen's part, the reference library, cannot compute a case.
func beyond(c *convcases.Case) bool { return c.Route == convcases.Alone }

// requireRefused requires that MIOpen refused a case in the call itself, and wrote nothing.
func requireRefused(t *testing.T, c *convcases.Case, r convcases.Result) {
	t.Helper()
	require.Equal(t, "miopenConvolutionForward", r.Function, c.Name)
	want := statusBadParm // the types
	if c.Transposed {
		want = statusNotImplemented // the mode
	}
	require.Equal(t, want, r.Status, c.Name)
	require.Equal(t, c.YData, r.Y, "%s: a refused call wrote to y", c.Name)
}

// Statuses of MIOpen.
const (
	statusBadParm        = 3
	statusNotImplemented = 6
)

// tally are the problems of a cell, or of several.
type tally struct{ problems, forwarded int }

// tallies counts by cell, and sums up for the log what is of the same types, rank and mode.
type tallies map[string]*tally

func (m tallies) add(name string, forwarded bool) {
	if m[name] == nil {
		m[name] = &tally{}
	}
	m[name].problems++
	if forwarded {
		m[name].forwarded++
	}
}

// String is a line for each combination of types, rank and mode: its cells, its problems, and of the cell with the fewest forwarded
// how many these are.
func (m tallies) String() string {
	type row struct{ cells, problems, forwarded, least int }
	rows := map[string]row{}
	for name, n := range m {
		parts := strings.Split(name, "/")
		name = strings.Join(append(parts[:2:2], parts[4:]...), "/")
		r, seen := rows[name]
		if !seen || n.forwarded < r.least {
			r.least = n.forwarded
		}
		rows[name] = row{r.cells + 1, r.problems + n.problems, r.forwarded + n.forwarded, r.least}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		r := rows[name]
		fmt.Fprintf(&b, "%-40s %3d cells %6d problems %6d forwarded, at least %d in a cell\n", name, r.cells, r.problems, r.forwarded, r.least)
	}
	return b.String()
}

// TestDifferential: whatever serves a call, the oracle agrees with the result; the forwarding library counts as forwarded
// exactly those problems that have a translation; and those are most, and there are some in every cell. What MIOpen cannot compute it
// refuses when forwarding is off, so that a right result is hipDNN's.
func TestDifferential(t *testing.T) {
	const seed = 20261130
	n, m, atLeast := 1000, 1, 1
	if os.Getenv("MIOPEN_SHIM_NIGHTLY") != "" {
		n, m, atLeast = 20_000, 18_000, 50
	}
	cases := problems(seed, n)
	n = len(cases)
	cases = append(cases, convcases.GenerateBeyond(seed, m)...)
	native, forwarded := drive(t, cases), drive(t, cases, "MIOPEN_LOG_LEVEL=4")
	require.Empty(t, native.report)

	want, wantBeyond, atTheEnd, cells := 0, 0, 0, tallies{}
	for i := range cases {
		c := &cases[i]
		if beyond(c) {
			requireRefused(t, c, native.results[i])
			require.True(t, forwardable(t, c), c.Name)
			wantBeyond++
		} else {
			require.NoError(t, c.Check(native.results[i]), "native")
		}
		require.NoError(t, c.Check(forwarded.results[i]), "forwarded")
		cells.add(cell(c), forwardable(t, c))
		if forwardable(t, c) {
			want++
		}
		if c.Y.Type == oracle.Float8 || c.Y.Type == oracle.BFloat8 {
			c.Y.Each(func(_ []int, offset int) {
				if forwarded.results[i].Y[offset]&0x7f == 0x7f {
					atTheEnd++
				}
			})
		}
	}
	t.Logf("%d problems in %d cells, %d forwarded: %d of %d that MIOpen computes too (%.1f %%), and %d that it refuses; %d 8-bit results at the end of their range\n%v%s",
		len(cases), len(cells), want, want-wantBeyond, n, 100*float64(want-wantBeyond)/float64(n), wantBeyond, atTheEnd, cells, forwarded.report)
	// Types and ranks, of them one with two ranks; layouts, kinds of groups. Then the same of the two modes.
	require.Len(t, cells, (6*3+2)*4*3+(2+8)*3*4*3)
	for name, count := range cells {
		require.GreaterOrEqual(t, count.problems, atLeast, name)
		if strings.HasPrefix(name, "int8-int8/") {
			require.Zero(t, count.forwarded, "%s: a sum that lost its upper bits has no translation", name)
			continue
		}
		require.GreaterOrEqual(t, count.forwarded, atLeast, name)
	}
	require.Equal(t, counts{len(cases), want, len(cases) - want, 0}, forwarded.counts, forwarded.report)
	require.GreaterOrEqual(t, float64(want-wantBeyond), 0.6*float64(n), forwarded.report)
	require.Greater(t, atTheEnd, 100)
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

// TestBeyondControl: without forwarding, with the backend that computes nothing and for a judge who has the wrong idea, no case that is
// beyond MIOpen has the right result.
func TestBeyondControl(t *testing.T) {
	cases := convcases.GenerateBeyond(8, 1)
	o := drive(t, cases, "REFHIPDNN_EXECUTE=none")
	require.Equal(t, counts{len(cases), len(cases), 0, 0}, o.counts, o.report)
	for i := range cases {
		require.Zero(t, o.results[i].Status)
		require.Error(t, cases[i].Check(o.results[i]), "nothing was computed")
	}

	o = drive(t, cases)
	for i := range cases {
		require.Error(t, cases[i].Check(o.results[i]), "forwarding is off")
	}

	o = drive(t, cases, "MIOPEN_LOG_LEVEL=4")
	for name, mutate := range convcases.BeyondMutations {
		applied, refused := 0, 0
		for i := range cases {
			require.NoError(t, cases[i].Check(o.results[i]))
			if changed, ok := mutate(cases[i]); ok {
				applied++
				if changed.Check(o.results[i]) != nil {
					refused++
				}
			}
		}
		t.Logf("%s: %d of %d refused", name, refused, applied)
		require.Greater(t, applied, 20, name)
		require.Greater(t, refused*10, applied*7, name)
	}
}

// TestRandomRounding: 8-bit numbers that are to be rounded at random, which is MIOpen's default, are its own business.
func TestRandomRounding(t *testing.T) {
	var cases []convcases.Case
	for _, c := range convcases.GenerateBeyond(9, 1) {
		if c.StandardRounding {
			c.StandardRounding = false
			cases = append(cases, c)
		}
	}
	require.Greater(t, len(cases), 100)
	o := drive(t, cases, "MIOPEN_LOG_LEVEL=4")
	require.Equal(t, counts{len(cases), 0, len(cases), 0}, o.counts, o.report)
	require.Regexp(t, `fp8-rounding\s*│\s*`+strconv.Itoa(len(cases))+`\b`, o.report)
	for i := range cases {
		requireRefused(t, &cases[i], o.results[i])
	}
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
