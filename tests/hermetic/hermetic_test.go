// Package hermetic_test holds what is proven on any machine: the split of the reference library by the Bazel
// rules, as an application and as a packager meet it. What these tests prove of AMD's library is in
// tests/realmiopen.
package hermetic_test

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/tests/splitsuite"
)

// exportsOf351 is how many entry points MIOpen 3.5.1 exports, and the reference library with it.
const exportsOf351 = 271

func file(t *testing.T, variable string) string {
	t.Helper()
	path, err := runfile.Path(variable)
	require.NoError(t, err)
	return path
}

func dir(t *testing.T, variable, name string) string {
	t.Helper()
	path, err := runfile.Dir(variable, name)
	require.NoError(t, err)
	return path
}

func TestSplit(t *testing.T) {
	splitsuite.Run(t, splitsuite.Subject{
		Stock:       file(t, "STOCK"),
		Split:       dir(t, "SHIM", "manifest.json"),
		Exports:     exportsOf351,
		Descriptors: file(t, "DESCRIPTORS"),
		Dlhost:      file(t, "DLHOST"),
	})
}

// run gives program the libraries in folder and input, and returns what it printed.
func run(t *testing.T, folder string, input []byte, program string) []byte {
	t.Helper()
	cmd, err := launch.Host{}.Command(context.Background(), t.TempDir(), []string{folder}, program)
	require.NoError(t, err)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	require.NoError(t, err)
	return out
}

// TestConvolutions: results, not only statuses, come through the wrapper as they should: the bytes that the
// stock library gives, and right by the oracle.
func TestConvolutions(t *testing.T) {
	cases := convcases.Generate(7, 300)
	var input bytes.Buffer
	require.NoError(t, convcases.Write(&input, cases))
	stock := run(t, filepath.Dir(file(t, "STOCK")), input.Bytes(), file(t, "CONVRUN"))
	for _, variable := range []string{"SHIM", "SHIM_OF_RENAMED"} {
		out := run(t, dir(t, variable, "manifest.json"), input.Bytes(), file(t, "CONVRUN"))
		require.True(t, bytes.Equal(stock, out), "%s computes something else than stock", variable)
	}
	results, err := convcases.Parse(bytes.NewReader(stock))
	require.NoError(t, err)
	require.Len(t, results, len(cases))
	for i := range cases {
		require.NoError(t, cases[i].Check(results[i]))
	}
	// Control: a result that belongs to another case.
	wrong := results[1]
	wrong.Name = cases[0].Name
	require.Error(t, cases[0].Check(wrong))
}

// TestRenamedAtCompileTime: a library whose names were changed by miopen_private_rename.h when it was compiled
// exports what the rename in the binary gives, and is accepted in its place.
func TestRenamedAtCompileTime(t *testing.T) {
	names := func(variable, library string) (all []string) {
		read, err := exports.Read(filepath.Join(dir(t, variable, "manifest.json"), library))
		require.NoError(t, err)
		for _, export := range read.Exports {
			if export.Kind == exports.KindAPI || export.Kind == exports.KindImpl {
				all = append(all, export.Name+"@"+export.Node)
			}
		}
		return all
	}
	for _, library := range []string{"libMIOpen_private.so.1", "libMIOpen.so.1"} {
		inBinary, atCompileTime := names("SHIM", library), names("SHIM_OF_RENAMED", library)
		require.Len(t, inBinary, exportsOf351)
		require.Equal(t, inBinary, atCompileTime, library)
	}
}

// TestLegacyLayout: with --//shim:hipdnn_wrapper=false the same target is the stock
// library alone; that there is nothing beside it is checked by the rule in defs.bzl.
func TestLegacyLayout(t *testing.T) {
	api := func(path string) exports.API {
		library, err := exports.Read(path)
		require.NoError(t, err)
		api, err := library.API()
		require.NoError(t, err)
		return api
	}
	got := api(file(t, "LEGACY"))
	require.Equal(t, exports.FormStock, got.Form)
	require.Equal(t, api(file(t, "STOCK")).Names(), got.Names())
	require.Equal(t, exports.FormWrapper, api(filepath.Join(dir(t, "SHIM", "manifest.json"), "libMIOpen.so.1")).Form, "control")
}

// TestConsumers: programs that Bazel links against the targets of miopen_shim() need what they should, and run
// with no search path set.
func TestConsumers(t *testing.T) {
	tool := file(t, "TOOL")
	for _, c := range []struct {
		program, needed, not string
	}{
		{"CONSUMER_PUBLIC", "libMIOpen.so.1", "libMIOpen_private.so.1"},
		{"CONSUMER_PRIVATE", "libMIOpen_private.so.1", "libMIOpen.so.1"},
	} {
		t.Run(c.program, func(t *testing.T) {
			program := file(t, c.program)
			cmd := exec.Command(program)
			cmd.Env = []string{}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, "3.5.1\n", string(out))

			out, err = exec.Command(tool, "inspect", "--json", program).Output()
			require.NoError(t, err, string(out))
			require.Contains(t, string(out), `"`+c.needed+`"`)
			needed := string(out)[strings.Index(string(out), `"needed"`):]
			needed = needed[:strings.Index(needed, "]")]
			require.NotContains(t, needed, `"`+c.not+`"`)
		})
	}
}
