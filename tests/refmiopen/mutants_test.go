package refmiopen_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/oracle"
	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// mutant is a fault in a kernel: an expression and what replaces it. What stands around the expression
// says which one is meant.
type mutant struct {
	name, kind                         string // kind is that of the cases that have to show it
	file                               string
	before, expression, after, instead string
}

const (
	forward = "forward"
	data    = "backward data"
	weights = "backward weights"
	fused   = "fused"
)

var mutants = []mutant{
	{"stride and dilation swapped", forward, "conv_loops.hpp", "fh * ", "g.dilation[1]", ";", "g.stride[1]"},
	{"pad on the other side", forward, "conv_loops.hpp", "oh * g.stride[1] - ", "g.pad[1]", ";", "0"},
	{"group dropped", forward, "conv_loops.hpp", "+ ", "group * g.c_per_group", " * g.x_strides[1]", "0"},
	{"beta taken for alpha", forward, "conv_loops.hpp", "static_cast<Sum>(", "alpha", ") * sum", "beta"},
	{"stride and dilation swapped", data, "conv_backward.cpp", "- tap[i] * ", "g.dilation[i]", ";", "g.stride[i]"},
	{"pad on the other side", data, "conv_backward.cpp", "in[i] + ", "g.pad[i]", " -", "0"},
	{"stride ignored", data, "conv_backward.cpp", "|| ", "from_first % g.stride[i] != 0", ")", "false"},
	{"last output not reached", data, "conv_backward.cpp", "out[i] >= ", "g.out[i]", ")", "g.out[i] - 1"},
	{"group of dx dropped", data, "conv_backward.cpp", "(", "group * g.c_per_group", " + c) * g.x_strides[1]", "0"},
	{"group of dy dropped", data, "conv_backward.cpp", "dy_n[", "k", " * g.y_strides[1]]", "k % g.k_per_group"},
	{"columns of the next output", data, "conv_backward.cpp", "out[0] * g.out[1] + ", "out[1]", ")", "out[0]"},
	{"stride and dilation swapped", weights, "conv_backward.cpp", "out[i] * ", "g.stride[i]", " -", "g.dilation[i]"},
	{"pad on the other side", weights, "conv_backward.cpp", "- ", "g.pad[i]", " + tap[i]", "0"},
	{"group of x dropped", weights, "conv_backward.cpp", "(", "k / g.k_per_group * g.c_per_group", " + c)", "0"},
	{"one image missing", weights, "conv_backward.cpp", "n-- > ", "0", ";", "1"},
	{"sums kept from one group to the next", weights, "conv_backward.cpp", "fill_n(sums, ", "g.k_per_group * length", ",", "group == 0 ? g.k_per_group * length : 0"},
	{"bias of the first channel", fused, "fused_kernel.cpp", "Widen(bias[", "k", "])", "0"},
	{"rounded before the bias", fused, "fused_kernel.cpp", "Sum v = ", "static_cast<Sum>(b.alpha) * sum", ";", "Widen(Narrow<Data>(static_cast<Sum>(b.alpha) * sum))"},
	{"upper limit ignored", fused, "fused_kernel.cpp", "return ", "std::min(beta, std::max(alpha, v))", ";", "std::max(alpha, v)"},
	{"scale of what is added ignored", fused, "fused_kernel.cpp", "v += ", "static_cast<Sum>(b.add_scale)", " *", "Sum{1}"},
}

// Every fault in a kernel is seen by the oracle. All are in one library, in which a variable of the
// environment chooses one.
func TestKernelMutantsAreSeen(t *testing.T) {
	dir := t.TempDir()
	for _, pattern := range []string{"build.sh", "exports-3.5.1.txt", "src/*", "include/*/*.h", "driver/*.c"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), readFile(t, file), 0o644))
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "src/mutant.hpp"), []byte(`#pragma once
#include <cstdlib>
inline bool Mutant(int number) {
  const char *chosen = std::getenv("REFMIOPEN_MUTANT");
  return chosen != nullptr && std::atoi(chosen) == number;
}
`), 0o644))
	sources := map[string]string{}
	for i, m := range mutants {
		source, ok := sources[m.file]
		if !ok {
			source = "#include \"mutant.hpp\"\n" + string(readFile(t, "src/"+m.file))
		}
		require.Contains(t, source, m.before+m.expression+m.after, "%s in %s", m.name, m.file)
		either := fmt.Sprintf("(Mutant(%d) ? (%s) : (%s))", i+1, m.instead, m.expression)
		sources[m.file] = strings.ReplaceAll(source, m.before+m.expression+m.after, m.before+either+m.after)
	}
	for file, source := range sources {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "src", file), []byte(source), 0o644))
	}
	build := exec.Command("sh", filepath.Join(dir, "build.sh"), filepath.Join(dir, "out"))
	build.Env = append(os.Environ(), "CC="+workshop.CC(), "CXX="+workshop.CXX(), "OPTIMIZE=-O0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	cases := map[string][]convcases.Case{
		forward: convcases.Generate(seed+5, 1),
		fused:   convcases.GenerateFused(seed+5, 1),
	}
	for _, c := range convcases.GenerateBackward(seed+5, 1) {
		kind := c.Direction.String()
		if c.X.Type != oracle.Double { // which shows nothing that float does not
			cases[kind] = append(cases[kind], c)
		}
	}
	refused := func(number int, kind string) int {
		var in bytes.Buffer
		require.NoError(t, convcases.Write(&in, cases[kind]))
		got := runWith(t, []string{"LD_LIBRARY_PATH=" + filepath.Join(dir, "out"), fmt.Sprint("REFMIOPEN_MUTANT=", number)},
			in.String(), filepath.Join(dir, "out", "convrun"))
		require.Zero(t, got.exit, got.stderr)
		results, err := convcases.Parse(strings.NewReader(got.stdout))
		require.NoError(t, err)
		require.Len(t, results, len(cases[kind]))
		n := 0
		for i := range results {
			if cases[kind][i].Check(results[i]) != nil {
				n++
			}
		}
		return n
	}
	for kind := range cases {
		require.Zero(t, refused(0, kind), "%s without a fault", kind)
	}
	for i, m := range mutants {
		n := refused(i+1, m.kind)
		t.Logf("%s, %s: %d of %d refused", m.kind, m.name, n, len(cases[m.kind]))
		require.Greater(t, n, 3, "%s, %s", m.kind, m.name)
	}
}
