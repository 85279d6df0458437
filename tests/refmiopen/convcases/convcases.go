// Package convcases makes convolutions for the driver tests/refmiopen/driver/convrun.c, forward, backward
// and fused, and judges what it printed by the oracle.
//
// It knows the driver's text format and the oracle. It does not run anything: whoever has a driver,
// linked against whichever library, writes the cases to its standard input and hands its output to
// Parse. That way the same cases and the same verdict serve the reference library, a split of it and
// everything else that computes on the CPU.
package convcases

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// Route is how a case makes its algorithm callable.
type Route string

// The routes of the driver.
const (
	Find       Route = "find"
	Compile    Route = "compile"
	Immediate  Route = "immediate"  // alpha and beta are 1 and 0
	Find2      Route = "find2"      // miopenFindSolutions and miopenRunSolution, likewise
	Assume     Route = "assume"     // an earlier case made it callable, or none did
	Unprepared Route = "unprepared" // on a handle of its own
	Alone      Route = "alone"      // nothing is called but the convolution, and there is no workspace

	// The routes of fused convolutions.
	Plan  Route = "plan"  // a fusion plan
	Fused Route = "fused" // miopenConvolutionBiasActivationForward

	// ForwardBias adds Fusion's bias to y by miopenConvolutionForwardBias, and nothing else. Check does
	// not know it.
	ForwardBias Route = "bias"
)

// Algorithm is an algorithm by the driver's name for it.
type Algorithm string

// The algorithms that the reference library has, the third one for the gradient of the weights only,
// and one that it has not.
const (
	GEMM         Algorithm = "gemm"
	Direct       Algorithm = "direct"
	ImplicitGEMM Algorithm = "implicitgemm"
	Winograd     Algorithm = "winograd"
)

// Workspace is how much workspace a case hands over.
type Workspace string

// The sizes, relative to what the library asks for.
const (
	Full  Workspace = "full"
	Short Workspace = "short"
	None  Workspace = "none"
)

// Case is one convolution and the way to run it. What the direction computes is, in the operands, what
// it holds before.
type Case struct {
	Name          string
	Convolution   oracle.Convolution
	Direction     oracle.Direction
	Deterministic bool // the attribute
	// Transposed says that the mode is miopenTranspose: y is what the gradient of the data is of a
	// convolution that reads y's shape and gives x's. Forward only.
	Transposed bool
	// StandardRounding is an attribute, for 8-bit floating types: to nearest, not at random.
	StandardRounding bool
	oracle.Operands
	Fusion    *Fusion // nil for a convolution alone; forward only
	Route     Route
	Algorithm Algorithm
	Workspace Workspace
}

// Fusion is what a fused convolution does before it stores: what it adds is optional, as in
// oracle.Epilogue.
type Fusion struct {
	Bias       oracle.Tensor
	BiasData   []byte
	Add        oracle.Tensor
	AddData    []byte
	AddScale   float64
	Activation Activation
}

// Activation is an activation by the driver's name for it and its parameters. Without a name there is
// none.
type Activation struct {
	Name        string
	Alpha, Beta float64
}

// function is the oracle's.
func (a Activation) function() (oracle.Activation, error) {
	switch a.Name {
	case "", "identity":
		return nil, nil
	case "relu":
		return oracle.ReLU, nil
	case "clippedrelu":
		return oracle.ClippedReLU(a.Alpha), nil
	case "leakyrelu":
		return oracle.LeakyReLU(a.Alpha), nil
	case "clamp":
		return oracle.Clamp(a.Alpha, a.Beta), nil
	}
	return nil, fmt.Errorf("the oracle has no activation %s", a.Name)
}

// Result is what the driver printed for a case.
type Result struct {
	Name      string
	Output    []int // nil when the library did not say
	Workspace int   // bytes; -1 when the library did not say
	Solutions []Algorithm
	Found     []Algorithm
	Timed     bool
	Y         []byte // what was computed, whichever tensor that is
	Status    int
	Function  string // the last function that was called
}

