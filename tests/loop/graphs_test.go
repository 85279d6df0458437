package loop_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

var (
	engines    = []string{engine, engine + "_DETERMINISTIC"}
	types      = []oracle.Type{oracle.Float, oracle.Half, oracle.BFloat16}
	directions = []oracle.Direction{oracle.Forward, oracle.BackwardData, oracle.BackwardWeights}
)

// problem is a convolution with what it computes from. The tensor that it computes holds NaNs before.
type problem struct {
	name      string
	direction oracle.Direction
	conv      oracle.Convolution
	oracle.Operands
}

// draw draws a problem with small tensors, all of one layout. Bits of variant make groups, strides and dilations.
func draw(rng *rand.Rand, d oracle.Direction, typ oracle.Type, spatial int, channelsLast bool, variant int) problem {
	choose := func(bit, least int) int {
		if variant&bit == 0 {
			return 1
		}
		return least
	}
	p := problem{direction: d, conv: oracle.Convolution{Groups: choose(1, 2+rng.IntN(2))}}
	x := []int{2, p.conv.Groups * (2 + rng.IntN(2))}
	w := []int{p.conv.Groups * (1 + rng.IntN(3)), x[1] / p.conv.Groups}
	for i := range spatial {
		stride, dilation := 1, 1
		if i == spatial-1 || rng.IntN(2) == 0 { // one of them at least
			stride, dilation = choose(2, 2), choose(4, 2)
		}
		filter, pad := 2+rng.IntN(2), rng.IntN(3)
		p.conv.Pads = append(p.conv.Pads, pad)
		p.conv.Strides = append(p.conv.Strides, stride)
		p.conv.Dilations = append(p.conv.Dilations, dilation)
		x, w = append(x, dilation*(filter-1)+2+rng.IntN(3)), append(w, filter)
	}
	y, err := p.conv.OutputLengths(x, w)
	if err != nil {
		panic(err)
	}
	order := []int{0, 1, 2, 3, 4}[:spatial+2]
	if channelsLast {
		order = append(append([]int{0}, order[2:]...), 1)
	}
	p.X, p.W, p.Y, p.Alpha = oracle.Packed(typ, x, order), oracle.Packed(typ, w, order), oracle.Packed(typ, y, order), 1
	for _, t := range []struct {
		shape oracle.Tensor
		to    *[]byte
	}{{p.X, &p.XData}, {p.W, &p.WData}, {p.Y, &p.YData}} {
		*t.to = contents(rng, t.shape)
	}
	_, before := p.Result(d)
	for i := range before {
		before[i] = 0xff
	}
	p.name = fmt.Sprintf("%v/%v/%d-D/%s/%d", d, typ, spatial, map[bool]string{false: "first", true: "last"}[channelsLast], variant)
	p.name = strings.ReplaceAll(p.name, " ", "-")
	return p
}

func contents(rng *rand.Rand, t oracle.Tensor) []byte {
	data := make([]byte, t.Bytes())
	t.Each(func(_ []int, offset int) { t.Type.Put(data[offset:], rng.NormFloat64()) })
	return data
}

// drawAll draws a problem for each direction, type, number of dimensions and layout.
func drawAll() []problem {
	rng := rand.New(rand.NewPCG(20261130, 6))
	var all []problem
	for _, d := range directions {
		for spatial := 1; spatial <= 3; spatial++ {
			variant := spatial + int(d)
			for _, typ := range types {
				for _, channelsLast := range []bool{false, true} {
					all = append(all, draw(rng, d, typ, spatial, channelsLast, variant%8))
					variant += 3 // six of the eight, each bit in three of them
				}
			}
		}
	}
	return all
}

func (p *problem) tensors() string {
	return tensorLine(uidX, p.X, p.XData) + tensorLine(uidW, p.W, p.WData) + tensorLine(uidY, p.Y, p.YData)
}

// graph has the problem built for an engine and run.
func (p *problem) graph(name, engine, way string) string {
	return fmt.Sprintf("case %s\n%s%srun %s %s\n", name, p.tensors(), convolutionLine(p.direction, p.conv, uidY), engine, way)
}

// check says what is wrong with the tensors after the execution.
func (p *problem) check(after map[int][]byte) error {
	result, _ := p.Result(p.direction)
	want, err := p.conv.Compute(p.direction, p.Operands)
	if err != nil {
		return err
	}
	written := [...]int{oracle.Forward: uidY, oracle.BackwardData: uidX, oracle.BackwardWeights: uidW}[p.direction]
	wrong, err := oracle.Compare(p.X.Type, result, after[written], want)
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d of %d elements are wrong, the first: %v", len(wrong), len(want), wrong[0])
	}
	for uid, data := range map[int][]byte{uidX: p.XData, uidW: p.WData, uidY: p.YData} {
		if uid != written && !bytes.Equal(after[uid], data) {
			return fmt.Errorf("tensor %d, which is only read, was changed", uid)
		}
	}
	return nil
}

