package loop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/hardware/device"
	"example.com/miopen_hipdnn_shim/tests/oracle"
	"example.com/miopen_hipdnn_shim/tests/refhipdnn/graphtext"
)

// client is an application that sends graphs to hipDNN by itself: tests/refhipdnn/driver, on the device. hipDNN, plugin and
// private library are one folder, which is not on the loader's search path, as after an installation.
type client struct {
	world
	program string
	backend string
	dir     string // for hipDNN's reports
}

func newClient(t *testing.T) *client {
	t.Helper()
	w := newWorld(t)
	install(t, "REFHIPDNN", w.lib)
	return &client{world: w, program: file(t, "REFDRIVER"), backend: filepath.Join(w.lib, filepath.Base(file(t, "REFHIPDNN"))), dir: t.TempDir()}
}

// byDefinition leaves MIOpen the solvers that compute by definition, whose kernels the simulated device executes: of all others
// on this MIOpen only those of rocBLAS's matrix products have kernels. Immediate mode does not look at
// MIOPEN_DEBUG_FIND_ONLY_SOLVER. Nor is a network asked for the order of what is left, which takes it some milliseconds.
var byDefinition = []string{"MIOPEN_DEBUG_CONV_GEMM=0", "MIOPEN_DEBUG_ENABLE_AI_IMMED_MODE_FALLBACK=0"}

// session is one process of the client.
type session struct {
	answers map[string]graphtext.Answer
	stderr  string
	hipdnn  struct {
		Objects         map[string]struct{ Live int }
		Plans           map[string]int
		Executions      map[string]int
		ExecutionErrors []string `json:"execution_errors"`
		Misuse          []string
	}
	device   *device.Report
	executed int // kernels, and those that were left out because the device is idle
	idle     int
}

// serve has one process of the client run graphs, in the format of tests/refhipdnn/driver/graphs.cpp.
func (c *client) serve(t *testing.T, on *device.Device, graphs string, env ...string) session {
	t.Helper()
	start := time.Now()
	report := filepath.Join(c.dir, "hipdnn.json")
	require.NoError(t, os.RemoveAll(report)) // the one before
	cmd, err := on.Command(t.Context(), c.driver.Host, nil, c.program, c.backend, "device-graphs")
	require.NoError(t, err)
	cmd.Env = append(slices.Concat(cmd.Env, c.driver.Env, env),
		"MIOPEN_SYSTEM_DB_PATH="+c.driver.SystemDB, "MIOPEN_HIPDNN_TRACE=stderr", "REFHIPDNN_REPORT="+report)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(graphs), &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s%s", stdout.String(), stderr.String())
	s := session{answers: graphtext.Answers(t, stdout.String(), true), stderr: stderr.String()}
	text, err := os.ReadFile(report)
	require.NoError(t, err, s.stderr)
	require.NoError(t, json.Unmarshal(text, &s.hipdnn), "%s", text)
	s.device, err = on.Report(cmd)
	require.NoError(t, err)
	for _, k := range s.device.Kernels {
		require.Zero(t, k.Failed, "%+v", k)
		s.executed += k.Executed
		s.idle += k.NoOp
	}
	t.Logf("%d graphs on %s in %v", len(s.answers), on, time.Since(start).Round(time.Millisecond))
	return s
}

// requireClean requires that nobody misused anything or left anything behind, and that MIOpen was not called through the wrapper.
func (s *session) requireClean(t *testing.T) {
	t.Helper()
	require.Empty(t, s.device.Violations)
	require.Zero(t, s.device.Leaks)
	require.Empty(t, s.hipdnn.Misuse)
	require.Empty(t, s.hipdnn.ExecutionErrors)
	require.NotEmpty(t, s.hipdnn.Objects)
	for kind, o := range s.hipdnn.Objects {
		require.Zero(t, o.Live, kind)
	}
	require.NotContains(t, s.stderr, "[MIOPEN_HIPDNN_WRAPPER]")
}

// hipDNN's numbers for the element types.
var typeNumbers = map[oracle.Type]int{oracle.Float: 0, oracle.Half: 2, oracle.BFloat16: 6}

// The tensors of a graph.
const (
	uidX = iota + 1
	uidW
	uidY
	uidConvolved // virtual
	uidBias
	uidBiased // virtual
)

func tensorLine(uid int, t oracle.Tensor, data []byte) string {
	return graphtext.Tensor(uid, typeNumbers[t.Type], t, data)
}

func virtualLine(uid int, t oracle.Tensor) string {
	return fmt.Sprintf("tensor %d %d %s %s virtual -\n", uid, typeNumbers[oracle.Float], graphtext.List(t.Lengths), graphtext.List(t.Strides))
}

func convolutionLine(d oracle.Direction, c oracle.Convolution, y int) string {
	const crossCorrelation = 1
	return graphtext.Convolution([...]string{"forward", "data", "weights"}[d], uidX, uidW, y, c, c.Pads, c.Pads, crossCorrelation, typeNumbers[oracle.Float])
}
