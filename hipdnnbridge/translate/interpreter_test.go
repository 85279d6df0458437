package translate_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// The interpreter runs a graph on the CPU as hipDNN defines operations, with no look at MIOpen: a
// forward convolution gathers, a gradient scatters. The oracle knows only MIOpen's problem. Data are
// whole numbers, so that every sum is exact and the results are equal to the bit or wrong.

var oracleTypes = map[graph.DataType]oracle.Type{
	graph.Half: oracle.Half, graph.BFloat16: oracle.BFloat16, graph.Float: oracle.Float, graph.Double: oracle.Double,
	graph.Int8: oracle.Int8, graph.Int32: oracle.Int32,
}

var oracleMIOpenTypes = map[miopen.DataType]oracle.Type{
	miopen.Half: oracle.Half, miopen.BFloat16: oracle.BFloat16, miopen.Float: oracle.Float, miopen.Double: oracle.Double,
	miopen.Int8: oracle.Int8, miopen.Int32: oracle.Int32,
}

func ints(v []int64) []int {
	out := make([]int, len(v))
	for i := range v {
		out[i] = int(v[i])
	}
	return out
}

// memory is a tensor of a graph with the buffer that is bound to it.
type memory struct {
	*graph.Tensor
	typ  oracle.Type
	data []byte
}

func (m memory) at(index []int64) []byte {
	offset := int64(0)
	for i := range index {
		offset += index[i] * m.Strides[i]
	}
	return m.data[offset*int64(m.typ.Size()):]
}

// run executes the operations of a graph.
func run(g *graph.Graph, buffers map[graph.UID][]byte) (err error) {
	defer func() { // a buffer that is too short for what the graph says
		if r := recover(); r != nil {
			err = fmt.Errorf("interpreter: %v", r)
		}
	}()
	if err := g.Validate(); err != nil {
		return err
	}
	virtual := map[graph.UID][]byte{}
	bind := func(id graph.UID) memory {
		t := g.Tensor(id)
		m := memory{t, oracleTypes[t.Type], buffers[id]}
		if t.Virtual {
			if virtual[id] == nil {
				virtual[id] = make([]byte, (oracle.Tensor{Type: m.typ, Lengths: ints(t.Dims), Strides: ints(t.Strides)}).Bytes())
			}
			m.data = virtual[id]
		}
		return m
	}
	for _, node := range g.Nodes {
		if err := runNode(node, bind); err != nil {
			return err
		}
	}
	return nil
}

func runNode(node graph.Node, bind func(graph.UID) memory) error {
	switch n := node.(type) {
	case *graph.ConvolutionForward:
		x, w, y := bind(n.X), bind(n.W), bind(n.Y)
		each(y.Dims, func(at []int64) {
			sum := 0.0
			taps(&n.Geometry, x, w, y, at, func(xi, wi []int64) { sum += x.typ.Get(x.at(xi)) * w.typ.Get(w.at(wi)) })
			y.typ.Put(y.at(at), sum)
		})
	case *graph.ConvolutionBackwardData:
		dy, w, dx := bind(n.DY), bind(n.W), bind(n.DX)
		sums := map[string]float64{}
		each(dy.Dims, func(at []int64) {
			taps(&n.Geometry, dx, w, dy, at, func(xi, wi []int64) {
				sums[fmt.Sprint(xi)] += dy.typ.Get(dy.at(at)) * w.typ.Get(w.at(wi))
			})
		})
		each(dx.Dims, func(at []int64) { dx.typ.Put(dx.at(at), sums[fmt.Sprint(at)]) })
	case *graph.ConvolutionBackwardWeights:
		x, dy, dw := bind(n.X), bind(n.DY), bind(n.DW)
		sums := map[string]float64{}
		each(dy.Dims, func(at []int64) {
			taps(&n.Geometry, x, dw, dy, at, func(xi, wi []int64) {
				sums[fmt.Sprint(wi)] += dy.typ.Get(dy.at(at)) * x.typ.Get(x.at(xi))
			})
		})
		each(dw.Dims, func(at []int64) { dw.typ.Put(dw.at(at), sums[fmt.Sprint(at)]) })
	case *graph.Pointwise:
		return runPointwise(n, bind)
	default:
		return fmt.Errorf("interpreter: no %s", n.Kind())
	}
	return nil
}