// negated is the problem with the result of the other sign.
func (p problem) negated() problem {
	of, from := p.W, &p.WData
	if p.direction == oracle.BackwardWeights {
		of, from = p.Y, &p.YData
	}
	data := slices.Clone(*from)
	of.Each(func(_ []int, offset int) { of.Type.Put(data[offset:], -of.Type.Get(data[offset:])) })
	*from = data
	return p
}

// ways are how a problem is executed on each engine, when its plan was built and when it was restored.
var ways = []struct{ built, restored string }{{"directly", "captured"}, {"captured", "directly"}}

// A graph that is captured is launched twice.
var launches = map[string]int{"directly": 1, "captured": 2}

// TestGraphs: graphs of convolutions in all directions, on both engines, give what the oracle says, whether the plan was built
// in the process or by another one, and whether it is executed or captured and replayed. Each execution is one kernel, so
// nothing else can have computed it. The controls, with kernels that do nothing, go the same way and leave the results unwritten.
func TestGraphs(t *testing.T) {
	c := newClient(t)
	idle, err := c.device.WithoutKernels()
	require.NoError(t, err)
	problems := drawAll()
	requireWidth(t, problems)

	var built strings.Builder
	calls := 0
	for i := range problems {
		for j, e := range engines {
			built.WriteString(problems[i].graph(problems[i].name+"/"+e, e, ways[j].built))
			calls += launches[ways[j].built]
		}
	}
	first := c.serve(t, c.device, built.String(), byDefinition...)
	requireComputed(t, &first, problems, calls, "built")

	var restored strings.Builder
	again := 0
	for i := range problems {
		for j, e := range engines {
			name := problems[i].name + "/" + e
			fmt.Fprintf(&restored, "case %s\n%srestore %x %s\n", name, problems[i].tensors(), first.answers[name].Plan, ways[j].restored)
			again += launches[ways[j].restored]
		}
	}
	second := c.serve(t, c.device, restored.String(), byDefinition...)
	requireComputed(t, &second, problems, again, "deserialized")

	for _, control := range []struct {
		graphs   string
		launches int
	}{{built.String(), calls}, {restored.String(), again}} {
		s := c.serve(t, idle, control.graphs, byDefinition...)
		s.requireClean(t)
		require.Equal(t, []int{0, control.launches}, []int{s.executed, s.idle})
		for i := range problems {
			for _, e := range engines {
				a := s.answers[problems[i].name+"/"+e]
				require.Zero(t, a.Status, "%s: %s: %s", problems[i].name, a.Function, a.Text)
				require.ErrorContains(t, problems[i].check(a.Tensors), "elements are wrong")
			}
		}
	}

	for i := range problems { // the judge's control
		p := problems[i].negated()
		require.ErrorContains(t, p.check(first.answers[p.name+"/"+engine].Tensors), "elements are wrong")
	}

	requireWatchedCapture(t, c, &problems[0])
	planar := slices.DeleteFunc(problems, func(p problem) bool { return len(p.conv.Pads) != 2 })
	requireOwnChoice(t, c, planar)
	requireBenchmarked(t, c, slices.DeleteFunc(planar, func(p problem) bool { return p.X.Type != oracle.Float }))
}

// requireWidth requires that each direction has groups, strides and dilations, in every number of dimensions.
func requireWidth(t *testing.T, problems []problem) {
	t.Helper()
	require.Len(t, problems, len(directions)*len(types)*3*2)
	for _, d := range directions {
		for spatial := 1; spatial <= 3; spatial++ {
			groups, strides, dilations := 0, 0, 0
			for i := range problems {
				p := &problems[i]
				if p.direction != d || len(p.conv.Pads) != spatial {
					continue
				}
				groups += min(p.conv.Groups-1, 1)
				strides += slices.Max(p.conv.Strides) - 1
				dilations += slices.Max(p.conv.Dilations) - 1
			}
			require.Positive(t, min(groups, strides, dilations), "%v in %d dimensions: %d with groups, %d strides, %d dilations", d, spatial, groups, strides, dilations)
		}
	}
}

