package miopendriver

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Directions is a set of the passes of a layer. The numbers are those of the driver's option -F.
type Directions uint8

// The passes. An activation has Forward and BackwardData.
const (
	Forward         Directions = 1
	BackwardData    Directions = 2
	BackwardWeights Directions = 4

	AllDirections = Forward | BackwardData | BackwardWeights
)

// List is the set's members, in the order in which the driver runs them.
func (d Directions) List() []Directions {
	var list []Directions
	for _, one := range []Directions{Forward, BackwardData, BackwardWeights} {
		if d&one != 0 {
			list = append(list, one)
		}
	}
	return list
}

func (d Directions) String() string {
	names := map[Directions]string{Forward: "forward", BackwardData: "backward data", BackwardWeights: "backward weights"}
	var list []string
	for _, one := range d.List() {
		list = append(list, names[one])
	}
	return strings.Join(list, " + ")
}

// NaiveSolver is the convolution solver whose kernels compute a single direction by definition, one output element per
// thread.
func (d Directions) NaiveSolver() string {
	return map[Directions]string{Forward: "ConvDirectNaiveConvFwd", BackwardData: "ConvDirectNaiveConvBwd", BackwardWeights: "ConvDirectNaiveConvWrw"}[d]
}

// NaiveSolvers are the solvers of all members.
func (d Directions) NaiveSolvers() []string {
	var solvers []string
	for _, one := range d.List() {
		solvers = append(solvers, one.NaiveSolver())
	}
	return solvers
}

// Type is the type of a problem's tensors; the zero value is Float. The driver has it in the name of its mode.
type Type uint8

// The types.
const (
	Float Type = iota
	Half
	BFloat16
)

func (t Type) String() string { return [...]string{"float", "half", "bfloat16"}[t] }

// suffix is what follows the name of the operation.
func (t Type) suffix() string { return [...]string{"", "fp16", "bfp16"}[t] }

// Layout is the order of a tensor's dimensions in memory; the zero value is ChannelsFirst.
type Layout uint8

// The layouts: NCHW or NCDHW, and NHWC or NDHWC.
const (
	ChannelsFirst Layout = iota
	ChannelsLast
)

// Name is the layout's name for a number of spatial dimensions, 2 or 3.
func (l Layout) Name(spatial int) string {
	axes := "DHW"[3-spatial:]
	if l == ChannelsLast {
		return "N" + axes + "C"
	}
	return "NC" + axes
}

// Check is one comparison with a reference that the driver makes with -V 1.
type Check uint8

// What the driver compares.
const (
	ForwardConvolution Check = iota + 1
	BackwardConvolutionData
	BackwardConvolutionWeights
	ForwardActivation
	BackwardActivation
	ForwardGemm
)

func (c Check) String() string {
	return [...]string{"", "forward convolution", "backward data convolution", "backward weights convolution",
		"forward activation", "backward activation", "forward GEMM"}[c]
}

// Operation is a problem of one of the driver's modes: a Convolution, an Activation or a Gemm.
type Operation interface {
	fmt.Stringer

	// arguments are the mode and the problem's options. It is an error when the driver would not do what is described.
	arguments() ([]string, error)

	// direction is the option that asks for directions, nil where there is none, and the comparisons that follow with
	// -V 1. It is an error to ask for a direction that the operation has not.
	direction(Directions) ([]string, []Check, error)
}

// Axis is one spatial dimension of a convolution.
type Axis struct {
	Input, Filter, Pad, Stride, Dilation int
}

// Reach is how many input elements one position of the filter spans.
func (a Axis) Reach() int { return a.Dilation*(a.Filter-1) + 1 }

// Output is the length of the output, 0 or less when the filter does not fit.
func (a Axis) Output() int {
	room := a.Input + 2*a.Pad - a.Reach()
	if room < 0 {
		return 0
	}
	return room/a.Stride + 1
}

// Touches says whether any position of the filter has an element of the input, and not padding alone.
func (a Axis) Touches() bool {
	for out := range a.Output() {
		for tap := range a.Filter {
			if in := out*a.Stride - a.Pad + tap*a.Dilation; in >= 0 && in < a.Input {
				return true
			}
		}
	}
	return false
}

