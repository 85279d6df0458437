package wire

import "fmt"

// Check says whether the graph's tensors have names of their own and every field that names a tensor names one of
// them. What operations make of the tensors, their order and their shapes are for graph.Validate in hipdnnbridge.
// The error is an *Error.
func (g *Graph) Check() error {
	c := checker{tensors: make(map[int64]int, len(g.Tensors))}
	for i, t := range g.Tensors {
		if first, ok := c.tensors[t.UID]; ok {
			path := join([]step{{name: "tensors"}, {index: i}, {name: "uid"}})
			return &Error{Path: path, Offset: -1, Text: fmt.Sprintf("%d is the uid of tensors[%d] too", t.UID, first)}
		}
		c.tensors[t.UID] = i
	}
	g.layout(&c)
	if c.err != nil {
		return c.err
	}
	return nil
}

// checker walks a graph for the names of tensors.
type checker struct {
	tensors map[int64]int // where they stand, by uid
	path    []step
	err     *Error
}

func (c *checker) tensor(_ slot, name string, uid int64) {
	if _, ok := c.tensors[uid]; !ok && c.err == nil {
		path := join(append(c.path, step{name: name}))
		c.err = &Error{Path: path, Offset: -1, Text: fmt.Sprintf("no tensor has the uid %d", uid)}
	}
}

func (c *checker) many(_ slot, name string, n int, _ func(int), element func(i int) table) {
	for i := range n {
		outer := c.path
		c.path = append(c.path, step{name: name}, step{index: i})
		element(i).layout(c)
		c.path = outer
	}
}

func (c *checker) union(_ slot, name string, kind *uint8, _ bool, member func(uint8) table) {
	if *kind != 0 {
		outer := c.path
		c.path = append(c.path, step{name: name})
		member(*kind).layout(c)
		c.path = outer
	}
}

func (*checker) scalar(slot, string, int, *uint64, uint64)        {}
func (*checker) optional(slot, string, int, *uint64, *bool)       {}
func (*checker) structure(slot, string, int, []byte, *bool)       {}
func (*checker) text(slot, string, *string, bool)                 {}
func (*checker) int64s(slot, string, *[]int64)                    {}
func (*checker) int32s(slot, string, *[]int32)                    {}
func (*checker) float64s(slot, string, *[]float64)                {}
func (*checker) texts(slot, string, *[]string)                    {}
func (*checker) one(slot, string, table, func() table)            {}
func (*checker) structUnion(slot, string, *uint8, []int, *uint64) {}
func (*checker) decline(slot, string, string, ...any)             {}
