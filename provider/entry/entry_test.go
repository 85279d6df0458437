package entry

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/provider/engine"
)

// fakeHandle and fakeContext do what they are told.
type fakeHandle struct {
	handle
	err     error
	panics  bool
	closed  int
	streams []uintptr
	device  int32
}

func (h *fakeHandle) answer() error {
	if h.panics {
		panic("as asked")
	}
	return h.err
}

func (h *fakeHandle) Close() error { h.closed++; return h.answer() }

func (h *fakeHandle) SetStream(stream uintptr) error {
	h.streams = append(h.streams, stream)
	return h.answer()
}

func (h *fakeHandle) Applicable(graph []byte) ([]int64, error) {
	return []int64{int64(len(graph))}, h.answer()
}

func (h *fakeHandle) Details(id int64, graph []byte) ([]byte, error) {
	return graph, h.answer()
}

func (h *fakeHandle) WorkspaceSize(config, graph []byte) (uint64, error) {
	return uint64(len(config) + len(graph)), h.answer()
}

func (h *fakeHandle) Prepare(config, graph []byte) (context, error) {
	return &fakeContext{of: h}, h.answer()
}

func (h *fakeHandle) Restore(serialized []byte) (context, error) {
	return &fakeContext{of: h}, h.answer()
}

type fakeContext struct {
	of     *fakeHandle
	closed int
	sum    uintptr
}

func (c *fakeContext) WorkspaceSize() uint64 {
	if c.of.panics {
		panic("as asked")
	}
	return 7
}

func (c *fakeContext) Serialize() []byte {
	if c.of.panics {
		panic("as asked")
	}
	if c.of.err != nil {
		return nil
	}
	return []byte("serialised")
}

func (c *fakeContext) Close() error { c.closed++; return c.of.answer() }

func (c *fakeContext) Execute(h handle, workspace uintptr, buffers []engine.Buffer) error {
	c.sum = workspace
	for i := range buffers {
		c.sum += buffers[i].Address
	}
	return c.of.answer()
}

func open(t testing.TB, h *fakeHandle) (*entries, uint64, *[]string) {
	t.Helper()
	var e entries
	var logged []string
	p := e.open(&provider{
		create: func(device int32) (handle, error) { h.device = device; return h, h.answer() },
		log: func(severity int32, text string) {
			logged = append(logged, fmt.Sprintf("%d %s", severity, text))
		},
	})
	number, err := e.create(p, 3)
	require.NoError(t, err)
	return &e, number, &logged
}

// calls are all functions of a handle and a context, with what they fail as.
func calls(e *entries, h, c uint64) map[string]func() error {
	return map[string]func() error{
		"setStream":     func() error { return e.setStream(h, 1) },
		"applicable":    func() error { _, err := e.applicable(h, []byte("g")); return err },
		"details":       func() error { _, err := e.details(h, 1, []byte("g")); return err },
		"workspaceSize": func() error { _, err := e.workspaceSize(h, []byte("c"), []byte("g")); return err },
		"prepare":       func() error { _, err := e.prepare(h, []byte("c"), []byte("g")); return err },
		"restore":       func() error { _, err := e.restore(h, []byte("s")); return err },
		"execute":       func() error { return e.execute(h, c, 1, []engine.Buffer{{UID: 1, Address: 2}}) },
	}
}

func TestNumbers(t *testing.T) {
	h := &fakeHandle{}
	e, number, _ := open(t, h)
	require.EqualValues(t, 3, h.device)
	_, err := e.create(number, -1)
	require.Equal(t, engine.StatusNotInitialized, statusOf(err), "a handle is no provider")
	c, err := e.prepare(number, []byte("config"), []byte("graph"))
	require.NoError(t, err)
	require.NotEqual(t, number, c)
	restored, err := e.restore(number, []byte("serialised"))
	require.NoError(t, err)
	require.NoError(t, e.setStream(number, 5))
	require.Equal(t, []uintptr{5}, h.streams)
	ids, err := e.applicable(number, []byte("graph"))
	require.NoError(t, err)
	require.Equal(t, []int64{5}, ids)
	size, err := e.workspaceSize(number, []byte("config"), []byte("graph"))
	require.NoError(t, err)
	require.EqualValues(t, 11, size)
	size, err = e.contextWorkspace(c)
	require.NoError(t, err)
	require.EqualValues(t, 7, size)
	data, err := e.serialize(c)
	require.NoError(t, err)
	require.Equal(t, "serialised", string(data))
	_, err = e.details(number, 1, nil)
	require.Equal(t, engine.StatusInternalError, statusOf(err), "nothing to hand out")

	// What was given out by another function, and what is not there any more.
	require.ErrorIs(t, e.execute(c, number, 0, nil), errHandle)
	require.ErrorIs(t, e.execute(number, number, 0, nil), errContext)
	require.NoError(t, e.contextDestroy(c))
	require.ErrorIs(t, e.contextDestroy(c), errContext)
	require.ErrorIs(t, e.execute(number, c, 0, nil), errContext)
	_, err = e.contextWorkspace(c)
	require.ErrorIs(t, err, errContext)
	_, err = e.serialize(c)
	require.ErrorIs(t, err, errContext)
	require.NoError(t, e.destroy(number))
	require.Equal(t, 1, h.closed)
	require.ErrorIs(t, e.destroy(number), errHandle)
	for name, call := range calls(e, number, restored) {
		require.ErrorIs(t, call(), errHandle, name)
	}
	require.NoError(t, e.contextDestroy(restored))
	require.Empty(t, e.handles.values)
	require.Empty(t, e.contexts.values)
}

