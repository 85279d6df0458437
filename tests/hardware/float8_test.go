package hardware_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/hardware/device"
	"example.com/miopen_hipdnn_shim/tests/hardware/float8"
	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/tests/oracle"
	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/toolchains/rocm/layout"
)

// A float8Case is a convolution with operands in 8-bit floating point. The driver has none, and MIOpen compiles the kernels
// but cannot launch them, so tests/simhip/clients/float8.cpp does.
type float8Case struct {
	direction string // fwd, bwd, wrw
	element   string // of all three tensors
	casts     string // of input, filter and output, "-" for none
	geometry  float8Geometry
	seed      string // of stochastic rounding, "-" for rounding to the nearest
}

type float8Geometry struct {
	n, k, c, h, w, y, x, pad, stride, dilation, group int // channels over all groups
}

func (g float8Geometry) String() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint([]int{g.n, g.k, g.c, g.h, g.w, g.y, g.x, g.pad, g.stride, g.dilation, g.group}), "[]"), " ", ",")
}

func (g float8Geometry) output() (height, width int) {
	return (g.h+2*g.pad-g.dilation*(g.y-1)-1)/g.stride + 1, (g.w+2*g.pad-g.dilation*(g.x-1)-1)/g.stride + 1
}

// sizes are the numbers of elements of input, filter and output.
func (g float8Geometry) sizes() [3]int {
	height, width := g.output()
	return [3]int{g.n * g.c * g.h * g.w, g.k * g.c / g.group * g.y * g.x, g.n * g.k * height * width}
}

// each visits the products of a convolution: the places of their factors and of their sum, packed NCHW.
func (g float8Geometry) each(visit func(in, filter, out int)) {
	height, width := g.output()
	channels, outputs := g.c/g.group, g.k/g.group
	for n := range g.n {
		for k := range g.k {
			for c := range channels {
				in := (n*g.c + k/outputs*channels + c) * g.h * g.w
				for i := range height * width {
					for tap := range g.y * g.x {
						row := i/width*g.stride - g.pad + tap/g.x*g.dilation
						column := i%width*g.stride - g.pad + tap%g.x*g.dilation
						if row >= 0 && row < g.h && column >= 0 && column < g.w {
							visit(in+row*g.w+column, (k*channels+c)*g.y*g.x+tap, (n*g.k+k)*height*width+i)
						}
					}
				}
			}
		}
	}
}

// A float8Type is what the elements of a tensor are.
type float8Type struct {
	bytes int
	get   func([]byte) float64
	put   func([]byte, float64)
	round func(float64) float64
}

func typeOf(name string) float8Type {
	small := func(f *float8.Format) float8Type {
		return float8Type{1, func(b []byte) float64 { return f.Value(b[0]) }, func(b []byte, v float64) { b[0] = f.Nearest(v) }, f.Round}
	}
	switch name {
	case "fp8":
		return small(float8.FP8)
	case "bf8":
		return small(float8.BF8)
	case "-":
		return float8Type{round: func(v float64) float64 { return v }}
	}
	t, err := oracle.ParseType(name)
	if err != nil {
		panic(err)
	}
	return float8Type{t.Size(), t.Get, t.Put, t.Round}
}

// roles are which of input, filter and output are a direction's operands, and which its result.
func roles(direction string) (first, second, result int) {
	switch direction {
	case "fwd":
		return 0, 1, 2
	case "bwd":
		return 1, 2, 0
	}
	return 0, 2, 1
}

// expect computes the result in double precision. Sums of so few products of 8-bit numbers are exact, so the order does
// not matter, and the result is rounded once.
func (c float8Case) expect(first, second []float64) []float64 {
	casts := strings.Split(c.casts, ",")
	one, two, result := roles(c.direction)
	sums := make([]float64, c.geometry.sizes()[result])
	c.geometry.each(func(in, filter, out int) {
		places := [3]int{in, filter, out}
		sums[places[result]] += typeOf(casts[one]).round(first[places[one]]) * typeOf(casts[two]).round(second[places[two]])
	})
	for i, sum := range sums {
		sums[i] = typeOf(c.element).round(sum)
	}
	return sums
}

