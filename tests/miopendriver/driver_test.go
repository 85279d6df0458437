package miopendriver_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/tests/miopendriver"
	"example.com/miopen_hipdnn_shim/tests/miopendriver/fakedriver"
	"example.com/miopen_hipdnn_shim/toolchains/rocm/layout"
)

func TestMain(m *testing.M) {
	if os.Getenv(fakedriver.Variable) != "" {
		fakedriver.Main(os.Args[1:])
	}
	os.Exit(m.Run())
}

// fake is a device on which the fake driver behaves in one way.
type fake struct {
	home, behaviour string
}

func (f fake) Command(ctx context.Context, host launch.Host, dirs []string, program string, args ...string) (*exec.Cmd, error) {
	cmd, err := host.Command(ctx, f.home, dirs, program, args...)
	if err == nil {
		cmd.Env = append(cmd.Env, fakedriver.Variable+"="+f.behaviour)
	}
	return cmd, err
}

func driver(t *testing.T, behaviour string) miopendriver.Driver {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return miopendriver.Driver{Starter: fake{t.TempDir(), behaviour}, Program: self, SystemDB: "/databases", Env: []string{"MIOPEN_OF_ROCM=1", "MIOPEN_SAME=driver"}}
}

var flat = miopendriver.Axis{Input: 8, Filter: 3, Pad: 1, Stride: 1, Dilation: 1}

func convolution(change func(*miopendriver.Convolution)) miopendriver.Convolution {
	c := miopendriver.Convolution{Batch: 1, Channels: 1, Outputs: 1, Groups: 1, Axes: []miopendriver.Axis{flat, flat}}
	if change != nil {
		change(&c)
	}
	return c
}

// TestArguments: the command lines of the investigation, and one with everything.
func TestArguments(t *testing.T) {
	all := miopendriver.AllDirections
	for want, r := range map[string]miopendriver.Request{
		"convfp16 -n 1 -c 1 -H 8 -W 8 -k 1 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1 -i 1 -V 0": {
			Operation:  convolution(func(c *miopendriver.Convolution) { c.Type = miopendriver.Half }),
			Directions: miopendriver.Forward, Timing: true, Iterations: 1},
		"gemm -m 64 -n 65 -k 66 -t 0 -V 1": {Operation: miopendriver.Gemm{M: 64, N: 65, K: 66}, Directions: miopendriver.Forward, Verify: true},
		"activ -n 1 -c 3 -H 32 -W 33 -m 3 -F 0 -t 0 -V 1": {
			Operation:  miopendriver.Activation{Function: miopendriver.ReLU, Batch: 1, Channels: 3, Height: 32, Width: 33},
			Directions: miopendriver.Forward | miopendriver.BackwardData, Verify: true},
		"convbfp16 -n 2 -c 4 --in_d 5 -H 6 -W 7 -k 6 --fil_d 1 -y 2 -x 3 --pad_d 0 -p 1 -q 2 --conv_stride_d 1 -u 2 -v 3 --dilation_d 3 -l 2 -j 1 -m conv -g 2" +
			" --spatial_dim 3 --in_layout NDHWC --fil_layout NDHWC --out_layout NDHWC -F 0 -t 0 -V 1 -C /references": {
			Operation: miopendriver.Convolution{Type: miopendriver.BFloat16, Layout: miopendriver.ChannelsLast, Batch: 2, Channels: 4, Outputs: 6, Groups: 2,
				Axes: []miopendriver.Axis{{Input: 5, Filter: 1, Pad: 0, Stride: 1, Dilation: 3}, {Input: 6, Filter: 2, Pad: 1, Stride: 2, Dilation: 2}, {Input: 7, Filter: 3, Pad: 2, Stride: 3, Dilation: 1}}},
			Directions: all, Verify: true, References: "/references"},
		"conv -n 1 -c 1 -H 8 -W 8 -k 1 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 --in_layout NHWC --fil_layout NHWC --out_layout NHWC -F 6 -t 0 -V 0": {
			Operation:  convolution(func(c *miopendriver.Convolution) { c.Layout = miopendriver.ChannelsLast }),
			Directions: miopendriver.BackwardData | miopendriver.BackwardWeights},
	} {
		args, err := r.Arguments()
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(args, " "))
	}
}

// TestChecks: what a request is owed.
func TestChecks(t *testing.T) {
	r := miopendriver.Request{Operation: convolution(nil), Directions: miopendriver.Forward | miopendriver.BackwardWeights, Verify: true}
	checks, err := r.Checks()
	require.NoError(t, err)
	require.Equal(t, []miopendriver.Check{miopendriver.ForwardConvolution, miopendriver.BackwardConvolutionWeights}, checks)
	r.Verify = false
	checks, err = r.Checks()
	require.NoError(t, err)
	require.Empty(t, checks)
}

