// Package plugins_test holds a plugin that calls MIOpen against what the investigation asked of it: linked against the private
// library it loads, its calls go there by the private names, and none can enter the wrapper. One source is linked in every
// way that there is; the way that was found broken must break as it was found.
package plugins_test

import (
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/inspect/plugin"
)

// The sum of 3.5.1's numbers, which the plugin returns.
const answer = "plugin_run returned 9\n"

var (
	publicNames  = []string{"miopenGetVersion", "miopenCreate", "miopenDestroy"}
	privateNames = []string{"miopenGetVersion_impl", "miopenCreate_impl", "miopenDestroy_impl"}
)

func needed(t *testing.T, path string) []string {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	all, err := f.ImportedLibraries()
	require.NoError(t, err)
	var names []string
	for _, name := range all {
		if strings.HasPrefix(name, "libMIOpen") {
			names = append(names, name)
		}
	}
	return names
}

func undefined(t *testing.T, path string) []string {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	require.NoError(t, err)
	var names []string
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF && strings.HasPrefix(s.Name, "miopen") {
			names = append(names, s.Name)
		}
	}
	return names
}

// TestPublic: through the wrapper, and three bindings say so.
func TestPublic(t *testing.T) {
	s := newSubject(t)
	p := file(t, "PUBLIC")
	require.Equal(t, []string{wrapperName}, needed(t, p))
	require.ElementsMatch(t, publicNames, undefined(t, p))
	out := s.run(t, s.split, file(t, "HOST"), p)
	require.Equal(t, answer, out.stdout, out.status)
	require.Len(t, out.bound(p), 1)
	require.ElementsMatch(t, publicNames, out.bound(p)[wrapperName])
}

// TestUnrenamed is investigation §5.5: it asks for the private library by the public names, links, and does not load.
func TestUnrenamed(t *testing.T) {
	s := newSubject(t)
	p := file(t, "UNRENAMED")
	require.Equal(t, []string{privateName}, needed(t, p))
	require.ElementsMatch(t, publicNames, undefined(t, p), "the same as of the public variant")
	out := s.run(t, s.split, file(t, "HOST"), p)
	require.Equal(t, 1, out.status)
	require.Empty(t, out.stdout)
	require.Regexp(t, `(?m)^dlopen failed: \S+: undefined symbol: miopen(GetVersion|Create|Destroy)$`, out.stderr)
	require.Empty(t, out.bound(p))
}

// TestPrivate: the variants that are to be used. §5.7's bar: it loads, three bindings to the private library by the private
// names, none into the wrapper.
func TestPrivate(t *testing.T) {
	s := newSubject(t)
	for _, variant := range []string{"INTERFACE_COPTS", "IMPL_HEADER"} {
		t.Run(variant, func(t *testing.T) {
			p := file(t, variant)
			require.Equal(t, []string{privateName}, needed(t, p))
			require.ElementsMatch(t, privateNames, undefined(t, p))
			hosts := []string{"HOST"}
			if !s.real {
				hosts = append(hosts, "LINKED_HOST")
			}
			for _, host := range hosts {
				out := s.run(t, s.split, file(t, host), p)
				require.Equal(t, answer, out.stdout, out.status)
				require.Len(t, out.bound(p), 1, host)
				require.ElementsMatch(t, privateNames, out.bound(p)[privateName], host)
			}
		})
	}
}

// TestHidden is investigation §5.6: without the private library neither loads, so it was that file and no other.
func TestHidden(t *testing.T) {
	s := newSubject(t)
	dir := s.libraries(t, "")
	out := s.run(t, dir, file(t, "HOST"), file(t, "INTERFACE_COPTS"))
	require.Equal(t, answer, out.stdout)
	require.NoError(t, os.Rename(filepath.Join(dir, privateName), filepath.Join(dir, "hidden")))
	for _, variant := range []string{"PUBLIC", "UNRENAMED", "INTERFACE_COPTS", "IMPL_HEADER"} {
		// Away from where it was linked, or the RUNPATH of the build finds the library there.
		p := filepath.Join(t.TempDir(), "plugin.so")
		text, err := os.ReadFile(file(t, variant))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(p, text, 0o755))
		out := s.run(t, dir, file(t, "HOST"), p)
		require.Equal(t, 1, out.status, variant)
		require.Contains(t, out.stderr, "dlopen failed: "+privateName+": cannot open shared object file", variant)
	}
	require.NoError(t, os.Rename(filepath.Join(dir, "hidden"), filepath.Join(dir, privateName)))
	out = s.run(t, dir, file(t, "HOST"), file(t, "PUBLIC"))
	require.Equal(t, answer, out.stdout)
}