func runPointwise(n *graph.Pointwise, bind func(graph.UID) memory) error {
	out := bind(n.Out)
	operand := func(i int, at []int64) float64 {
		m := bind(n.In[i])
		from := append([]int64(nil), at...)
		for d := range from {
			if m.Dims[d] == 1 {
				from[d] = 0 // broadcast
			}
		}
		return m.typ.Get(m.at(from))
	}
	var f func(at []int64) float64
	switch n.Mode {
	case graph.PointwiseAdd:
		f = func(at []int64) float64 { return operand(0, at) + operand(1, at) }
	case graph.PointwiseReLU:
		f = func(at []int64) float64 {
			v := operand(0, at)
			lower, upper, slope := 0.0, math.Inf(1), 0.0
			for p, to := range map[*float32]*float64{n.Clip.Lower: &lower, n.Clip.Upper: &upper, n.Clip.Slope: &slope} {
				if p != nil {
					*to = float64(*p)
				}
			}
			switch {
			case v <= lower:
				return lower + slope*(v-lower)
			case v >= upper:
				return upper
			}
			return v
		}
	default:
		return fmt.Errorf("interpreter: no %s", n.Kind())
	}
	each(out.Dims, func(at []int64) { out.typ.Put(out.at(at), f(at)) })
	return nil
}

