package plugin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
	"example.com/miopen_hipdnn_shim/shim/inspect/loader"
	"example.com/miopen_hipdnn_shim/shim/inspect/plugin"
	"example.com/miopen_hipdnn_shim/shim/split"
)

const (
	privateName = "libMIOpen_private.so.1"
	wrapperName = "libMIOpen.so.1"
)

// world is a split of the sample library, in lib, and where plugins are.
type world struct{ stock, lib, plugins string }

func newWorld(t *testing.T) world {
	t.Helper()
	dir := t.TempDir()
	w := world{lib: filepath.Join(dir, "lib"), plugins: filepath.Join(dir, "lib/plugins")}
	w.stock = exportstest.Sample().Build(t, filepath.Join(dir, "stock"), wrapperName)
	_, err := split.Split(t.Context(), split.Options{Library: w.stock, Out: w.lib})
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(w.plugins, 0o755))
	return w
}

// build links a plugin that calls two functions of library.
func (w world) build(t *testing.T, name, library string, flags ...string) string {
	t.Helper()
	source := exportstest.Write(t, filepath.Join(w.plugins, name+".c"),
		"int miopenBare(void); int miopenWeak(void); int plugin_run(void) { return miopenBare() + miopenWeak(); }\n")
	out := filepath.Join(w.plugins, name+".so")
	exportstest.Compile(t, append([]string{"-shared", "-fPIC", "-o", out, source, "-Wl,--no-as-needed", library, "-Wl,-rpath,$ORIGIN/..", "-Wl,--enable-new-dtags"}, flags...)...)
	return out
}

func (w world) inspect(t *testing.T, file string) plugin.Report {
	t.Helper()
	r, err := plugin.File(t.Context(), file, loader.Host(""), loader.Program{})
	require.NoError(t, err)
	return r
}

var renamed = []string{"-DmiopenBare=miopenBare_impl", "-DmiopenWeak=miopenWeak_impl"}

func TestPrivate(t *testing.T) {
	w := newWorld(t)
	r := w.inspect(t, w.build(t, "p", filepath.Join(w.lib, privateName), renamed...))
	require.Equal(t, plugin.LinkPrivate, r.Link)
	require.Empty(t, r.Findings)
	require.Empty(t, r.Failures)
	require.Equal(t, []string{privateName}, r.Objects[0].Needed)
	require.Equal(t, "$ORIGIN/..", *r.Objects[0].RunPath)
	require.Len(t, r.Objects, 3, "the plugin, the private library, and the wrapper beside it")
	require.Equal(t, [2]int{1, 9}, [2]int{r.Objects[1].Public, r.Objects[1].Private}, "one function is not of the API and keeps its name")
	require.Equal(t, [2]int{12, 0}, [2]int{r.Objects[2].Public, r.Objects[2].Private}, "that function, and two that the wrapper adds")
	for _, counts := range [][]plugin.Count{r.Bindings, r.BehindWrapper} {
		require.NotEmpty(t, counts)
		for _, c := range counts {
			if filepath.Base(c.From) == "p.so" {
				require.Equal(t, privateName, filepath.Base(c.To))
				require.ElementsMatch(t, []string{"miopenBare_impl", "miopenWeak_impl"}, c.Symbols)
			}
		}
	}
}

// TestUnrenamed is the plugin that the investigation found: it links, and does not load.
func TestUnrenamed(t *testing.T) {
	w := newWorld(t)
	r := w.inspect(t, w.build(t, "p", filepath.Join(w.lib, privateName)))
	require.Equal(t, plugin.LinkUnrenamed, r.Link)
	require.Equal(t, []string{"undefined symbol: miopenBare", "undefined symbol: miopenWeak"}, r.Failures)
	require.False(t, r.Holds())
	require.Contains(t, strings.Join(r.Findings, "\n"), "interface_copts")
	for _, c := range r.Bindings {
		require.NotEqual(t, "p.so", filepath.Base(c.From))
	}
}

func TestPublic(t *testing.T) {
	w := newWorld(t)
	r := w.inspect(t, w.build(t, "p", filepath.Join(w.lib, wrapperName)))
	require.Equal(t, plugin.LinkWrapper, r.Link)
	require.Empty(t, r.Failures)
	require.False(t, r.Holds())
	require.Contains(t, r.Findings[0], "2 references lead into the wrapper")
}