// TestAliases measures §5.7's third option, public names in the private library as well. The plugin without rename loads, at a
// price, and as soon as its process has the wrapper, its calls go there, which is what the private library is to prevent.
func TestAliases(t *testing.T) {
	s := newSubject(t)
	dir := s.libraries(t, file(t, "ALIASED"))
	p := file(t, "UNRENAMED")
	alone := s.run(t, dir, file(t, "HOST"), p)
	require.Equal(t, answer, alone.stdout, alone.stderr)
	require.ElementsMatch(t, publicNames, alone.bound(p)[privateName])

	behind := s.run(t, dir, file(t, "LINKED_HOST"), p)
	require.Equal(t, answer, behind.stdout, behind.stderr)
	require.Empty(t, behind.bound(p)[privateName])
	require.ElementsMatch(t, publicNames, behind.bound(p)[wrapperName], "every call comes back through the wrapper")

	type cost struct {
		symbols int
		bytes   int64
	}
	measure := func(variable string) cost {
		f, err := elf.Open(file(t, variable))
		require.NoError(t, err)
		defer f.Close()
		symbols, err := f.DynamicSymbols()
		require.NoError(t, err)
		info, err := os.Stat(file(t, variable))
		require.NoError(t, err)
		return cost{len(symbols), info.Size()}
	}
	renamed, aliased := measure("RENAMED"), measure("ALIASED")
	require.Equal(t, 271, aliased.symbols-renamed.symbols)
	t.Logf("aliases: %d dynamic symbols more, %d bytes more (%d and %d); in a program that is linked to the wrapper, %d of %d references lead back into it",
		aliased.symbols-renamed.symbols, aliased.bytes-renamed.bytes, renamed.bytes, aliased.bytes, len(behind.bound(p)[wrapperName]), len(publicNames))
}

// inspect is what the tool says of a plugin, with the subject's libraries, and its exit status.
func (s subject) inspect(t *testing.T, variable string) (plugin.Report, int) {
	t.Helper()
	path := strings.Join(append([]string{s.split}, s.host.Libraries...), ":")
	args := []string{"inspect", "--plugin", "--json", "--library-path", path, file(t, variable)}
	if s.host.Loader != "" {
		args = append(args, "--loader", s.host.Loader)
	}
	cmd := exec.CommandContext(t.Context(), file(t, "TOOL"), args...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	var reports []plugin.Report
	require.NoError(t, json.Unmarshal(out, &reports))
	require.Len(t, reports, 1)
	return reports[0], cmd.ProcessState.ExitCode()
}

// TestInspect: the tool comes to the same verdicts, without running a plugin.
func TestInspect(t *testing.T) {
	s := newSubject(t)
	for variant, want := range map[string]struct {
		link   plugin.Link
		status int
	}{
		"PUBLIC":          {plugin.LinkWrapper, 1},
		"UNRENAMED":       {plugin.LinkUnrenamed, 1},
		"INTERFACE_COPTS": {plugin.LinkPrivate, 0},
		"IMPL_HEADER":     {plugin.LinkPrivate, 0},
	} {
		t.Run(variant, func(t *testing.T) {
			r, status := s.inspect(t, variant)
			require.Equal(t, want.status, status)
			require.Equal(t, want.link, r.Link, r.Findings)
			require.Equal(t, want.link == plugin.LinkUnrenamed, len(r.Failures) > 0, r.Failures)
			require.Equal(t, want.status == 0, r.Holds())
			require.NotEmpty(t, r.Bindings)
			if want.link == plugin.LinkPrivate {
				require.NotEmpty(t, r.BehindWrapper)
			}
		})
	}
}

// TestProvider: the plugin that is shipped. All that it needs of MIOpen is bound to the private library by the private names,
// also in a program that is linked to the wrapper.
func TestProvider(t *testing.T) {
	s := newSubject(t)
	r, status := s.inspect(t, "PROVIDER")
	require.Zero(t, status, r.Findings)
	require.Equal(t, plugin.LinkPrivate, r.Link)
	require.Equal(t, []string{privateName}, r.Objects[0].Needed)
	require.Equal(t, "$ORIGIN/../..", *r.Objects[0].RunPath, "as it is installed, and no folder of the build")
	names := undefined(t, file(t, "PROVIDER"))
	require.Greater(t, len(names), 30)
	for _, counts := range [][]plugin.Count{r.Bindings, r.BehindWrapper} {
		var own []plugin.Count
		for _, c := range counts {
			if filepath.Base(c.From) == "libmiopen_private_plugin.so" {
				own = append(own, c)
			}
		}
		require.Len(t, own, 1, "to one library")
		require.Equal(t, privateName, filepath.Base(own[0].To))
		require.ElementsMatch(t, names, own[0].Symbols)
		for _, name := range names {
			require.True(t, strings.HasSuffix(name, "_impl"), name)
		}
	}
	t.Logf("%d names, all in %s; 0 in %s", len(names), privateName, wrapperName)
}

// TestLegacyProvider: where there is one MIOpen library, the same target is linked against that, which is said and is no fault.
func TestLegacyProvider(t *testing.T) {
	s := subject{split: filepath.Dir(file(t, "LEGACY"))}
	r, status := s.inspect(t, "LEGACY_PROVIDER")
	require.Zero(t, status, r.Findings)
	require.Equal(t, plugin.LinkLegacy, r.Link)
	require.Equal(t, []string{wrapperName}, r.Objects[0].Needed)
	for _, name := range undefined(t, file(t, "LEGACY_PROVIDER")) {
		require.False(t, strings.HasSuffix(name, "_impl"), name)
	}
}