// TestErrors: an engine's error keeps its status, anything else is an internal error, and a panic is one too.
func TestErrors(t *testing.T) {
	h := &fakeHandle{}
	e, number, logged := open(t, h)
	c, err := e.prepare(number, nil, nil)
	require.NoError(t, err)
	for err, want := range map[error]engine.Status{
		&engine.Error{Status: engine.StatusNotApplicable, Text: "no"}:                         engine.StatusNotApplicable,
		fmt.Errorf("around: %w", &engine.Error{Status: engine.StatusAllocFailed, Text: "no"}): engine.StatusAllocFailed,
		errors.New("no"):               engine.StatusInternalError,
		&engine.Error{Text: "success"}: engine.StatusInternalError,
	} {
		h.err = err
		for name, call := range calls(e, number, c) {
			require.Equal(t, want, statusOf(call()), name)
		}
	}
	_, err = e.serialize(c)
	require.Equal(t, engine.StatusInternalError, statusOf(err))
	require.Empty(t, *logged)

	h.panics = true
	for name, call := range calls(e, number, c) {
		*logged = nil
		err := call()
		require.Equal(t, engine.StatusInternalError, statusOf(err), name)
		require.EqualError(t, err, "libmiopen_hipdnn.so.1: internal error: as asked", name)
		require.Equal(t, []string{"2 libmiopen_hipdnn.so.1: internal error: as asked"}, *logged, name)
	}
	_, err = e.contextWorkspace(c)
	require.Equal(t, engine.StatusInternalError, statusOf(err))
	_, err = e.serialize(c)
	require.Equal(t, engine.StatusInternalError, statusOf(err))
	require.Equal(t, engine.StatusInternalError, statusOf(e.contextDestroy(c)))
	require.Equal(t, engine.StatusInternalError, statusOf(e.destroy(number)))
	require.Empty(t, e.handles.values, "it is gone nevertheless")
	_, err = e.create(1, -1)
	require.Equal(t, engine.StatusInternalError, statusOf(err))
}

// TestExecuteDoesNotAllocate: nothing of the way to the engine does, neither when it succeeds nor for numbers as large as
// they get.
func TestExecuteDoesNotAllocate(t *testing.T) {
	e, _, _ := open(t, &fakeHandle{})
	e.last.Store(1 << 40)
	number, err := e.create(1, -1)
	require.NoError(t, err)
	c, err := e.prepare(number, nil, nil)
	require.NoError(t, err)
	buffers := []engine.Buffer{{UID: 1, Address: 16}, {UID: 2, Address: 32}}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if e.execute(number, c, 4, buffers) != nil {
			panic("not executed")
		}
	}))
	executed, _ := e.contexts.get(c)
	require.EqualValues(t, 52, executed.(*fakeContext).sum)
	require.NotZero(t, testing.AllocsPerRun(100, func() { _, _ = e.prepare(number, nil, nil) }), "what does allocate")
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		room       int
		text, want string
	}{
		{0, "text", ""},
		{1, "text", ""},
		{3, "text", "te"},
		{5, "text", "text"},
		{9, "text", "text"},
		{4, "aéé", "aé"},
		{5, "aéé", "aé"},
		{3, "aéé", "a"},
		{2, "é", ""},
	} {
		to := []byte(strings.Repeat("#", c.room))
		writeText(to, c.text)
		text, rest, ended := strings.Cut(string(to), "\x00")
		require.Equal(t, c.want, text)
		require.Equal(t, c.room > 0, ended)
		require.Equal(t, strings.Repeat("#", max(0, c.room-len(c.want)-1)), rest)
	}
}

func TestConcurrently(t *testing.T) {
	e, number, _ := open(t, &fakeHandle{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				c, err := e.prepare(number, nil, nil)
				if err != nil || e.execute(number, c, 0, nil) != nil || e.contextDestroy(c) != nil {
					t.Error("a context got lost")
				}
			}
		})
	}
	group.Wait()
	require.Empty(t, e.contexts.values)
}
