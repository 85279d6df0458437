package engine

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
)

// Context is a plan that can be executed, on the handle that made it. It does not change.
type Context struct {
	owner   *Handle // its lock guards problem's objects and the arguments of fusion
	miopen  Object  // MIOpen's handle that the plan was compiled on
	problem *problem
	config  config
	graph   []byte
	version [3]uint64 // of MIOpen

	solution  uint64 // of a convolution alone
	fusion    fusion // of any other
	workspace uint64
}

// WorkspaceSize is the number of bytes of workspace that an execution needs.
func (c *Context) WorkspaceSize() uint64 { return c.workspace }

// Close ends the context.
func (c *Context) Close() error {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	if c.problem.objects == nil {
		return fail(StatusBadParam, "the context is closed already")
	}
	return c.problem.objects.close()
}

// Execute enqueues the plan on the handle's stream. A workspace has WorkspaceSize bytes; it may be 0
// if that is 0. Buffers of tensors that are not the graph's are not looked at. What is wrong with the
// call is found before anything is enqueued. Nothing is allocated unless it fails.
func (c *Context) Execute(h *Handle, workspace uintptr, buffers []Buffer) error {
	if h != c.owner {
		return fail(StatusInvalidValue, "the context is of another handle: MIOpen compiles per handle, so build or restore a plan on this one")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := c.problem
	switch {
	case h.closed:
		return fail(StatusBadParam, "the context's handle is closed")
	case p.objects == nil:
		return fail(StatusBadParam, "the context is closed")
	case workspace == 0 && c.workspace > 0:
		return fail(StatusBadParam, "no workspace, %d bytes are needed", c.workspace)
	}
	var at Addresses
	for i, to := range [3]*uintptr{&at.X, &at.W, &at.Y} {
		if *to = find(buffers, p.names[i]); *to == 0 {
			return missing(p.names[i], buffers)
		}
	}
	left, err := h.enter()
	if err != nil {
		return err
	}
	defer h.leave(left)
	if !p.fused {
		if s := p.m.Run(c.miopen, &p.conv, at, workspace, c.workspace, c.solution); s != miopen.StatusSuccess {
			return failed(p.call("Immediate"), s, p.String())
		}
		return nil
	}
	return c.executeFused(workspace, at, buffers)
}

func (c *Context) executeFused(workspace uintptr, at Addresses, buffers []Buffer) error {
	p, f := c.problem, &c.fusion
	var bias uintptr
	if p.bias != 0 {
		if bias = find(buffers, p.biasName); bias == 0 {
			return missing(p.biasName, buffers)
		}
	}
	if s := p.m.SetArgsConvolution(f.args, f.convolution, at.W); s != miopen.StatusSuccess {
		return failed("miopenSetOpArgsConvForward", s, p.String())
	}
	if p.bias != 0 {
		if s := p.m.SetArgsBias(f.args, f.bias, bias); s != miopen.StatusSuccess {
			return failed("miopenSetOpArgsBiasForward", s, p.String())
		}
	}
	if p.activation != nil {
		if s := p.m.SetArgsActivation(f.args, f.activation, *p.activation); s != miopen.StatusSuccess {
			return failed("miopenSetOpArgsActivForward", s, p.String())
		}
	}
	if s := p.m.ExecuteFusion(c.miopen, f.plan, p.conv.X, at.X, p.conv.Y, at.Y, f.args, workspace, c.workspace); s != miopen.StatusSuccess {
		return failed("miopenExecuteFusionPlan", s, p.String())
	}
	return nil
}

// find is the address of a tensor, 0 if it has none.
func find(buffers []Buffer, name graph.UID) uintptr {
	for i := range buffers {
		if buffers[i].UID == int64(name) {
			return buffers[i].Address
		}
	}
	return 0
}

func missing(name graph.UID, buffers []Buffer) error {
	for i := range buffers {
		if buffers[i].UID == int64(name) {
			return fail(StatusBadParam, "the buffer of tensor %d is a null pointer", name)
		}
	}
	return fail(StatusBadParam, "none of %d buffers is that of tensor %d", len(buffers), name)
}

// A serialised context: a header of 24 bytes and what the checksum in it is of, little-endian.
//
//	0   4 bytes  magic
//	4   uint32   version of this format
//	8   uint64   number of bytes altogether
//	16  uint64   xxHash64 of all that follows
//	24  3 uint64 version of MIOpen
//	48  int64    id of the engine
//	56  uint64   1 with benchmarking, else 0
//	64  uint64   limit of the workspace
//	72  uint64   solution, 0 of a fused convolution
//	80  graph
//
// The device is not named, since MIOpen does not tell: whether it has the solution for the device at
// hand is asked anew when the context is restored.
const (
	magic         = "MPEC"
	formatVersion = 1
	headerSize    = 24
	graphAt       = 80
)

// Serialize is the context as bytes, for Restore.
func (c *Context) Serialize() []byte {
	b := make([]byte, headerSize, graphAt+len(c.graph))
	for _, v := range c.version {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(c.config.engine.ID))
	benchmarking := uint64(0)
	if c.config.benchmarking {
		benchmarking = 1
	}
	b = binary.LittleEndian.AppendUint64(b, benchmarking)
	b = binary.LittleEndian.AppendUint64(b, c.config.limit)
	b = binary.LittleEndian.AppendUint64(b, c.solution)
	b = append(b, c.graph...)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[4:], formatVersion)
	binary.LittleEndian.PutUint64(b[8:], uint64(len(b)))
	binary.LittleEndian.PutUint64(b[16:], xxhash.Sum64(b[headerSize:]))
	return b
}

