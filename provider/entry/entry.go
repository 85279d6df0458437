package entry

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"example.com/miopen_hipdnn_shim/provider/engine"
)

// handle and context are what is needed of engine.Handle and engine.Context.
type handle interface {
	Close() error
	SetStream(stream uintptr) error
	Applicable(graph []byte) ([]int64, error)
	Details(id int64, graph []byte) ([]byte, error)
	WorkspaceSize(config, graph []byte) (uint64, error)
	Prepare(config, graph []byte) (context, error)
	Restore(serialized []byte) (context, error)
}

type context interface {
	WorkspaceSize() uint64
	Serialize() []byte
	Close() error
	Execute(h handle, workspace uintptr, buffers []engine.Buffer) error
}

// provider is one opening of the library: the private MIOpen of one plugin.
type provider struct {
	create func(device int32) (handle, error)
	log    func(severity int32, text string)
}

// entries are the functions of the table, over what was given out: numbers for everything, which are never given out
// twice, so that one that was destroyed is found out.
type entries struct {
	last      atomic.Uint64
	providers numbered[*provider]
	handles   numbered[held]
	contexts  numbered[context]
}

// held is a handle with the provider that it is of.
type held struct {
	handle
	provider *provider
}

// numbered are values by their numbers. Looking one up does not allocate.
type numbered[T any] struct {
	mu     sync.RWMutex
	values map[uint64]T
}

func (n *numbered[T]) add(number uint64, value T) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.values == nil {
		n.values = map[uint64]T{}
	}
	n.values[number] = value
	return number
}

func (n *numbered[T]) get(number uint64) (T, bool) {
	n.mu.RLock()
	value, ok := n.values[number]
	n.mu.RUnlock()
	return value, ok
}

func (n *numbered[T]) remove(number uint64) (T, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	value, ok := n.values[number]
	delete(n.values, number)
	return value, ok
}

var (
	errHandle  = &engine.Error{Status: engine.StatusBadParam, Text: "there is no such handle: it was destroyed, or is another plugin's"}
	errContext = &engine.Error{Status: engine.StatusBadParam, Text: "there is no such execution context: it was destroyed, or is another plugin's"}
	errMemory  = &engine.Error{Status: engine.StatusAllocFailed, Text: "there is no memory for the result"}
)

// statusOf is an error's status.
func statusOf(err error) engine.Status {
	if err == nil {
		return engine.StatusSuccess
	}
	var e *engine.Error
	if errors.As(err, &e) && e.Status != engine.StatusSuccess {
		return e.Status
	}
	return engine.StatusInternalError
}

// caught turns a panic into an error, so that hipDNN's process goes on.
func caught(err *error, p *provider) {
	r := recover()
	if r == nil {
		return
	}
	text := fmt.Sprintf("libmiopen_hipdnn.so.1: internal error: %v", r)
	*err = &engine.Error{Status: engine.StatusInternalError, Text: text}
	if p != nil && p.log != nil {
		p.log(severityError, text)
	}
}

const severityError = 2 // HIPDNN_SEV_ERROR

// writeText writes a text and its NUL, as much of it as there is room for, whole characters only.
func writeText(to []byte, text string) {
	if len(to) == 0 {
		return
	}
	n := copy(to[:len(to)-1], text)
	if n < len(text) {
		for n > 0 && text[n]&0xc0 == 0x80 {
			n--
		}
	}
	to[n] = 0
}

func (e *entries) open(p *provider) uint64 {
	return e.providers.add(e.last.Add(1), p)
}

func (e *entries) create(number uint64, device int32) (made uint64, err error) {
	p, ok := e.providers.get(number)
	if !ok {
		return 0, &engine.Error{Status: engine.StatusNotInitialized, Text: "the library was not opened for this plugin"}
	}
	defer caught(&err, p)
	h, err := p.create(device)
	if err != nil {
		return 0, err
	}
	return e.handles.add(e.last.Add(1), held{h, p}), nil
}