// TestRefuses: what the driver would misunderstand, or answer with nothing, is not asked of it.
func TestRefuses(t *testing.T) {
	all := miopendriver.AllDirections
	for name, r := range map[string]miopendriver.Request{
		"no direction":             {Operation: convolution(nil)},
		"unknown direction":        {Operation: convolution(nil), Directions: 8},
		"one dimension":            {Operation: convolution(func(c *miopendriver.Convolution) { c.Axes = c.Axes[:1] }), Directions: all},
		"no batch":                 {Operation: convolution(func(c *miopendriver.Convolution) { c.Batch = 0 }), Directions: all},
		"groups":                   {Operation: convolution(func(c *miopendriver.Convolution) { c.Groups = 2 }), Directions: all},
		"no dilation":              {Operation: convolution(func(c *miopendriver.Convolution) { c.Axes[0].Dilation = 0 }), Directions: all},
		"filter does not fit":      {Operation: convolution(func(c *miopendriver.Convolution) { c.Axes[1].Dilation = 5 }), Directions: all},
		"iterations":               {Operation: convolution(nil), Directions: all, Iterations: -1},
		"references of a product":  {Operation: miopendriver.Gemm{M: 1, N: 1, K: 1}, Directions: miopendriver.Forward, References: "/r"},
		"backward product":         {Operation: miopendriver.Gemm{M: 1, N: 1, K: 1}, Directions: all},
		"empty product":            {Operation: miopendriver.Gemm{}, Directions: miopendriver.Forward},
		"bfloat16 product":         {Operation: miopendriver.Gemm{Type: miopendriver.BFloat16, M: 1, N: 1, K: 1}, Directions: miopendriver.Forward},
		"backward activation only": {Operation: miopendriver.Activation{Batch: 1, Channels: 1, Height: 1, Width: 1}, Directions: miopendriver.BackwardData},
		"bfloat16 activation":      {Operation: miopendriver.Activation{Type: miopendriver.BFloat16, Batch: 1, Channels: 1, Height: 1, Width: 1}, Directions: miopendriver.Forward},
		"sets the reference":       {Operation: convolution(nil), Directions: all, Env: []string{"MIOPEN_DRIVER_USE_GPU_REFERENCE=1"}},
	} {
		_, err := driver(t, fakedriver.Honest).Run(t.Context(), r)
		require.Error(t, err, name)
	}
}

// TestRun: the environment is the driver's, then the request's, and never compares with the device.
func TestRun(t *testing.T) {
	r := miopendriver.Request{Operation: convolution(func(c *miopendriver.Convolution) {
		c.Axes = []miopendriver.Axis{{Input: 8, Filter: 3, Stride: 1, Dilation: 1}, {Input: 8, Filter: 3, Stride: 1, Dilation: 1}}
	}),
		Directions: miopendriver.AllDirections, Verify: true, Solvers: miopendriver.AllDirections.NaiveSolvers(), Env: []string{"MIOPEN_SAME=request"}}
	out, err := driver(t, fakedriver.Honest).Run(t.Context(), r)
	require.NoError(t, err)
	checks, err := r.Checks()
	require.NoError(t, err)
	require.Empty(t, out.Report.Findings(checks), out.Stdout)
	require.Zero(t, out.Status)
	env := out.Command.Env
	for _, entry := range []string{"MIOPEN_DRIVER_USE_GPU_REFERENCE=0", "MIOPEN_SYSTEM_DB_PATH=/databases", "MIOPEN_OF_ROCM=1",
		"MIOPEN_DEBUG_FIND_ONLY_SOLVER=ConvDirectNaiveConvFwd;ConvDirectNaiveConvBwd;ConvDirectNaiveConvWrw"} {
		require.Contains(t, env, entry)
	}
	require.Less(t, slices.Index(env, "MIOPEN_SAME=driver"), slices.Index(env, "MIOPEN_SAME=request"))

	// Ends with success, and without a verdict of one direction.
	out, err = driver(t, fakedriver.Silent).Run(t.Context(), r)
	require.NoError(t, err)
	require.Zero(t, out.Status)
	require.Equal(t, []string{"backward weights convolution: no verdict"}, out.Report.Findings(checks))
}

// TestTimeout: what a driver said before it was ended is kept.
func TestTimeout(t *testing.T) {
	d := driver(t, fakedriver.Hangs)
	d.Timeout = time.Second
	r := miopendriver.Request{Operation: convolution(nil), Directions: miopendriver.AllDirections, Verify: true}
	out, err := d.Run(t.Context(), r)
	require.ErrorIs(t, err, miopendriver.ErrTimeout)
	require.Len(t, out.Report.Verdicts, 1)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = d.Run(ctx, r)
	require.ErrorIs(t, err, context.Canceled)
}

