// Package graphtext speaks the language of tests/refhipdnn/driver: it writes lines that describe a graph and reads what the driver
// prints. driver/graphs.cpp has the format; the package knows nothing of what is right.
package graphtext

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
)

// List is a list of numbers.
func List(values []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(values)), ","), "[]")
}

// Tensor is the line of a tensor with contents. typ is hipDNN's number for its type.
func Tensor(uid, typ int, t oracle.Tensor, data []byte) string {
	return fmt.Sprintf("tensor %d %d %s %s real %x\n", uid, typ, List(t.Lengths), List(t.Strides), data)
}

// Convolution is the line of a convolution of a kind: forward, data or weights. mode and compute are hipDNN's numbers.
func Convolution(kind string, x, w, y int, c oracle.Convolution, pre, post []int, mode, compute int) string {
	return fmt.Sprintf("convolution %s %d %d %d %s %s %s %s %d %d\n", kind, x, w, y,
		List(pre), List(post), List(c.Strides), List(c.Dilations), mode, compute)
}

// Answer is what the driver printed for a graph.
type Answer struct {
	Engines  []string
	Tensors  map[int][]byte
	Status   int // hipdnnStatus_t, -1 when it was not hipDNN that failed, -2 when the driver did not say
	Function string
	Text     string

	Plan      []byte // serialised
	Workspace int
}

// Answers reads the driver's output, by graph. plans says that there may be lines for plans and workspaces, which are printed only
// for graphs that ask for them.
func Answers(t testing.TB, out string, plans bool) map[string]Answer {
	t.Helper()
	all := map[string]Answer{}
	name := ""
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		key, rest, _ := strings.Cut(line, " ")
		a := all[name]
		var err error
		switch {
		case key == "case":
			name = rest
			require.NotContains(t, all, name)
			a = Answer{Tensors: map[int][]byte{}, Status: -2}
		case key == "engines":
			a.Engines = strings.Fields(rest)
		case key == "plan" && plans:
			a.Plan, err = hex.DecodeString(rest)
		case key == "workspace" && plans:
			a.Workspace, err = strconv.Atoi(rest)
		case key == "tensor":
			uid, data, _ := strings.Cut(rest, " ")
			var number int
			number, err = strconv.Atoi(uid)
			require.NoError(t, err)
			a.Tensors[number], err = hex.DecodeString(data)
		case key == "status":
			fields := strings.SplitN(rest, " ", 3)
			require.Len(t, fields, 3, line)
			a.Status, err = strconv.Atoi(fields[0])
			a.Function, a.Text = fields[1], fields[2]
		default:
			require.Fail(t, "the driver printed", "%s", line)
		}
		require.NoError(t, err)
		all[name] = a
	}
	return all
}