// TestLegacy: a stock library and nothing else.
func TestLegacy(t *testing.T) {
	w := newWorld(t)
	r := w.inspect(t, w.build(t, "p", w.stock, "-Wl,-rpath,"+filepath.Dir(w.stock), "-Wl,-rpath,$ORIGIN/nowhere"))
	require.Equal(t, plugin.LinkWrapper, r.Link, "the folder of the plugin's first RUNPATH has a wrapper")

	require.NoError(t, os.Remove(filepath.Join(w.lib, wrapperName)))
	r = w.inspect(t, filepath.Join(w.plugins, "p.so"))
	require.Equal(t, plugin.LinkLegacy, r.Link)
	require.True(t, r.Holds(), r.Findings)
}

// TestAliases is a private library that has its public names too: a plugin without rename loads. What becomes of its calls
// in a process that has a wrapper is in tests/plugins.
func TestAliases(t *testing.T) {
	w := newWorld(t)
	both := exportstest.Sample()
	both.SONAME = privateName
	both.Source += "\n#pragma GCC visibility push(default)\nextern \"C\" {"
	for _, name := range exportstest.SampleNames() {
		both.Source += "\nint " + name + "_impl() asm(\"" + name + "_impl\"); int " + name + "_impl() { return 0; }"
	}
	both.Source += "\n}\n"
	both.Script = ""
	library := both.Build(t, filepath.Join(w.lib, "both"), privateName)
	p := w.build(t, "p", library)
	require.NoError(t, os.Rename(library, filepath.Join(w.lib, privateName)))
	require.NoError(t, os.Remove(filepath.Join(w.lib, wrapperName)))
	r := w.inspect(t, p)
	require.Empty(t, r.Failures, "it loads")
	require.False(t, r.Holds())
	require.Contains(t, strings.Join(r.Findings, "\n"), "under its public name")
}

// TestHidden: with a second copy on the path, taking the first away does not stop the plugin.
func TestHidden(t *testing.T) {
	w := newWorld(t)
	stale := filepath.Join(w.lib, "stale")
	require.NoError(t, os.Mkdir(stale, 0o755))
	text, err := os.ReadFile(filepath.Join(w.lib, privateName))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(stale, privateName), text, 0o755))
	p := w.build(t, "p", filepath.Join(w.lib, privateName), append(renamed, "-Wl,-rpath,"+stale)...)
	r := w.inspect(t, p)
	require.Equal(t, plugin.LinkPrivate, r.Link)
	require.Equal(t, []string{filepath.Join(stale, privateName)}, r.Hidden)
	require.False(t, r.Holds())

	// What is predicted happens.
	require.NoError(t, os.Remove(filepath.Join(w.lib, privateName)))
	answer, err := loader.Program{}.Ask(t.Context(), p)
	require.NoError(t, err)
	require.Empty(t, answer.Failures)
	require.NoError(t, os.Remove(filepath.Join(stale, privateName)))
	answer, err = loader.Program{}.Ask(t.Context(), p)
	require.NoError(t, err)
	require.Contains(t, answer.Failures, privateName+": cannot open shared object file")
	r = w.inspect(t, p)
	require.Equal(t, plugin.LinkUnrenamed, r.Link, "nothing that it asks for is there")
	require.False(t, r.Holds())
}

func TestNoPlugin(t *testing.T) {
	w := newWorld(t)
	out := filepath.Join(w.plugins, "q.so")
	exportstest.Compile(t, "-shared", "-fPIC", "-o", out, exportstest.Write(t, filepath.Join(w.plugins, "q.c"), "int f(void) { return 0; }\n"))
	r := w.inspect(t, out)
	require.Equal(t, plugin.LinkNone, r.Link)
	require.False(t, r.Holds())

	_, err := plugin.File(t.Context(), filepath.Join(w.plugins, "none"), loader.Search{}, loader.Program{})
	require.Error(t, err)
	_, err = plugin.File(t.Context(), out, loader.Search{}, loader.Program{Path: filepath.Join(w.plugins, "no-loader")})
	require.Error(t, err)
}

func TestRendering(t *testing.T) {
	w := newWorld(t)
	r := w.inspect(t, w.build(t, "p", filepath.Join(w.lib, privateName), renamed...))
	var tables, text strings.Builder
	require.NoError(t, plugin.WriteTables(&tables, []plugin.Report{r}))
	require.NoError(t, plugin.WriteJSON(&text, []plugin.Report{r}))
	require.Contains(t, tables.String(), "miopenBare_impl")
	require.Contains(t, tables.String(), "calls cannot enter a wrapper")
	var back []plugin.Report
	require.NoError(t, json.Unmarshal([]byte(text.String()), &back))
	require.Equal(t, []plugin.Report{r}, back)
}