// Restore makes a context of this handle from the bytes of another one. The solution is checked and
// compiled again; none is chosen.
func (h *Handle) Restore(serialized []byte) (*Context, error) {
	b := serialized
	if len(b) < graphAt {
		return nil, fail(StatusInvalidValue, "%d bytes are too few for a serialised context", len(b))
	}
	if string(b[:4]) != magic {
		return nil, fail(StatusInvalidValue, "the bytes are not a serialised context of this plugin: they begin with %q", b[:4])
	}
	if v := binary.LittleEndian.Uint32(b[4:]); v != formatVersion {
		return nil, fail(StatusInvalidValue, "the serialised context is of format %d, this release reads %d: build the plan anew", v, formatVersion)
	}
	if n := binary.LittleEndian.Uint64(b[8:]); n != uint64(len(b)) {
		return nil, fail(StatusInvalidValue, "the serialised context has %d bytes, it was written with %d", len(b), n)
	}
	if sum := binary.LittleEndian.Uint64(b[16:]); sum != xxhash.Sum64(b[headerSize:]) {
		return nil, fail(StatusInvalidValue, "the serialised context's checksum is wrong: its bytes were changed")
	}
	var version [3]uint64
	for i := range version {
		version[i] = binary.LittleEndian.Uint64(b[headerSize+8*i:])
	}
	e, err := engineOf(int64(binary.LittleEndian.Uint64(b[48:])))
	if err != nil {
		return nil, err
	}
	benchmarking := binary.LittleEndian.Uint64(b[56:])
	c := config{engine: e, benchmarking: benchmarking == 1, limit: binary.LittleEndian.Uint64(b[64:])}
	if benchmarking > 1 {
		return nil, fail(StatusInvalidValue, "the serialised context has benchmarking %d", benchmarking)
	}
	solution := binary.LittleEndian.Uint64(b[72:])
	op, err := readOperation(b[graphAt:])
	if err != nil {
		return nil, err
	}
	here, status := h.m.Version()
	switch {
	case status != miopen.StatusSuccess:
		return nil, failed("miopenGetVersion", status, "restoring a context")
	case version != here: // its solutions may be others
		return nil, fail(StatusInvalidValue, "the context was serialised with MIOpen %d.%d.%d, this is %d.%d.%d: build the plan anew",
			version[0], version[1], version[2], here[0], here[1], here[2])
	}
	return h.build(c, op, b[graphAt:], &solution)
}
