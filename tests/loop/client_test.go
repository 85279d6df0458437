package loop_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/hardware/device"
	"example.com/miopen_hipdnn_shim/tests/oracle"
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
// MIOPEN_DEBUG_FIND_ONLY_SOLVER. Nor is a network asked for the order of what is left, which takes a tenth of a second for
// each graph.
var byDefinition = []string{"MIOPEN_DEBUG_CONV_GEMM=0", "MIOPEN_DEBUG_ENABLE_AI_IMMED_MODE_FALLBACK=0"}

// answer is what became of a graph.
type answer struct {
	engines   []string
	plan      []byte
	workspace int
	tensors   map[int][]byte
	status    int // hipdnnStatus_t, -1 when it was not hipDNN that failed
	function  string
	text      string
}

// session is one process of the client.
type session struct {
	answers map[string]answer
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
	s := session{answers: answers(t, stdout.String()), stderr: stderr.String()}
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

func answers(t *testing.T, out string) map[string]answer {
	t.Helper()
	all := map[string]answer{}
	name := ""
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		key, rest, _ := strings.Cut(line, " ")
		a := all[name]
		var err error
		switch key {
		case "case":
			name = rest
			require.NotContains(t, all, name)
			a = answer{tensors: map[int][]byte{}, status: -2}
		case "engines":
			a.engines = strings.Fields(rest)
		case "plan":
			a.plan, err = hex.DecodeString(rest)
		case "workspace":
			a.workspace, err = strconv.Atoi(rest)
		case "tensor":
			uid, data, _ := strings.Cut(rest, " ")
			var number int
			number, err = strconv.Atoi(uid)
			require.NoError(t, err)
			a.tensors[number], err = hex.DecodeString(data)
		case "status":
			fields := strings.SplitN(rest, " ", 3)
			require.Len(t, fields, 3, line)
			a.status, err = strconv.Atoi(fields[0])
			a.function, a.text = fields[1], fields[2]
		default:
			require.Fail(t, "the client printed", "%s", line)
		}
		require.NoError(t, err)
		all[name] = a
	}
	return all
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

func list(values []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(values)), ","), "[]")
}

func tensorLine(uid int, t oracle.Tensor, data []byte) string {
	return fmt.Sprintf("tensor %d %d %s %s real %x\n", uid, typeNumbers[t.Type], list(t.Lengths), list(t.Strides), data)
}

func virtualLine(uid int, t oracle.Tensor) string {
	return fmt.Sprintf("tensor %d %d %s %s virtual -\n", uid, typeNumbers[oracle.Float], list(t.Lengths), list(t.Strides))
}

func convolutionLine(d oracle.Direction, c oracle.Convolution, y int) string {
	const crossCorrelation = 1
	return fmt.Sprintf("convolution %s %d %d %d %s %s %s %s %d %d\n", [...]string{"forward", "data", "weights"}[d], uidX, uidW, y,
		list(c.Pads), list(c.Pads), list(c.Strides), list(c.Dilations), crossCorrelation, typeNumbers[oracle.Float])
}