// Convolution is a cross-correlation, in the driver's modes conv, convfp16 and convbfp16. Input, filter and output
// have the same layout.
type Convolution struct {
	Type     Type
	Layout   Layout
	Batch    int
	Channels int // of the input, over all groups
	Outputs  int // channels of the output, over all groups
	Groups   int
	Axes     []Axis // depth if there are three, height, width
}

func (c Convolution) check() error {
	if len(c.Axes) != 2 && len(c.Axes) != 3 {
		return fmt.Errorf("a convolution has 2 or 3 spatial dimensions, not %d", len(c.Axes))
	}
	if c.Batch < 1 || c.Channels < 1 || c.Outputs < 1 || c.Groups < 1 {
		return errors.New("batch, channels, outputs and groups begin at 1")
	}
	if c.Channels%c.Groups != 0 || c.Outputs%c.Groups != 0 {
		return fmt.Errorf("%d groups do not divide %d channels and %d outputs", c.Groups, c.Channels, c.Outputs)
	}
	for i, a := range c.Axes {
		if a.Input < 1 || a.Filter < 1 || a.Pad < 0 || a.Stride < 1 || a.Dilation < 1 {
			return fmt.Errorf("spatial dimension %d: %+v has a length below its least", i, a)
		}
		if a.Output() < 1 {
			return fmt.Errorf("spatial dimension %d: the filter spans %d of %d elements", i, a.Reach(), a.Input+2*a.Pad)
		}
	}
	return nil
}

// Products is the number of multiplications of one direction.
func (c Convolution) Products() int {
	n := c.Batch * c.Outputs * c.Channels / c.Groups
	for _, a := range c.Axes {
		n *= a.Filter * a.Output()
	}
	return n
}

// lengths are the lengths of input, filter and output.
func (c Convolution) lengths() (input, filter, output []int) {
	input, filter, output = []int{c.Batch, c.Channels}, []int{c.Outputs, c.Channels / c.Groups}, []int{c.Batch, c.Outputs}
	for _, a := range c.Axes {
		input, filter, output = append(input, a.Input), append(filter, a.Filter), append(output, a.Output())
	}
	return input, filter, output
}

// Results is the number of elements that one direction computes.
func (c Convolution) Results(d Directions) int {
	input, filter, output := c.lengths()
	lengths := map[Directions][]int{Forward: output, BackwardData: input, BackwardWeights: filter}[d]
	n := 1
	for _, length := range lengths {
		n *= length
	}
	return n
}

func (c Convolution) String() string {
	return fmt.Sprintf("conv %v %s n%d c%d k%d g%d %s", c.Type, c.Layout.Name(len(c.Axes)), c.Batch, c.Channels, c.Outputs, c.Groups, c.axes())
}

func (c Convolution) axes() string {
	var parts []string
	for _, a := range c.Axes {
		parts = append(parts, fmt.Sprintf("%d/%dp%ds%dd%d", a.Input, a.Filter, a.Pad, a.Stride, a.Dilation))
	}
	return strings.Join(parts, " ")
}

// The driver's options of an axis: input, filter, pad, stride, dilation.
var axisOptions = [3][5]string{
	{"--in_d", "--fil_d", "--pad_d", "--conv_stride_d", "--dilation_d"},
	{"-H", "-y", "-p", "-u", "-l"},
	{"-W", "-x", "-q", "-v", "-j"},
}

func (c Convolution) arguments() ([]string, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	spatial := len(c.Axes)
	options := axisOptions[3-spatial:]
	args := []string{"conv" + c.Type.suffix(), "-n", strconv.Itoa(c.Batch), "-c", strconv.Itoa(c.Channels)}
	add := func(field int, value func(Axis) int) {
		for i, a := range c.Axes {
			args = append(args, options[i][field], strconv.Itoa(value(a)))
		}
	}
	add(0, func(a Axis) int { return a.Input })
	args = append(args, "-k", strconv.Itoa(c.Outputs))
	add(1, func(a Axis) int { return a.Filter })
	add(2, func(a Axis) int { return a.Pad })
	add(3, func(a Axis) int { return a.Stride })
	add(4, func(a Axis) int { return a.Dilation })
	args = append(args, "-m", "conv", "-g", strconv.Itoa(c.Groups))
	if spatial == 3 {
		args = append(args, "--spatial_dim", "3")
	}
	if c.Layout != ChannelsFirst {
		name := c.Layout.Name(spatial)
		args = append(args, "--in_layout", name, "--fil_layout", name, "--out_layout", name)
	}
	return args, nil
}

