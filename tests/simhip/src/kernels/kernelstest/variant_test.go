package kernelstest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

type direction int

const (
	forward direction = iota
	backwardData
	backwardWeights
)

var directions = map[direction]string{forward: "fwd", backwardData: "bwd", backwardWeights: "wrw"}

// types are what a kernel reads and writes, and the name's last part.
type types struct {
	name                string
	source, destination oracle.Type
}

var (
	floating = []types{
		{"float_double_float", oracle.Float, oracle.Float},
		{"half_double_half", oracle.Half, oracle.Half},
		{"ushort_double_ushort", oracle.BFloat16, oracle.BFloat16},
	}
	toInt8  = types{"int8_t_int32_t_int8_t", oracle.Int8, oracle.Int8}
	integer = []types{
		{"int8_t_int32_t_int32_t", oracle.Int8, oracle.Int32},
		{"int8_t_int32_t_float", oracle.Int8, oracle.Float},
	}
)

// variant is one of MIOpen's naive convolution kernels.
type variant struct {
	packed       bool
	direction    direction
	spatial      int
	channelsLast bool
	types
}

func (v variant) layout() string {
	spatial := "dhw"[3-v.spatial:]
	if v.channelsLast {
		return "n" + spatial + "c"
	}
	return "nc" + spatial
}

func (v variant) name() string {
	packed := "nonpacked"
	if v.packed {
		packed = "packed"
	}
	return strings.Join([]string{"naive_conv_ab", packed, directions[v.direction], v.layout(), v.types.name}, "_")
}

// variants are the kernels of libMIOpen.so 3.4.0 and 3.5.1.
func variants() []variant {
	var out []variant
	for _, packed := range []bool{true, false} {
		for d := forward; d <= backwardWeights; d++ {
			for _, spatial := range []int{2, 3} {
				for _, last := range []bool{false, true} {
					all := floating
					if d == forward {
						all = append(append([]types{}, floating...), integer...)
						if spatial == 2 {
							all = append(all, toInt8)
						}
					}
					for _, t := range all {
						out = append(out, variant{packed, d, spatial, last, t})
					}
				}
			}
		}
	}
	return out
}

// parameter is one of a kernel's, as its source declares it.
type parameter struct {
	name    string
	size    int
	pointer bool
}

func (v variant) parameters() []parameter {
	strides := 8 * (v.spatial + 3)
	out := []parameter{{"p_in", 8, true}, {"p_wei", 8, true}, {"alpha", 8, false}, {"beta", 8, false}, {"p_out", 8, true},
		{"in_strides", strides, false}, {"wei_strides", strides, false}, {"out_strides", strides, false}}
	names := "hi wi n k_per_group c_per_group ho wo sy sx dy dx py px fy fx group"
	if v.spatial == 3 {
		names = "di hi wi n k_per_group c_per_group do_ ho wo sz sy sx dz dy dx pz py px fz fy fx group"
	}
	for _, name := range strings.Fields(names) {
		out = append(out, parameter{name, 4, false})
	}
	return out
}

// describe is the metadata that the compiler writes for the kernel: first the parameters without names, without gaps;
// then hidden arguments.
func (v variant) describe() kernel {
	k := kernel{name: v.name(), symbol: v.name() + ".kd", lanes: 64}
	offset := 0
	for _, p := range v.parameters() {
		kind := "by_value"
		if p.pointer {
			kind = "global_buffer"
		}
		k.arguments = append(k.arguments, argument{kind: kind, offset: offset, size: p.size})
		offset += p.size
	}
	for _, hidden := range []struct {
		name string
		size int
	}{{"block_count_x", 4}, {"block_count_y", 4}, {"block_count_z", 4}, {"group_size_x", 2}, {"group_size_y", 2}, {"group_size_z", 2}} {
		k.arguments = append(k.arguments, argument{kind: "hidden_" + hidden.name, offset: offset, size: hidden.size})
		offset += hidden.size
	}
	k.argumentBytes = offset + 200
	return k
}

// tensor is where an operand's elements are. Lengths and strides by dimension, in elements.
type tensor struct {
	typ              oracle.Type
	outer, channels  int // images or filters of a group; channels of a group
	positions        [3]int
	group, o, c      int // strides: of the group, outer and channels
	strides          [3]int
	groups, elements int // elements: with gaps, from the first to the last
}

func (t *tensor) at(g, o, c int, p [3]int) int {
	return g*t.group + o*t.o + c*t.c + p[0]*t.strides[0] + p[1]*t.strides[1] + p[2]*t.strides[2]
}