// float8Bench runs the client.
type float8Bench struct {
	rocm   *layout.Layout
	split  string
	client string
	device *device.Device
	dir    string
}

func newFloat8Bench(t *testing.T) float8Bench {
	t.Helper()
	path, err := runfile.Path("LAYOUT")
	require.NoError(t, err)
	rocm, err := layout.Load(path)
	require.NoError(t, err)
	split, err := runfile.Dir("SHIM", "manifest.json")
	require.NoError(t, err)
	client, err := runfile.Path("FLOAT8")
	require.NoError(t, err)
	return float8Bench{rocm, split, client, device.Take(t), t.TempDir()}
}

// draw makes elements of a type that are no numbers of an 8-bit format, mostly, and small enough for sums in all of them.
func draw8(random *rand.Rand, element string, count int) []float64 {
	values := make([]float64, count)
	for i := range values {
		values[i] = typeOf(element).round(random.NormFloat64())
	}
	return values
}

// run runs the client on a device and returns the result and what the client said.
func (b float8Bench) run(t *testing.T, on *device.Device, dirs []string, c float8Case, first, second []float64) ([]float64, string) {
	t.Helper()
	_, _, result := roles(c.direction)
	element := typeOf(c.element)
	args := []string{c.direction, strings.Join([]string{c.element, c.element, c.element}, ","), c.casts, c.geometry.String(), c.seed}
	for i, values := range [][]float64{first, second} {
		content := make([]byte, len(values)*element.bytes)
		for j, v := range values {
			element.put(content[j*element.bytes:], v)
		}
		path := filepath.Join(b.dir, fmt.Sprintf("operand%d", i))
		require.NoError(t, os.WriteFile(path, content, 0o600))
		args = append(args, path)
	}
	written := filepath.Join(b.dir, "result")
	require.NoError(t, os.RemoveAll(written))
	cmd := b.command(t, on, dirs, append(args, written)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	require.NoError(t, err, "%s%s", stdout, stderr.String())

	content, err := os.ReadFile(written)
	require.NoError(t, err)
	require.Len(t, content, c.geometry.sizes()[result]*element.bytes)
	values := make([]float64, len(content)/element.bytes)
	for i := range values {
		values[i] = element.get(content[i*element.bytes:])
	}
	report, err := on.Report(cmd)
	if err != nil {
		require.ErrorIs(t, err, device.ErrHardware)
		return values, string(stdout)
	}
	require.Zero(t, report.ViolationCount, "%v", report.Violations)
	require.Zero(t, report.Leaks, "the client frees all, and so does MIOpen")
	require.Len(t, report.Kernels, 1)
	kernel := report.Kernels[0]
	require.Contains(t, kernel.Name, "naive_conv_nonpacked_"+c.direction)
	require.Zero(t, kernel.Failed, kernel.Note)
	require.Equal(t, report.Device.Execute, kernel.Executed == 1, kernel.Note)
	require.Equal(t, 1, kernel.Executed+kernel.NoOp)
	return values, string(stdout)
}

func (b float8Bench) command(t *testing.T, on *device.Device, dirs []string, args ...string) *exec.Cmd {
	t.Helper()
	host := launch.Host{Loader: b.rocm.Loader, Libraries: b.rocm.LibraryPath}
	cmd, err := on.Command(context.WithoutCancel(t.Context()), host, dirs, b.client, args...)
	require.NoError(t, err)
	return cmd
}

var float8Small = float8Geometry{n: 2, k: 4, c: 6, h: 7, w: 5, y: 3, x: 2, pad: 1, stride: 2, dilation: 1, group: 2}

// TestFloat8 holds the kernels of all directions against a computation from the definition, to the last bit, for all types
// that MIOpen can compile them for. (It cannot for bfloat16, and what it compiles for bf8 tensors without casts takes
// their bits for those of fp8.) The control is the same with a kernel that does nothing.
func TestFloat8(t *testing.T) {
	b := newFloat8Bench(t)
	idle, err := b.device.WithoutKernels()
	if err != nil {
		require.ErrorIs(t, err, device.ErrHardware)
		t.Log("no control on this device")
	}
	random := rand.New(rand.NewPCG(8, 8))
	dilated := float8Geometry{n: 1, k: 3, c: 2, h: 9, w: 8, y: 2, x: 3, pad: 2, stride: 1, dilation: 2, group: 1}
	for _, direction := range []string{"fwd", "bwd", "wrw"} {
		one, two, _ := roles(direction)
		for _, types := range []struct{ element, first, second string }{
			{"half", "fp8", "fp8"}, {"half", "bf8", "fp8"}, {"float", "fp8", "bf8"}, {"float", "bf8", "bf8"}, {"fp8", "-", "-"}, {"bf8", "bf8", "bf8"},
		} {
			casts := [3]string{"-", "-", "-"}
			casts[one], casts[two] = types.first, types.second
			c := float8Case{direction: direction, element: types.element, casts: strings.Join(casts[:], ","), seed: "-"}
			t.Run(direction+" "+types.element+" "+c.casts, func(t *testing.T) {
				for _, c.geometry = range []float8Geometry{float8Small, dilated} {
					sizes := c.geometry.sizes()
					first, second := draw8(random, c.element, sizes[one]), draw8(random, c.element, sizes[two])
					want := c.expect(first, second)
					got, said := b.run(t, b.device, nil, c, first, second)
					require.Equal(t, want, got, "%v", c.geometry)
					// MIOpen's own way to the kernel ends here. Where it does not, it is to be tested instead.
					require.Contains(t, said, "missing: naive_conv_ab_nonpacked_"+c.direction)
					require.NotContains(t, said, "MIOpen: miopenStatusSuccess")

					split, saidSplit := b.run(t, b.device, []string{b.split}, c, first, second)
					require.Equal(t, got, split)
					require.Equal(t, said, saidSplit)
					if idle != nil {
						nothing, _ := b.run(t, idle, nil, c, first, second)
						require.NotEqual(t, want, nothing, "the control passes")
					}
				}
			})
		}
	}
}

// TestFloat8Stochastic: with random rounding each operand becomes one of the two numbers beside it, and not always the
// nearest; the same seed gives the same. The other operand is 1, so the results are the rounded operand.
func TestFloat8Stochastic(t *testing.T) {
	b := newFloat8Bench(t)
	random := rand.New(rand.NewPCG(8, 9))
	for _, format := range []*float8.Format{float8.FP8, float8.BF8} {
		c := float8Case{direction: "fwd", element: "float", casts: fmt.Sprintf("%v,%v,-", format, format), seed: "12345",
			geometry: float8Geometry{n: 3, k: 1, c: 1, h: 16, w: 16, y: 1, x: 1, stride: 1, dilation: 1, group: 1}}
		values := draw8(random, c.element, c.geometry.sizes()[0])
		got, _ := b.run(t, b.device, nil, c, values, []float64{1})
		farther := 0
		for i, v := range values {
			below, above := format.Around(v)
			require.Contains(t, []float64{below, above}, got[i], "%v", v)
			if got[i] != format.Round(v) {
				farther++
			}
		}
		t.Logf("%v: %d of %d not rounded to the nearest", format, farther, len(values))
		require.Greater(t, farther, len(values)/10)
		again, _ := b.run(t, b.device, nil, c, values, []float64{1})
		require.Equal(t, got, again)
		c.seed = "54321"
		other, _ := b.run(t, b.device, nil, c, values, []float64{1})
		require.NotEqual(t, got, other)
		c.seed = "-"
		nearest, _ := b.run(t, b.device, nil, c, values, []float64{1})
		require.Equal(t, c.expect(values, []float64{1}), nearest)
	}
}

// TestFloat8Client: the client refuses what it does not understand.
func TestFloat8Client(t *testing.T) {
	b := newFloat8Bench(t)
	for name, args := range map[string][]string{
		"nothing":   nil,
		"direction": {"up", "half,half,half", "fp8,fp8,-", float8Small.String(), "-", "a", "b", "c"},
		"type":      {"fwd", "half,half,nibble", "fp8,fp8,-", float8Small.String(), "-", "a", "b", "c"},
		"geometry":  {"fwd", "half,half,half", "fp8,fp8,-", "1,2,3", "-", "a", "b", "c"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := b.command(t, b.device, nil, args...)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Equal(t, 2, cmd.ProcessState.ExitCode(), "%s", out)
		})
	}
}
