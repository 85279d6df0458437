package kernelstest

import (
	"encoding/binary"
	"math"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// A second implementation of the kernels, that says each bit of their results: the sums as the kernels' source orders
// them, one multiplication and addition at a time.

// reference is the implementation for one problem, with the numbers that its tensors hold.
type reference struct {
	*problem
	values [3][]float64
}

func (p *problem) reference() *reference {
	r := &reference{problem: p}
	for i, t := range p.tensors() {
		content := *p.contents()[i]
		for at := 0; at < len(content); at += t.typ.Size() {
			r.values[i] = append(r.values[i], t.typ.Get(content[at:]))
		}
	}
	return r
}

// visit calls f for each product that goes into the element (g, o, c, p) of the destination, in order.
func (r *reference) visit(g, o, c int, at [3]int, f func(first, second float64)) {
	p := r.problem
	in := func(image, channel int, i [3]int) float64 { return r.values[0][p.input.at(g, image, channel, i)] }
	weight := func(k, channel int, i [3]int) float64 { return r.values[1][p.weights.at(g, k, channel, i)] }
	out := func(image, k int, i [3]int) float64 { return r.values[2][p.output.at(g, image, k, i)] }
	each := func(lengths [3]int, f func(i [3]int)) {
		for z := range lengths[0] {
			for y := range lengths[1] {
				for x := range lengths[2] {
					f([3]int{z, y, x})
				}
			}
		}
	}
	// The channels, or images, are the outer loop of a sum, except where channels come last.
	nest := func(n int, positions [3]int, f func(i int, position [3]int)) {
		if (p.channelsLast && p.direction != backwardWeights) != p.swapped {
			each(positions, func(position [3]int) {
				for i := range n {
					f(i, position)
				}
			})
			return
		}
		for i := range n {
			each(positions, func(position [3]int) { f(i, position) })
		}
	}
	// inputOf is the input position of an output position and a tap of the filter.
	inputOf := func(o, tap [3]int) (i [3]int, inside bool) {
		inside = true
		for d := range 3 {
			i[d] = o[d]*p.stride[d] - p.pad[d] + tap[d]*p.dilation[d]
			inside = inside && i[d] >= 0 && i[d] < p.in[d]
		}
		return i, inside
	}
	switch p.direction {
	case forward:
		nest(p.c, p.filter, func(channel int, tap [3]int) {
			if i, inside := inputOf(at, tap); inside {
				f(in(o, channel, i), weight(c, channel, tap))
			}
		})
	case backwardData:
		nest(p.k, p.filter, func(k int, tap [3]int) {
			var position [3]int
			for d := range 3 {
				far := at[d] + p.pad[d] - tap[d]*p.dilation[d]
				if far < 0 || far%p.stride[d] != 0 || far/p.stride[d] >= p.out[d] {
					return
				}
				position[d] = far / p.stride[d]
			}
			f(out(o, k, position), weight(k, c, tap))
		})
	case backwardWeights:
		nest(p.images, p.out, func(image int, position [3]int) {
			if i, inside := inputOf(position, at); inside {
				f(in(image, c, i), out(image, o, position))
			}
		})
	}
}

// eachElement calls f for each element of a tensor.
func eachElement(t *tensor, f func(g, o, c int, at [3]int)) {
	for g := range t.groups {
		for o := range t.outer {
			for c := range t.channels {
				for z := range t.positions[0] {
					for y := range t.positions[1] {
						for x := range t.positions[2] {
							f(g, o, c, [3]int{z, y, x})
						}
					}
				}
			}
		}
	}
}

// sum is the sum for one element, in double precision or in 32-bit integers.
func (r *reference) sum(g, o, c int, at [3]int) float64 {
	if r.source == oracle.Int8 {
		var sum int32
		r.visit(g, o, c, at, func(a, b float64) { sum += int32(a) * int32(b) })
		return float64(sum)
	}
	sum := 0.0
	r.visit(g, o, c, at, func(a, b float64) { sum += a * b })
	return sum
}

// expected is what the destination's buffer holds after the launch.
func (p *problem) expected() []byte {
	r := p.reference()
	t := p.tensors()[p.destination()]
	want := append([]byte(nil), *p.contents()[p.destination()]...)
	eachElement(t, func(g, o, c int, at [3]int) {
		element := want[t.at(g, o, c, at)*t.typ.Size():][:t.typ.Size()]
		if p.source == oracle.Int8 {
			p.storeInteger(element, int32(r.sum(g, o, c, at)))
		} else {
			p.store(element, r.sum(g, o, c, at))
		}
	})
	return want
}

func (p *problem) store(element []byte, value float64) {
	typ := p.tensors()[p.destination()].typ
	if p.alpha != 1 || p.beta != 0 {
		value = math.FMA(p.alpha, value, p.beta*typ.Get(element))
	}
	if typ == oracle.BFloat16 {
		value = oracle.Float.Round(value)
	}
	typ.Put(element, value)
}

func (p *problem) storeInteger(element []byte, value int32) {
	typ := p.tensors()[p.destination()].typ
	if p.alpha != 1 || p.beta != 0 {
		// The factors and what was there lose their fractions.
		value = int32(p.alpha)*value + int32(typ.Get(element))*int32(p.beta)
	}
	switch typ {
	case oracle.Int8:
		element[0] = byte(value)
	case oracle.Int32:
		binary.LittleEndian.PutUint32(element, uint32(value))
	default:
		typ.Put(element, float64(value))
	}
}