// Write writes cases in the driver's format.
func Write(w io.Writer, cases []Case) error {
	b := bufio.NewWriter(w)
	for i := range cases {
		c := &cases[i]
		fmt.Fprintf(b, "case %s\n", c.Name)
		writeTensor(b, "x", c.X, c.XData)
		writeTensor(b, "w", c.W, c.WData)
		writeTensor(b, "y", c.Y, c.YData)
		v := c.Convolution
		fmt.Fprintf(b, "conv %s %s %s %d\n", list(v.Pads), list(v.Strides), list(v.Dilations), v.Groups)
		if c.Transposed {
			fmt.Fprintf(b, "transpose %s\n", list(c.outputPads()))
		}
		if c.StandardRounding {
			fmt.Fprintln(b, "rounding 0")
		}
		fmt.Fprintf(b, "scale %x %x\n", c.Alpha, c.Beta)
		if c.Direction != oracle.Forward {
			fmt.Fprintf(b, "direction %s\n", strings.TrimPrefix(c.Direction.String(), "backward "))
		}
		if c.Deterministic {
			fmt.Fprintln(b, "deterministic 1")
		}
		if f := c.Fusion; f != nil {
			if f.BiasData != nil {
				writeTensor(b, "bias", f.Bias, f.BiasData)
			}
			if f.AddData != nil {
				writeTensor(b, fmt.Sprintf("add %x", f.AddScale), f.Add, f.AddData)
			}
			if a := f.Activation; a.Name != "" {
				fmt.Fprintf(b, "activation %s %x %x\n", a.Name, a.Alpha, a.Beta)
			}
		}
		fmt.Fprintf(b, "run %s %s %s\n", c.Route, c.Algorithm, c.Workspace)
	}
	return b.Flush()
}

// computation is what the oracle computes for the case.
func (c *Case) computation() (oracle.Direction, oracle.Operands) {
	o := c.Operands
	if !c.Transposed {
		return c.Direction, o
	}
	o.X, o.XData, o.Y, o.YData = o.Y, o.YData, o.X, o.XData
	return oracle.BackwardData, o
}

// outputPads are how many elements of y lie beyond what the last position of the filter reaches, which a
// transposed convolution cannot know from x.
func (c *Case) outputPads() []int {
	v := c.Convolution
	pads := make([]int, len(v.Pads))
	for i := range pads {
		reach := v.Dilations[i]*(c.W.Lengths[2+i]-1) + 1
		pads[i] = (c.Y.Lengths[2+i] + 2*v.Pads[i] - reach) % v.Strides[i]
	}
	return pads
}

func writeTensor(w io.Writer, name string, t oracle.Tensor, data []byte) {
	fmt.Fprintf(w, "%s %v %s %s %x\n", name, t.Type, list(t.Lengths), list(t.Strides), data)
}

func list(values []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(values)), ","), "[]")
}

// Parse reads the driver's output. It is an error when a case does not end with its status, which is
// how a driver that died looks.
func Parse(r io.Reader) ([]Result, error) {
	var out []Result
	var current *Result
	in := bufio.NewReader(r)
	for line := 1; ; line++ {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) && text == "" {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("driver output, line %d: %w", line, err)
		}
		key, rest, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " ")
		if key == "case" {
			if current != nil {
				return nil, fmt.Errorf("driver output, line %d: case %s has no status", line, current.Name)
			}
			current = &Result{Name: rest, Workspace: -1}
			continue
		}
		if current == nil {
			return nil, fmt.Errorf("driver output, line %d: %q belongs to no case", line, text)
		}
		if err := current.take(key, rest); err != nil {
			return nil, fmt.Errorf("driver output, line %d: case %s: %w", line, current.Name, err)
		}
		if key == "status" {
			out = append(out, *current)
			current = nil
		}
	}
	if current != nil {
		return nil, fmt.Errorf("driver output ends inside case %s", current.Name)
	}
	return out, nil
}

// take adds the line "key rest" to the result.
func (r *Result) take(key, rest string) (err error) {
	fields := strings.Fields(rest)
	switch {
	case key == "output" && len(fields) == 1:
		for _, s := range strings.Split(rest, ",") {
			v, err := strconv.Atoi(s)
			if err != nil {
				return err
			}
			r.Output = append(r.Output, v)
		}
	case key == "workspace" && len(fields) == 1:
		r.Workspace, err = strconv.Atoi(rest)
	case key == "solution" && len(fields) == 3:
		r.Solutions = append(r.Solutions, Algorithm(fields[1]))
	case key == "found" && len(fields) == 2:
		r.Found = append(r.Found, Algorithm(fields[0]))
	case key == "timed" && len(fields) == 1:
		r.Timed, err = strconv.ParseBool(rest)
	case key == "y":
		r.Y, err = hex.DecodeString(rest)
	case key == "status" && len(fields) == 2:
		r.Function = fields[1]
		r.Status, err = strconv.Atoi(fields[0])
	default:
		return fmt.Errorf("unknown line %s %s", key, rest)
	}
	return err
}