func (e *entries) destroy(number uint64) (err error) {
	h, ok := e.handles.remove(number)
	if !ok {
		return errHandle
	}
	defer caught(&err, h.provider)
	return h.Close()
}

func (e *entries) setStream(number uint64, stream uintptr) (err error) {
	h, ok := e.handles.get(number)
	if !ok {
		return errHandle
	}
	defer caught(&err, h.provider)
	return h.SetStream(stream)
}

func (e *entries) applicable(number uint64, graph []byte) (ids []int64, err error) {
	h, ok := e.handles.get(number)
	if !ok {
		return nil, errHandle
	}
	defer caught(&err, h.provider)
	return h.Applicable(graph)
}

func (e *entries) details(number uint64, id int64, graph []byte) (data []byte, err error) {
	h, ok := e.handles.get(number)
	if !ok {
		return nil, errHandle
	}
	defer caught(&err, h.provider)
	data, err = h.Details(id, graph)
	if err == nil && len(data) == 0 {
		err = &engine.Error{Status: engine.StatusInternalError, Text: "the engine's details came out empty"}
	}
	return data, err
}

func (e *entries) workspaceSize(number uint64, config, graph []byte) (size uint64, err error) {
	h, ok := e.handles.get(number)
	if !ok {
		return 0, errHandle
	}
	defer caught(&err, h.provider)
	return h.WorkspaceSize(config, graph)
}

func (e *entries) prepare(number uint64, config, graph []byte) (made uint64, err error) {
	h, ok := e.handles.get(number)
	if !ok {
		return 0, errHandle
	}
	defer caught(&err, h.provider)
	c, err := h.Prepare(config, graph)
	if err != nil {
		return 0, err
	}
	return e.contexts.add(e.last.Add(1), c), nil
}

func (e *entries) restore(number uint64, serialized []byte) (made uint64, err error) {
	h, ok := e.handles.get(number)
	if !ok {
		return 0, errHandle
	}
	defer caught(&err, h.provider)
	c, err := h.Restore(serialized)
	if err != nil {
		return 0, err
	}
	return e.contexts.add(e.last.Add(1), c), nil
}

func (e *entries) contextDestroy(number uint64) (err error) {
	c, ok := e.contexts.remove(number)
	if !ok {
		return errContext
	}
	defer caught(&err, nil)
	return c.Close()
}

func (e *entries) contextWorkspace(number uint64) (size uint64, err error) {
	c, ok := e.contexts.get(number)
	if !ok {
		return 0, errContext
	}
	defer caught(&err, nil)
	return c.WorkspaceSize(), nil
}

func (e *entries) serialize(number uint64) (data []byte, err error) {
	c, ok := e.contexts.get(number)
	if !ok {
		return nil, errContext
	}
	defer caught(&err, nil)
	data = c.Serialize()
	if len(data) == 0 {
		return nil, &engine.Error{Status: engine.StatusInternalError, Text: "the serialised context came out empty"}
	}
	return data, nil
}

func (e *entries) execute(handleNumber, contextNumber uint64, workspace uintptr, buffers []engine.Buffer) (err error) {
	h, ok := e.handles.get(handleNumber)
	if !ok {
		return errHandle
	}
	c, ok := e.contexts.get(contextNumber)
	if !ok {
		return errContext
	}
	defer caught(&err, h.provider)
	return c.Execute(h.handle, workspace, buffers)
}

// engineHandle and engineContext are package engine's.
type engineHandle struct{ *engine.Handle }

func (h engineHandle) Prepare(config, graph []byte) (context, error) {
	return wrap(h.Handle.Prepare(config, graph))
}

func (h engineHandle) Restore(serialized []byte) (context, error) {
	return wrap(h.Handle.Restore(serialized))
}

func wrap(c *engine.Context, err error) (context, error) {
	if err != nil {
		return nil, err
	}
	return engineContext{c}, nil
}

type engineContext struct{ *engine.Context }

func (c engineContext) Execute(h handle, workspace uintptr, buffers []engine.Buffer) error {
	return c.Context.Execute(h.(engineHandle).Handle, workspace, buffers)
}