func (c Convolution) direction(d Directions) ([]string, []Check, error) {
	if d == 0 || d&^AllDirections != 0 {
		return nil, nil, fmt.Errorf("%v: a convolution has no directions %d", c, d)
	}
	number := int(d)
	if d == AllDirections {
		number = 0
	}
	var checks []Check
	for _, one := range d.List() {
		checks = append(checks, map[Directions]Check{Forward: ForwardConvolution, BackwardData: BackwardConvolutionData,
			BackwardWeights: BackwardConvolutionWeights}[one])
	}
	return []string{"-F", strconv.Itoa(number)}, checks, nil
}

// Activation is a function of each element, in the driver's modes activ and activfp16. The driver has no layouts here.
type Activation struct {
	Type                           Type
	Function                       Function
	Batch, Channels, Height, Width int
}

// Function is what an Activation computes: the number is MIOpen's miopenActivationMode_t. The zero value passes its
// argument through.
type Function uint8

// The functions that every release has. MIOpen knows them as miopenActivationPASTHRU and so on.
const (
	PassThrough Function = iota
	Logistic
	Tanh
	ReLU
	SoftReLU
	Abs
	Power
	ClippedReLU
	LeakyReLU
	ELU
)

// Functions are all of them.
var Functions = []Function{PassThrough, Logistic, Tanh, ReLU, SoftReLU, Abs, Power, ClippedReLU, LeakyReLU, ELU}

func (a Activation) String() string {
	return fmt.Sprintf("activ %v mode %d n%d c%d %dx%d", a.Type, a.Function, a.Batch, a.Channels, a.Height, a.Width)
}

func (a Activation) arguments() ([]string, error) {
	if a.Type == BFloat16 || min(a.Batch, a.Channels, a.Height, a.Width) < 1 {
		return nil, fmt.Errorf("%v: the driver has activations of float and half, and lengths begin at 1", a)
	}
	return []string{"activ" + a.Type.suffix(), "-n", strconv.Itoa(a.Batch), "-c", strconv.Itoa(a.Channels),
		"-H", strconv.Itoa(a.Height), "-W", strconv.Itoa(a.Width), "-m", strconv.Itoa(int(a.Function))}, nil
}

func (a Activation) direction(d Directions) ([]string, []Check, error) {
	switch d {
	case Forward:
		return []string{"-F", "1"}, []Check{ForwardActivation}, nil
	case Forward | BackwardData: // the driver has no way to ask for backward alone
		return []string{"-F", "0"}, []Check{ForwardActivation, BackwardActivation}, nil
	}
	return nil, nil, fmt.Errorf("%v: the driver runs an activation forward, or forward and backward data; not %v", a, d)
}

// Gemm is the product of an M by K and a K by N matrix, in the driver's modes gemm and gemmfp16.
type Gemm struct {
	Type    Type
	M, N, K int
}

func (g Gemm) String() string { return fmt.Sprintf("gemm %v m%d n%d k%d", g.Type, g.M, g.N, g.K) }

func (g Gemm) arguments() ([]string, error) {
	if g.Type == BFloat16 || min(g.M, g.N, g.K) < 1 {
		return nil, fmt.Errorf("%v: the driver has products of float and half, and lengths begin at 1", g)
	}
	return []string{"gemm" + g.Type.suffix(), "-m", strconv.Itoa(g.M), "-n", strconv.Itoa(g.N), "-k", strconv.Itoa(g.K)}, nil
}

func (g Gemm) direction(d Directions) ([]string, []Check, error) {
	if d != Forward {
		return nil, nil, fmt.Errorf("%v: a product has no direction but forward", g)
	}
	return nil, []Check{ForwardGemm}, nil
}