func requireComputed(t *testing.T, s *session, problems []problem, launches int, made string) {
	t.Helper()
	for i := range problems {
		for _, e := range engines {
			p, a := &problems[i], s.answers[problems[i].name+"/"+e]
			require.Zero(t, a.Status, "%s: %s: %s", p.name, a.Function, a.Text)
			require.NotEmpty(t, a.Plan)
			require.NoError(t, p.check(a.Tensors), "%s on %s", p.name, e)
			if made == "built" {
				require.Subset(t, a.Engines, engines)
			}
		}
	}
	require.Equal(t, map[string]int{engines[0]: len(problems), engines[1]: len(problems)}, s.hipdnn.Executions)
	require.Equal(t, map[string]int{made: 2 * len(problems)}, s.hipdnn.Plans)
	require.Equal(t, []int{launches, 0}, []int{s.executed, s.idle}, "%+v", s.device.Kernels)
	s.requireClean(t)
}

// requireWatchedCapture is the control of the executions that are captured: had they waited or allocated memory, they would
// have failed. The handle is of use afterwards.
func requireWatchedCapture(t *testing.T, c *client, p *problem) {
	t.Helper()
	s := c.serve(t, c.device, p.graph("waiting", engine, "captured-waiting")+p.graph("allocating", engine, "captured-allocating")+
		p.graph("afterwards", engine, "captured"), byDefinition...)
	for name, function := range map[string]string{"waiting": "hipStreamSynchronize", "allocating": "hipMalloc"} {
		a := s.answers[name]
		require.Equal(t, -1, a.Status, name)
		require.Regexp(t, "^"+function+" gave hipError_t [1-9]", a.Text)
		require.Empty(t, a.Tensors)
	}
	a := s.answers["afterwards"]
	require.Zero(t, a.Status, a.Text)
	require.NoError(t, p.check(a.Tensors))
	require.Equal(t, launches["captured"], s.executed)
	s.requireClean(t)
}

// requireBenchmarked has MIOpen measure its solutions when plans are built, on memory of its own. What it finds goes to a database
// of this process, or others would take their solutions from there.
func requireBenchmarked(t *testing.T, c *client, problems []problem) {
	t.Helper()
	var graphs strings.Builder
	for i := range problems {
		declared, run, _ := strings.Cut(problems[i].graph(problems[i].name, engine, "captured"), "run ")
		graphs.WriteString(declared + "knob global.benchmarking 1\nrun " + run)
	}
	s := c.serve(t, c.device, graphs.String(), append(slices.Clip(byDefinition), "MIOPEN_USER_DB_PATH="+t.TempDir())...)
	for i := range problems {
		a := s.answers[problems[i].name]
		require.Zero(t, a.Status, "%s: %s: %s", problems[i].name, a.Function, a.Text)
		require.NoError(t, problems[i].check(a.Tensors), problems[i].name)
	}
	require.Greater(t, s.executed, len(problems)*launches["captured"], "none was measured")
	require.Zero(t, s.idle)
	s.requireClean(t)
}

// requireOwnChoice has MIOpen choose among all its solvers. Many need a workspace and launch several kernels of rocBLAS, which
// the simulated device leaves out; so it is only held that they are planned, executed and captured without misuse and leaks,
// and that what is computed is right.
func requireOwnChoice(t *testing.T, c *client, problems []problem) {
	t.Helper()
	var graphs strings.Builder
	for i := range problems {
		for j, e := range engines {
			graphs.WriteString(problems[i].graph(problems[i].name+"/"+e, e, ways[j].built))
		}
	}
	s := c.serve(t, c.device, graphs.String())
	s.requireClean(t)
	require.Positive(t, s.idle, "MIOpen chose no matrix product: hold the results against the oracle without exception")
	workspaces, right := 0, 0
	for i := range problems {
		p := &problems[i]
		for _, e := range engines {
			a := s.answers[p.name+"/"+e]
			require.Zero(t, a.Status, "%s: %s: %s", p.name, a.Function, a.Text)
			if a.Workspace > 0 {
				workspaces++
			}
			if err := p.check(a.Tensors); err != nil {
				require.ErrorContains(t, err, "is NaN", "%s on %s: neither right nor left out", p.name, e)
			} else {
				right++
			}
		}
	}
	t.Logf("of %d plans %d need a workspace, %d computed: all are right", len(s.answers), workspaces, right)
	require.Positive(t, min(workspaces, right))
}

// fusion is a forward convolution with what is done to its result.
type fusion struct {
	problem
	engine     string
	bias, relu bool
	biasShape  oracle.Tensor
	biasData   []byte
}