func each(dims []int64, visit func(at []int64)) {
	at := make([]int64, len(dims))
	for {
		visit(at)
		i := len(dims) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < dims[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// taps visits what lies under the filter at one position of the output of a convolution from x to y.
func taps(c *graph.Geometry, x, w, y memory, at []int64, visit func(xi, wi []int64)) {
	groups := x.Dims[1] / w.Dims[1]
	group := at[1] / (y.Dims[1] / groups)
	each(w.Dims[1:], func(tap []int64) {
		xi := []int64{at[0], group*w.Dims[1] + tap[0]}
		wi := append([]int64{at[1]}, tap...)
		for i := range c.Strides {
			f := tap[1+i]
			if c.Mode == graph.Convolution {
				f = w.Dims[2+i] - 1 - f
			}
			p := at[2+i]*c.Strides[i] + f*c.Dilations[i] - c.PrePads[i]
			if p < 0 || p >= x.Dims[2+i] {
				return
			}
			xi = append(xi, p)
		}
		visit(xi, wi)
	})
}

// fill returns a buffer for a tensor, with whole numbers in its elements and a pattern in its gaps.
func fill(rng *rand.Rand, t oracle.Tensor) []byte {
	b := bytes.Repeat([]byte{0x5a}, t.Bytes())
	t.Each(func(_ []int, offset int) {
		v := float64(rng.IntN(7) - 3)
		if t.Type == oracle.Int8 {
			v = float64(rng.IntN(256) - 128)
		}
		t.Type.Put(b[offset:], v)
	})
	return b
}

func oracleTensor(t *miopen.Tensor) oracle.Tensor {
	return oracle.Tensor{Type: oracleMIOpenTypes[t.Type], Lengths: ints(t.Dims), Strides: ints(t.Strides)}
}

// expected is what MIOpen's problem gives, by the oracle.
func expected(c *miopen.Convolution, x, w, y []byte) ([]byte, error) {
	conv := oracle.Convolution{Pads: ints(c.Pads), Strides: ints(c.Strides), Dilations: ints(c.Dilations), Groups: int(c.Groups)}
	o := oracle.Operands{X: oracleTensor(&c.X), XData: x, W: oracleTensor(&c.W), WData: w, Y: oracleTensor(&c.Y), Alpha: 1}
	if c.Mode == miopen.ModeTranspose {
		conv, o = asForward(conv, o)
	}
	values, err := conv.Forward(o)
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(y)
	i := 0
	o.Y.Each(func(_ []int, offset int) {
		o.Y.Type.Put(out[offset:], values[i].Exact)
		i++
	})
	return out, nil
}

// asForward writes a transposed convolution as a forward one: the filter mirrored, its channels
// exchanged within each group, over an input with zeros between its elements.
func asForward(c oracle.Convolution, o oracle.Operands) (oracle.Convolution, oracle.Operands) {
	xC, yC := o.X.Lengths[1]/c.Groups, o.W.Lengths[1]
	wide := []int{o.X.Lengths[0], o.X.Lengths[1]}
	filter := []int{yC * c.Groups, xC}
	out := oracle.Convolution{Groups: c.Groups}
	for i := range c.Strides {
		f := o.W.Lengths[2+i]
		reach := c.Dilations[i]*(f-1) + 1
		spread := (o.X.Lengths[2+i]-1)*c.Strides[i] + 1
		wide = append(wide, spread+o.Y.Lengths[2+i]-(spread+reach-1-2*c.Pads[i]))
		filter = append(filter, f)
		out.Pads = append(out.Pads, reach-1-c.Pads[i])
		out.Strides = append(out.Strides, 1)
		out.Dilations = append(out.Dilations, c.Dilations[i])
	}
	x, w := oracle.Packed(o.X.Type, wide, nil), oracle.Packed(o.W.Type, filter, nil)
	xData, wData := make([]byte, x.Bytes()), make([]byte, w.Bytes())
	put := func(t oracle.Tensor, data []byte, index []int, element []byte) {
		offset := 0
		for i := range index {
			offset += index[i] * t.Strides[i]
		}
		copy(data[offset*t.Type.Size():], element[:t.Type.Size()])
	}
	o.X.Each(func(index []int, offset int) {
		to := append([]int(nil), index...)
		for i := range c.Strides {
			to[2+i] *= c.Strides[i]
		}
		put(x, xData, to, o.XData[offset:])
	})
	o.W.Each(func(index []int, offset int) {
		group := index[0] / xC
		to := append([]int{group*yC + index[1], index[0] % xC}, index[2:]...)
		for i := range c.Strides {
			to[2+i] = filter[2+i] - 1 - to[2+i]
		}
		put(w, wData, to, o.WData[offset:])
	})
	o.X, o.XData, o.W, o.WData = x, xData, w, wData
	return out, o
}

// compare runs a problem through a translation and the interpreter, and says how the result differs
// from the oracle's.
func compare(tr translator, c *miopen.Convolution, rng *rand.Rand) error {
	g, binding, err := tr(c, identity, apart)
	if err != nil {
		return err
	}
	var data [3][]byte
	for i, t := range []*miopen.Tensor{&c.X, &c.W, &c.Y} {
		data[i] = fill(rng, oracleTensor(t))
		if len(data[i]) != int(binding.Bytes[i]) {
			return fmt.Errorf("tensor %d reaches %d bytes, the binding says %d", i, len(data[i]), binding.Bytes[i])
		}
	}
	want, err := expected(c, data[0], data[1], data[2])
	if err != nil {
		return err
	}
	buffers := map[graph.UID][]byte{}
	for i, id := range binding.UIDs {
		if g.Tensor(id) == nil {
			return fmt.Errorf("the binding names tensor %d, which the graph has not", id)
		}
		buffers[id] = data[i]
	}
	if err := run(&g, buffers); err != nil {
		return err
	}
	if !bytes.Equal(want, data[2]) {
		return fmt.Errorf("the graph and the oracle give different results")
	}
	return nil
}

var _ translator = translate.Forward