// TestOf: a ROCm's driver, with what Debian's needs.
func TestOf(t *testing.T) {
	rocm := &layout.Layout{Kind: "debian", Loader: "/ld.so", LibraryPath: []string{"/lib"}, Driver: "/bin/MIOpenDriver", SystemDB: "/db"}
	d, err := miopendriver.Of(rocm, fake{})
	require.NoError(t, err)
	require.Equal(t, []string{"MIOPEN_DEBUG_GCN_ASM_KERNELS=0"}, d.Env)
	require.Equal(t, launch.Host{Loader: "/ld.so", Libraries: []string{"/lib"}}, d.Host)
	require.Empty(t, d.Libraries)
	require.Equal(t, []string{"/split"}, d.On("/split").Libraries)
	rocm.Kind = "local"
	d, err = miopendriver.Of(rocm, fake{})
	require.NoError(t, err)
	require.Empty(t, d.Env)
	rocm.Driver = ""
	_, err = miopendriver.Of(rocm, fake{})
	require.ErrorContains(t, err, "no bin/MIOpenDriver")
}

// TestCalls: the list of 3.5.1 is the investigation's, but for what its reasons say.
func TestCalls(t *testing.T) {
	investigation, of, err := miopendriver.Calls("3.5.2")
	require.NoError(t, err)
	require.Equal(t, "3.5.2", of)
	require.Len(t, investigation, 45)
	other, of, err := miopendriver.Calls("9.9.9")
	require.NoError(t, err)
	require.Equal(t, "3.5.2", of)
	require.Equal(t, investigation, other)

	ours, of, err := miopendriver.Calls("3.5.1")
	require.NoError(t, err)
	require.Equal(t, "3.5.1", of)
	require.Len(t, ours, 44)
	without := func(calls []string, names ...string) []string {
		return slices.DeleteFunc(slices.Clone(calls), func(call string) bool { return slices.Contains(names, call) })
	}
	const attribute, solution = "miopenSetConvolutionAttribute", "miopenConvolutionForwardGetSolution"
	require.Equal(t, without(investigation, attribute, solution), without(ours, solution))
	require.NotContains(t, ours, attribute)
	require.Equal(t, slices.Index(ours, "miopenGetKernelTime")+1, slices.Index(ours, solution))
}

// TestNegateReferences: every number, of exactly the files that belong to the request.
func TestNegateReferences(t *testing.T) {
	c := miopendriver.Convolution{Batch: 1, Channels: 2, Outputs: 3, Groups: 1, Axes: []miopendriver.Axis{{Input: 5, Filter: 3, Stride: 1, Dilation: 1}, {Input: 4, Filter: 2, Stride: 1, Dilation: 1}}}
	request := func(t *testing.T) miopendriver.Request {
		r := miopendriver.Request{Operation: c, Directions: miopendriver.AllDirections, Verify: true, References: t.TempDir()}
		out, err := driver(t, fakedriver.Honest).Run(t.Context(), r)
		require.NoError(t, err)
		require.Len(t, out.Report.Wrote, 3)
		return r
	}
	r := request(t)
	file := filepath.Join(r.References, "conv_bwd_wei_1x1_GPUfloat_REFfloat")
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Len(t, before, 4*3*2*3*2)
	require.NoError(t, r.NegateReferences())
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	for i := range before {
		want := before[i]
		if i%4 == 3 {
			want ^= 0x80
		}
		require.Equal(t, want, after[i])
	}
	out, err := driver(t, fakedriver.Honest).Run(t.Context(), r)
	require.NoError(t, err)
	require.Len(t, out.Report.Read, 3)
	checks, err := r.Checks()
	require.NoError(t, err)
	require.Empty(t, out.Report.Undetected(checks))

	for name, damage := range map[string]func(folder string) error{
		"one is missing": func(folder string) error { return os.Remove(filepath.Join(folder, filepath.Base(file))) },
		"one too many": func(folder string) error {
			return os.WriteFile(filepath.Join(folder, "conv_fwd_out_2_REFfloat"), before, 0o600)
		},
		"short": func(folder string) error { return os.Truncate(filepath.Join(folder, filepath.Base(file)), 4) },
		"zeros alone": func(folder string) error {
			return os.WriteFile(filepath.Join(folder, filepath.Base(file)), make([]byte, len(before)), 0o600)
		},
		"another type": func(folder string) error {
			return os.Rename(filepath.Join(folder, filepath.Base(file)), filepath.Join(folder, "conv_bwd_wei_1x1_GPUint8_REFint32"))
		},
		"another direction twice": func(folder string) error {
			return os.Rename(filepath.Join(folder, filepath.Base(file)), filepath.Join(folder, "conv_bwd_dat_2_REFfloat"))
		},
		"gone": os.RemoveAll,
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t)
			require.NoError(t, damage(r.References))
			require.Error(t, r.NegateReferences())
		})
	}
	require.Error(t, miopendriver.Request{Operation: c, Directions: miopendriver.AllDirections, Verify: true}.NegateReferences())
}

// TestTouches: an axis whose filter meets padding alone computes zeros.
func TestTouches(t *testing.T) {
	require.True(t, flat.Touches())
	require.False(t, miopendriver.Axis{Input: 1, Filter: 1, Pad: 1, Stride: 3, Dilation: 1}.Touches())
	require.True(t, miopendriver.Axis{Input: 1, Filter: 1, Pad: 1, Stride: 1, Dilation: 1}.Touches())
}