func (f *fusion) graph() string {
	const add, relu = 2, 34 // hipdnnPointwiseMode_t
	declared := fmt.Sprintf("case %s\n%s%s", f.name, f.tensors(), virtualLine(uidConvolved, f.Y))
	operations := convolutionLine(oracle.Forward, f.conv, uidConvolved)
	result := uidConvolved
	if f.bias {
		declared += tensorLine(uidBias, f.biasShape, f.biasData)
		sum := uidY
		if f.relu {
			sum = uidBiased
			declared += virtualLine(uidBiased, f.Y)
		}
		operations += fmt.Sprintf("pointwise %d %d %d %d %d\n", add, result, uidBias, sum, typeNumbers[oracle.Float])
		result = sum
	}
	if f.relu {
		operations += fmt.Sprintf("pointwise %d %d - %d %d\n", relu, result, uidY, typeNumbers[oracle.Float])
	}
	return declared + operations + "run " + f.engine + "\n"
}

// check says what is wrong with y.
func (f *fusion) check(after map[int][]byte) error {
	var e oracle.Epilogue
	if f.bias {
		e.Bias, e.BiasData = f.biasShape, f.biasData
	}
	if f.relu {
		e.Activation = oracle.ReLU
	}
	bounds, err := f.conv.Fused(f.Operands, e)
	if err != nil {
		return err
	}
	wrong, err := oracle.CompareBounds(f.Y, after[uidY], bounds)
	if err != nil || len(wrong) == 0 {
		return err
	}
	return fmt.Errorf("%d elements are wrong, the first: %v", len(wrong), wrong[0])
}

// TestFused: the MIOpen that the device tests run has none of the kernels that fuse: its packages lack the sources of those in
// assembly, and Composable Kernel. So a graph that the engines would fuse is declined, or fails when its plan is built, with a
// text that names the call; never is there a result. Nothing is left behind, and the handle serves what comes after. With a
// MIOpen that fuses the test fails, after it held the result against the oracle.
func TestFused(t *testing.T) {
	c := newClient(t)
	rng := rand.New(rand.NewPCG(20261130, 7))
	var all []fusion
	for _, typ := range types {
		for _, channelsLast := range []bool{false, true} {
			for kind := 1; kind <= 3; kind++ {
				for _, e := range engines {
					f := fusion{problem: draw(rng, oracle.Forward, typ, 2, channelsLast, 0), engine: e, bias: kind&1 != 0, relu: kind&2 != 0}
					f.name += fmt.Sprintf("/bias=%v/relu=%v/%s", f.bias, f.relu, e)
					f.biasShape = oracle.Packed(typ, []int{1, f.Y.Lengths[1], 1, 1}, nil)
					f.biasData = contents(rng, f.biasShape)
					all = append(all, f)
				}
			}
		}
	}
	var graphs strings.Builder
	for i := range all {
		graphs.WriteString(all[i].graph())
	}
	after := draw(rng, oracle.Forward, oracle.Float, 2, false, 0)
	graphs.WriteString(after.graph("afterwards", engine, "captured"))
	s := c.serve(t, c.device, graphs.String(), byDefinition...)

	outcomes := map[string]int{}
	for i := range all {
		f, a := &all[i], s.answers[all[i].name]
		switch {
		case a.Status == 0:
			require.NoError(t, f.check(a.Tensors), f.name)
			require.Fail(t, "this MIOpen fuses, and is right: have the test require that", f.name)
		case !slices.Contains(a.Engines, f.engine):
			require.Equal(t, "no engine", a.Text, f.name)
			outcomes["declined"]++
		default:
			const pluginError = 14
			require.Equal(t, pluginError, a.Status, "%s: %s: %s", f.name, a.Function, a.Text)
			require.Equal(t, "hipdnnBackendFinalize", a.Function)
			m := fusionFailure.FindStringSubmatch(a.Text)
			require.NotNil(t, m, a.Text)
			outcomes[m[1]]++
		}
		require.Empty(t, a.Tensors, f.name)
	}
	// Float, channels first, has a solver that applies, whose kernel is not there.
	require.Equal(t, map[string]int{"declined": 16, "miopenStatusUnsupportedOp": 14, "miopenStatusUnknownError": 6}, outcomes)
	a := s.answers["afterwards"]
	require.Zero(t, a.Status, a.Text)
	require.NoError(t, after.check(a.Tensors))
	require.Equal(t, launches["captured"], s.executed+s.idle, "no kernel but those of the last graph")
	s.requireClean(t)
}

var fusionFailure = regexp.MustCompile(`cannot create an execution context, status [35]: MIOpen \(private\): miopenCompileFusionPlan: (miopenStatus\w+) \(\d\): forward convolution of `)
