package inspect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
	"example.com/miopen_hipdnn_shim/shim/inspect"
	"example.com/miopen_hipdnn_shim/shim/inspect/loader"
	"example.com/miopen_hipdnn_shim/shim/split"
)

func file(t *testing.T, path string, dirs ...string) inspect.Report {
	t.Helper()
	r, err := inspect.File(path, loader.Host(strings.Join(dirs, ":")))
	require.NoError(t, err)
	return r
}

func TestSplit(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, filepath.Join(dir, "stock"), "libMIOpen.so.1")
	out := filepath.Join(dir, "out")
	_, err := split.Split(t.Context(), split.Options{Library: library, Out: out})
	require.NoError(t, err)
	main := exportstest.Write(t, filepath.Join(dir, "main.c"),
		"int miopenBare(void); extern int miopenNone(void) __attribute__((weak)); int main(void) { return miopenBare() + (miopenNone ? miopenNone() : 0); }\n")
	bin := filepath.Join(dir, "program")
	exportstest.Compile(t, "-o", bin, main, library, "-Wl,-rpath,$ORIGIN/out", "-Wl,--enable-new-dtags", "-Wl,-z,undefs")

	stock := file(t, library)
	require.Equal(t, "stock", stock.Form)
	require.Equal(t, []string{"MIOPEN_HIP_1", "MIOPEN_HIP_2", "MIOPEN_CXX_1"}, stock.Nodes)
	require.Equal(t, []inspect.Count{
		{Kind: "public C API", Node: "MIOPEN_HIP_1", Count: 8},
		{Kind: "public C API", Node: "MIOPEN_HIP_2", Count: 1},
		{Kind: "other C", Node: "MIOPEN_HIP_1", Count: 1},
		{Kind: "C++", Node: "", Count: 1},
		{Kind: "C++", Node: "MIOPEN_CXX_1", Count: 1},
		{Kind: "data", Node: "MIOPEN_HIP_1", Count: 1},
	}, stock.Counts)
	require.Len(t, stock.Exports, 13)
	require.Empty(t, stock.Undefined)
	require.Equal(t, "libsample_runtime.so.3", stock.RunTime[0].Name)
	require.True(t, stock.Holds())

	private := file(t, filepath.Join(out, "libMIOpen_private.so.1"))
	require.Equal(t, "private", private.Form)
	require.Equal(t, stock.Fingerprint, private.Fingerprint)
	require.Equal(t, stock.BuildID, private.BuildID)
	require.Equal(t, stock.RunTime, private.RunTime, "the replaced string table is not taken for constants")

	wrapper := file(t, filepath.Join(out, "libMIOpen.so.1"))
	require.Equal(t, "wrapper", wrapper.Form)
	require.Empty(t, wrapper.Fingerprint)
	require.Equal(t, "2.17", wrapper.Glibc.String())
	require.Len(t, wrapper.Needed, 2)
	require.Equal(t, inspect.Needed{Name: "libMIOpen_private.so.1", File: filepath.Join(out, "libMIOpen_private.so.1")}, wrapper.Needed[0])
	require.Equal(t, "libc.so.6", wrapper.Needed[1].Name)
	require.True(t, wrapper.Holds())
	require.Len(t, wrapper.Undefined, 9)
	for _, u := range wrapper.Undefined {
		require.Equal(t, filepath.Join(out, "libMIOpen_private.so.1"), u.File)
		require.Equal(t, u.Node, u.BoundNode)
		require.Equal(t, "libMIOpen_private.so.1", u.From)
	}

	program := file(t, bin)
	require.Equal(t, "none", program.Form)
	require.True(t, program.Holds())
	require.Equal(t, []inspect.Undefined{
		{Name: "miopenBare", Node: "MIOPEN_HIP_1", From: "libMIOpen.so.1", File: filepath.Join(out, "libMIOpen.so.1"), BoundNode: "MIOPEN_HIP_1"},
		{Name: "miopenNone", Weak: true},
	}, program.Undefined)
	require.Equal(t, filepath.Join(filepath.Dir(library), "libMIOpen.so.1"), file(t, bin, filepath.Dir(library)).Undefined[0].File,
		"LD_LIBRARY_PATH comes before RUNPATH")
}

