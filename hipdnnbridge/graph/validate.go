package graph

import "fmt"

// Validate says what is wrong with the graph. A valid graph has tensors with unique names, a known
// type and positive dimensions and strides; operations in an order in which they can be executed,
// each with tensors that exist and fit it; no tensor that is written twice, or virtual and read but
// never written, or not used at all.
func (g *Graph) Validate() error {
	tensors := make(map[UID]*Tensor, len(g.Tensors))
	for i := range g.Tensors {
		t := &g.Tensors[i]
		if tensors[t.UID] != nil {
			return fmt.Errorf("graph: two tensors have the uid %d", t.UID)
		}
		tensors[t.UID] = t
		if err := t.check(); err != nil {
			return err
		}
	}
	if len(g.Nodes) == 0 {
		return fmt.Errorf("graph: no operations")
	}
	written := make(map[UID]bool, len(g.Nodes))
	used := make(map[UID]bool, len(g.Tensors))
	for i, n := range g.Nodes {
		if n == nil {
			return fmt.Errorf("graph: operation %d is none", i)
		}
		for _, id := range n.Inputs() {
			t := tensors[id]
			switch {
			case t == nil:
				return fmt.Errorf("graph: operation %d (%s) reads tensor %d, which is not there", i, n.Kind(), id)
			case t.Virtual && !written[id]:
				return fmt.Errorf("graph: operation %d (%s) reads the virtual tensor %d before it is written", i, n.Kind(), id)
			}
			used[id] = true
		}
		out := n.Output()
		switch {
		case tensors[out] == nil:
			return fmt.Errorf("graph: operation %d (%s) writes tensor %d, which is not there", i, n.Kind(), out)
		case written[out] || used[out]:
			return fmt.Errorf("graph: operation %d (%s) writes tensor %d, which was read or written before", i, n.Kind(), out)
		}
		written[out], used[out] = true, true
		if err := g.checkNode(n, tensors); err != nil {
			return fmt.Errorf("graph: operation %d (%s): %w", i, n.Kind(), err)
		}
	}
	for i := range g.Tensors {
		if id := g.Tensors[i].UID; !used[id] {
			return fmt.Errorf("graph: no operation uses tensor %d", id)
		}
	}
	return nil
}

func (t *Tensor) check() error {
	switch {
	case !t.Type.Valid():
		return fmt.Errorf("graph: tensor %d has no type", t.UID)
	case len(t.Dims) == 0:
		return fmt.Errorf("graph: tensor %d has no dimensions", t.UID)
	case len(t.Dims) != len(t.Strides):
		return fmt.Errorf("graph: tensor %d has %d dimensions and %d strides", t.UID, len(t.Dims), len(t.Strides))
	}
	for i := range t.Dims {
		if t.Dims[i] < 1 || t.Strides[i] < 1 {
			return fmt.Errorf("graph: tensor %d has the dimensions %v and strides %v, all must be positive", t.UID, t.Dims, t.Strides)
		}
	}
	return nil
}

func (g *Graph) checkNode(n Node, tensors map[UID]*Tensor) error {
	switch n := n.(type) {
	case *ConvolutionForward:
		return n.check(tensors[n.X], tensors[n.W], tensors[n.Y])
	case *ConvolutionBackwardData:
		return n.check(tensors[n.DX], tensors[n.W], tensors[n.DY])
	case *ConvolutionBackwardWeights:
		return n.check(tensors[n.X], tensors[n.DW], tensors[n.DY])
	case *Pointwise:
		return n.check(tensors)
	}
	return fmt.Errorf("unknown operation %T", n)
}

// check holds the tensors of a convolution against its geometry: x is what the convolution reads, y
// what it gives, whichever of the three the operation computes.
func (c *Geometry) check(x, w, y *Tensor) error {
	spatial := len(c.Strides)
	switch {
	case !c.Mode.Valid():
		return fmt.Errorf("no convolution mode")
	case !c.Compute.Valid():
		return fmt.Errorf("no compute type")
	case spatial < 1 || len(c.PrePads) != spatial || len(c.PostPads) != spatial || len(c.Dilations) != spatial:
		return fmt.Errorf("%d and %d pads, %d strides, %d dilations: all must have one entry for each spatial dimension",
			len(c.PrePads), len(c.PostPads), spatial, len(c.Dilations))
	case len(x.Dims) != spatial+2 || len(w.Dims) != spatial+2 || len(y.Dims) != spatial+2:
		return fmt.Errorf("tensors of rank %d, %d and %d for %d spatial dimensions", len(x.Dims), len(w.Dims), len(y.Dims), spatial)
	case x.Dims[0] != y.Dims[0] || w.Dims[0] != y.Dims[1]:
		return fmt.Errorf("batch or channels of %v, %v and %v do not fit", x.Dims, w.Dims, y.Dims)
	case x.Dims[1]%w.Dims[1] != 0 || w.Dims[0]%(x.Dims[1]/w.Dims[1]) != 0:
		return fmt.Errorf("%d channels and weights %v do not make groups", x.Dims[1], w.Dims)
	}
	for i := range spatial {
		// Bounds keep the sums below from overflowing.
		const limit = 1 << 31
		length, filter := x.Dims[2+i], w.Dims[2+i]
		if c.PrePads[i] < 0 || c.PostPads[i] < 0 || c.Strides[i] < 1 || c.Dilations[i] < 1 ||
			max(c.PrePads[i], c.PostPads[i], c.Strides[i], c.Dilations[i], length, filter) >= limit {
			return fmt.Errorf("spatial dimension %d: pads %d and %d, stride %d, dilation %d, %d elements under a filter of %d",
				i, c.PrePads[i], c.PostPads[i], c.Strides[i], c.Dilations[i], length, filter)
		}
		room := length + c.PrePads[i] + c.PostPads[i] - (c.Dilations[i]*(filter-1) + 1)
		if room < 0 || room/c.Strides[i]+1 != y.Dims[2+i] {
			return fmt.Errorf("spatial dimension %d: %d elements with pads %d and %d, stride %d, dilation %d under a filter of %d do not give %d",
				i, length, c.PrePads[i], c.PostPads[i], c.Strides[i], c.Dilations[i], filter, y.Dims[2+i])
		}
	}
	return nil
}

func (n *Pointwise) check(tensors map[UID]*Tensor) error {
	switch {
	case n.Mode.Operands() == 0:
		return fmt.Errorf("no pointwise mode")
	case len(n.In) != n.Mode.Operands():
		return fmt.Errorf("%d inputs, %d are needed", len(n.In), n.Mode.Operands())
	case !n.Compute.Valid():
		return fmt.Errorf("no compute type")
	}
	out := tensors[n.Out]
	for _, id := range n.In {
		in := tensors[id]
		if len(in.Dims) != len(out.Dims) {
			return fmt.Errorf("input of rank %d, output of rank %d", len(in.Dims), len(out.Dims))
		}
		for i := range in.Dims {
			if in.Dims[i] != out.Dims[i] && in.Dims[i] != 1 {
				return fmt.Errorf("input %v does not broadcast to %v", in.Dims, out.Dims)
			}
		}
	}
	return nil
}