// dimensions are the lengths and strides, from the innermost outwards as kernels take them.
func (t *tensor) dimensions(v variant, filter bool) (lengths []int, strides []*int) {
	add := func(n int, s *int) { lengths, strides = append(lengths, n), append(strides, s) }
	positions := func() {
		for i := 2; i >= 3-v.spatial; i-- {
			add(t.positions[i], &t.strides[i])
		}
	}
	switch {
	case filter && v.channelsLast:
		add(t.channels, &t.c)
		positions()
		add(t.outer, &t.o)
		add(t.groups, &t.group)
	case filter:
		positions()
		add(t.channels, &t.c)
		add(t.outer, &t.o)
		add(t.groups, &t.group)
	case v.channelsLast:
		add(t.channels, &t.c)
		add(t.groups, &t.group)
		positions()
		add(t.outer, &t.o)
	default:
		positions()
		add(t.channels, &t.c)
		add(t.groups, &t.group)
		add(t.outer, &t.o)
	}
	return lengths, strides
}

// problem is one launch: the shape of a convolution, its tensors and their contents.
type problem struct {
	variant
	images, k, c, groups      int // channels in a group
	in, out, filter           [3]int
	stride, dilation, pad     [3]int
	input, weights, output    tensor
	inputB, weightsB, outputB []byte
	alpha, beta               float64
	threads, blockX           int
	mixed                     bool // contents of very different sizes
	swapped                   bool // the reference adds in the other order
}

// tensors are the three in the order of their pointers.
func (p *problem) tensors() [3]*tensor { return [3]*tensor{&p.input, &p.weights, &p.output} }
func (p *problem) contents() [3]*[]byte {
	return [3]*[]byte{&p.inputB, &p.weightsB, &p.outputB}
}

// destination is the index of the tensor that the kernel writes.
func (p *problem) destination() int {
	return map[direction]int{forward: 2, backwardData: 0, backwardWeights: 1}[p.direction]
}

// grid is the number of work-groups that MIOpen launches.
func (p *problem) grid() int {
	lengths, channels := p.out, p.k
	switch {
	case p.direction == backwardWeights:
		return p.groups * p.k
	case p.direction == backwardData:
		lengths, channels = p.in, p.c
	}
	switch {
	case !p.channelsLast:
		return p.groups * p.images * channels
	case p.spatial == 3:
		return p.groups * p.images * lengths[0]
	}
	return p.images * lengths[1]
}

// arguments are the explicit arguments, pointers left out.
func (p *problem) arguments() []byte {
	var b []byte
	u64 := func(v int) { b = binary.LittleEndian.AppendUint64(b, uint64(v)) }
	u32 := func(values ...int) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	}
	u64(0)
	u64(0)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.alpha))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.beta))
	u64(0)
	for i, t := range p.tensors() {
		_, strides := t.dimensions(p.variant, i == 1)
		for _, s := range strides {
			if p.packed {
				u64(7777) // such kernels do not look at strides
			} else {
				u64(*s)
			}
		}
	}
	from := 3 - p.spatial
	u32(p.in[from:]...)
	u32(p.images, p.k, p.c)
	for _, lengths := range [][3]int{p.out, p.stride, p.dilation, p.pad, p.filter} {
		u32(lengths[from:]...)
	}
	u32(p.groups)
	return b
}

func (p *problem) launch() launch {
	k := p.describe()
	arguments := append(p.arguments(), make([]byte, 224)...)[:k.argumentBytes]
	return launch{
		image:  elf(metadata{"amdgcn-amd-amdhsa--" + architecture, []kernel{k}}.note(), usual),
		kernel: k.name, grid: [3]uint32{uint32(p.grid()), 1, 1}, block: [3]uint32{uint32(p.blockX), 1, 1},
		threads: uint32(p.threads), arguments: arguments,
		buffers: []buffer{{0, p.inputB}, {8, p.weightsB}, {32, p.outputB}},
	}
}

func (p *problem) String() string {
	return fmt.Sprintf("%s: n %d, k %d, c %d, g %d, in %v, out %v, filter %v, stride %v, dilation %v, pad %v, alpha %v, beta %v, strides %+v",
		p.name(), p.images, p.k, p.c, p.groups, p.in, p.out, p.filter, p.stride, p.dilation, p.pad, p.alpha, p.beta, [3]tensor{p.input, p.weights, p.output})
}