// TestWrapperAlone: the wrapper's references are weak, so that it can refuse a private library that lacks some of them, but
// none of them may be left over.
func TestWrapperAlone(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, filepath.Join(dir, "stock"), "libMIOpen.so.1")
	out := filepath.Join(dir, "out")
	_, err := split.Split(t.Context(), split.Options{Library: library, Out: out})
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(out, "libMIOpen_private.so.1")))
	wrapper := file(t, filepath.Join(out, "libMIOpen.so.1"))
	require.True(t, wrapper.Undefined[0].Weak)
	require.False(t, wrapper.Undefined[0].Bound())
	require.False(t, wrapper.Holds())
}

// TestWhatDoesNotBind are the failures of a real load: no such library, a name that only the private library has under
// another name, and a node that is not there.
func TestWhatDoesNotBind(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, filepath.Join(dir, "stock"), "libMIOpen.so.1")
	plugin := exportstest.Library{
		Source: `extern "C" { int miopenBare(void); int miopenNewer(int, int); int f(void) { return miopenBare() + miopenNewer(1, 2); } }`,
		Flags:  []string{library},
	}.Build(t, dir, "plugin.so")

	r := file(t, plugin)
	require.False(t, r.Holds())
	require.Contains(t, r.Missing, "libMIOpen.so.1")
	require.Empty(t, r.Undefined[0].File)
	require.Empty(t, r.Undefined[0].Other)

	older := exportstest.Sample()
	older.Script = "MIOPEN_HIP_1 { global: miopen*; };\n"
	olderDir := filepath.Dir(older.Build(t, filepath.Join(dir, "older"), "libMIOpen.so.1"))
	r = file(t, plugin, olderDir)
	require.False(t, r.Holds())
	require.Equal(t, []inspect.Undefined{
		{Name: "miopenBare", Node: "MIOPEN_HIP_1", From: "libMIOpen.so.1", File: filepath.Join(olderDir, "libMIOpen.so.1"), BoundNode: "MIOPEN_HIP_1"},
		{Name: "miopenNewer", Node: "MIOPEN_HIP_2", From: "libMIOpen.so.1", Other: filepath.Join(olderDir, "libMIOpen.so.1"), OtherNode: "MIOPEN_HIP_1"},
	}, r.Undefined)

	var b strings.Builder
	require.NoError(t, inspect.WriteTables(&b, []inspect.Report{r}, false))
	require.Contains(t, b.String(), "NOTHING: "+filepath.Join(olderDir, "libMIOpen.so.1")+" has it at node MIOPEN_HIP_1")
}

func TestRendering(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, dir, "libMIOpen.so.1")
	r := file(t, library)
	var short, long, text strings.Builder
	require.NoError(t, inspect.WriteTables(&short, []inspect.Report{r}, false))
	require.NoError(t, inspect.WriteTables(&long, []inspect.Report{r}, true))
	require.NoError(t, inspect.WriteJSON(&text, []inspect.Report{r}))
	require.Contains(t, short.String(), "MIOPEN_HIP_1, MIOPEN_HIP_2, MIOPEN_CXX_1")
	require.Contains(t, short.String(), "libsample_runtime.so.3 (string)")
	require.NotContains(t, short.String(), "miopenBare")
	require.Contains(t, long.String(), "miopenBare")
	var back []inspect.Report
	require.NoError(t, json.Unmarshal([]byte(text.String()), &back))
	require.Equal(t, []inspect.Report{r}, back)

	_, err := inspect.File(filepath.Join(dir, "none"), loader.Search{})
	require.Error(t, err)
}
