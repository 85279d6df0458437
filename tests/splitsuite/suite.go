package splitsuite

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	rewrite "example.com/miopen_hipdnn_shim/shim/elf"
	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/inspect/loader"
)

// Run runs every test on the subject.
func Run(t *testing.T, s Subject) {
	require.NotZero(t, s.Exports, "a subject with no entry points proves nothing")
	t.Run("Verify", func(t *testing.T) { Verify(t, s.Stock, s.Split, s.Exports) })
	t.Run("ExportsEqualStock", s.exportsEqualStock)
	t.Run("DescriptorProgramIdentical", s.descriptorProgramIdentical)
	t.Run("Bindings", s.bindings)
	t.Run("WithoutPrivateLibrary", s.withoutPrivateLibrary)
	t.Run("RelocatedTree", s.relocatedTree)
	t.Run("Stripped", s.stripped)
	t.Run("RTLDLocalHost", s.rtldLocalHost)
	t.Run("LinkWithMIOpenOnly", s.linkWithMIOpenOnly)
	t.Run("LinkWithCxxNames", s.linkWithCxxNames)
}

// exportsEqualStock: the same entry points at the same version nodes, and nothing of hipDNN (investigation §1).
func (s Subject) exportsEqualStock(t *testing.T) {
	library, err := exports.Read(s.Stock)
	require.NoError(t, err)
	stock, err := library.API()
	require.NoError(t, err)
	require.Len(t, stock.Entries, s.Exports)
	for _, name := range []string{wrapperName, privateName} {
		for _, symbol := range dynamicSymbols(t, filepath.Join(s.Split, name)) {
			require.False(t, strings.HasPrefix(symbol.Name, "hipdnn"), "%s exports %s", name, symbol.Name)
		}
	}
	var got []string
	for _, symbol := range dynamicSymbols(t, filepath.Join(s.Split, wrapperName)) {
		if symbol.Section != elf.SHN_UNDEF && symbol.Version != exports.ShimNode && elf.ST_TYPE(symbol.Info) == elf.STT_FUNC {
			got = append(got, symbol.Name+"@"+symbol.Version)
		}
	}
	var want []string
	for _, entry := range stock.Entries {
		want = append(want, entry.Name+"@"+entry.Node)
	}
	require.ElementsMatch(t, want, got)
}

func dynamicSymbols(t *testing.T, path string) []elf.Symbol {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	require.NoError(t, err)
	require.NotEmpty(t, symbols)
	return symbols
}

// descriptorProgramIdentical: a program linked against stock prints the same on both. The control is a
// wrapper with two entry points exchanged, which must show.
func (s Subject) descriptorProgramIdentical(t *testing.T) {
	stock := s.run(t, []string{s.stockDir(t)}, nil, s.Descriptors)
	require.Zero(t, stock.status, stock.stderr)
	calls := strings.Count(stock.stdout, "\n")
	require.GreaterOrEqual(t, calls, 75, "the program makes too few calls to prove anything:\n%s", stock.stdout)

	split := s.run(t, []string{s.Split}, nil, s.Descriptors)
	require.Equal(t, stock, split)

	exchanged := s.copyOfSplit(t)
	s.exchange(t, exchanged, "miopenGetTensorDescriptorSize", "miopenGetConvolutionSpatialDim")
	wrong := s.run(t, []string{exchanged}, nil, s.Descriptors)
	require.NotEqual(t, stock.stdout, wrong.stdout, "exchanged entry points went unnoticed")
	t.Logf("%d lines, identical", calls)
}

// exchange swaps two names of the wrapper in dir; both must take (descriptor, pointer to int).
func (s Subject) exchange(t *testing.T, dir, a, b string) {
	t.Helper()
	wrapper := filepath.Join(dir, wrapperName)
	steps := []map[string]string{{a: "miopenExchange"}, {b: a}, {"miopenExchange": b}}
	for i, step := range steps {
		next := fmt.Sprintf("%s.%d", wrapper, i)
		_, err := rewrite.Rewrite(wrapper, next, rewrite.Edit{Rename: step})
		require.NoError(t, err)
		require.NoError(t, os.Rename(next, wrapper))
	}
}

// bindings: what the loader binds to what (investigation §5.5). The program's calls go to the wrapper, each
// stub to its own name in the private library, the private library's calls of its own API to itself.
func (s Subject) bindings(t *testing.T) {
	debug := []string{"LD_DEBUG=bindings", "LD_BIND_NOW=1"}
	split := s.run(t, []string{s.Split}, debug, s.Descriptors)
	require.Zero(t, split.status, split.stderr)
	all := loader.ParseBindings(split.stderr)
	program := filepath.Base(s.Descriptors)

	used := undefinedMIOpen(t, s.Descriptors)
	require.NotEmpty(t, used)
	require.ElementsMatch(t, used, between(all, program, wrapperName))
	require.Empty(t, between(all, program, privateName))

	hops := between(all, wrapperName, privateName)
	require.Len(t, hops, s.Exports)
	for _, symbol := range hops {
		require.True(t, strings.HasSuffix(symbol, "_impl"), symbol)
	}
	inside := between(all, privateName, privateName)
	require.NotEmpty(t, inside, "the library calls itself through the PLT; that must be seen here")
	require.Empty(t, between(all, privateName, wrapperName), "calls inside the implementation must not come back")

	// Control: the same reading of a stock run finds no wrapper.
	stock := loader.ParseBindings(s.run(t, []string{s.stockDir(t)}, debug, s.Descriptors).stderr)
	require.NotEmpty(t, stock)
	require.Empty(t, between(stock, wrapperName, privateName))
	t.Logf("program to wrapper %d, wrapper to private %d, private to itself %d", len(used), len(hops), len(inside))
}

func undefinedMIOpen(t *testing.T, path string) []string {
	t.Helper()
	var names []string
	for _, symbol := range dynamicSymbols(t, path) {
		if symbol.Section == elf.SHN_UNDEF && strings.HasPrefix(symbol.Name, "miopen") {
			names = append(names, symbol.Name)
		}
	}
	return names
}

// withoutPrivateLibrary: the negative test of investigation §5.6. Without the private library nothing runs,
// so nothing else was ever picked up in its place; with it back, everything does.
func (s Subject) withoutPrivateLibrary(t *testing.T) {
	dir := s.copyOfSplit(t)
	private, hidden := filepath.Join(dir, privateName), filepath.Join(dir, "hidden")
	require.NoError(t, os.Rename(private, hidden))
	for _, program := range [][]string{{s.Descriptors}, {s.Dlhost, filepath.Join(dir, wrapperName), "local"}} {
		got := s.run(t, []string{dir}, nil, program[0], program[1:]...)
		require.NotZero(t, got.status, program)
		require.Contains(t, got.stderr, privateName+": cannot open shared object file", program)
	}
	require.NoError(t, os.Rename(hidden, private))
	require.Zero(t, s.run(t, []string{dir}, nil, s.Descriptors).status)
}

// relocatedTree: bin/ and lib/ moved somewhere else, LD_LIBRARY_PATH naming neither. The program finds the
// wrapper by its own RUNPATH, the wrapper its private library beside it.
func (s Subject) relocatedTree(t *testing.T) {
	tree := t.TempDir()
	bin, lib := filepath.Join(tree, "bin"), filepath.Join(tree, "lib")
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.Rename(s.copyOfSplit(t), lib))
	runpath := "$ORIGIN/../lib"
	program := filepath.Join(bin, "descriptors")
	_, err := rewrite.Rewrite(s.Descriptors, program, rewrite.Edit{RunPath: &runpath})
	require.NoError(t, err)

	moved := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.Rename(tree, moved))
	host := s.Host
	host.Libraries = []string{s.dependenciesOnly(t)}
	s.Host = host
	got := s.run(t, nil, []string{"LD_DEBUG=files"}, filepath.Join(moved, "bin", "descriptors"))
	require.Zero(t, got.status, got.stderr)
	require.True(t, strings.Contains(got.stderr, moved+"/bin/../lib/"+privateName), "the private library came from elsewhere")

	// Control: without the private library's place there is no other way to it.
	require.NoError(t, os.Remove(filepath.Join(moved, "lib", privateName)))
	require.NotZero(t, s.run(t, nil, nil, filepath.Join(moved, "bin", "descriptors")).status)
}

// dependenciesOnly is a directory with everything of the host's library directories but MIOpen itself, so
// that no MIOpen can be found there by accident.
func (s Subject) dependenciesOnly(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, from := range s.Host.Libraries {
		entries, err := os.ReadDir(from)
		require.NoError(t, err)
		for _, entry := range entries {
			if !strings.HasPrefix(entry.Name(), "libMIOpen") && strings.Contains(entry.Name(), ".so") {
				symlink(t, filepath.Join(from, entry.Name()), filepath.Join(dir, entry.Name()))
			}
		}
	}
	return dir
}

// stripped: packagers strip what they ship; both files survive it.
func (s Subject) stripped(t *testing.T) {
	dir := s.copyOfSplit(t)
	for _, name := range []string{wrapperName, privateName} {
		before, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		out, err := tool(t, "strip", "--strip-unneeded", filepath.Join(dir, name))
		require.NoError(t, err, out)
		after, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		t.Logf("%s: %d bytes, %d stripped", name, before.Size(), after.Size())
	}
	require.Equal(t, s.run(t, []string{s.Split}, nil, s.Descriptors), s.run(t, []string{dir}, nil, s.Descriptors))
}

// rtldLocalHost: hosts open the versioned and the unversioned name, in a scope of their own.
func (s Subject) rtldLocalHost(t *testing.T) {
	stock := s.run(t, []string{s.stockDir(t)}, nil, s.Dlhost, wrapperName, "local")
	require.Zero(t, stock.status, stock.stderr)
	require.Contains(t, stock.stdout, "status 0 version 3.")
	for _, name := range []string{wrapperName, linkName} {
		for _, scope := range []string{"local", "global"} {
			got := s.run(t, []string{s.copyOfSplit(t)}, nil, s.Dlhost, name, scope)
			require.Equal(t, stock, got, "%s %s", name, scope)
		}
	}
	where := s.run(t, []string{s.Split}, nil, s.Dlhost, wrapperName, "local", "miopenCreate", "miopenCreate_impl")
	require.Zero(t, where.status, where.stderr)
	require.Contains(t, where.stdout, "miopenCreate in "+wrapperName+"\nmiopenCreate_impl in "+privateName+"\n")
}

// linkWithMIOpenOnly: -lMIOpen is enough for a program, gives it no need of the private library and lets it
// reach no `_impl` name.
func (s Subject) linkWithMIOpenOnly(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
	write := func(function string) {
		code := fmt.Sprintf("#include <stddef.h>\nextern int %s(size_t *, size_t *, size_t *);\n"+
			"int main(void) {\n  size_t v[3];\n  return %s(v, v + 1, v + 2) || v[0] != 3;\n}\n", function, function)
		require.NoError(t, os.WriteFile(source, []byte(code), 0o644))
	}
	link := func() (string, error) {
		return tool(t, "cc", append([]string{source, "-o", program, "-L", s.Split, "-lMIOpen"}, s.LinkFlags...)...)
	}
	write("miopenGetVersion")
	out, err := link()
	require.NoError(t, err, out)
	file, err := elf.Open(program)
	require.NoError(t, err)
	defer file.Close()
	needed, err := file.ImportedLibraries()
	require.NoError(t, err)
	require.Contains(t, needed, wrapperName)
	require.NotContains(t, needed, privateName)
	require.Zero(t, s.run(t, []string{s.Split}, nil, program).status)

	write("miopenGetVersion_impl")
	out, err = link()
	require.Error(t, err, "an _impl name was reached with -lMIOpen alone")
	require.Contains(t, out, "miopenGetVersion_impl")
}

// linkWithCxxNames: consumers of the library's C++ names link through the linker script, and not without.
func (s Subject) linkWithCxxNames(t *testing.T) {
	name := cxxFunction(t, filepath.Join(s.Split, privateName))
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
	code := fmt.Sprintf("extern void cxx(void) __asm__(\"%s\");\nextern int miopenGetVersion();\n"+
		"int main(void) {\n  void *volatile p = (void *)cxx;\n  return p == 0 || (void *)miopenGetVersion == p;\n}\n", name)
	require.NoError(t, os.WriteFile(source, []byte(code), 0o644))
	link := func(first string) (string, error) {
		return tool(t, "cc", append([]string{source, "-o", program, "-L", first, "-L", s.Split, "-lMIOpen", "-Wl,--no-demangle"}, s.LinkFlags...)...)
	}
	out, err := link(filepath.Join(s.Split, "cxx"))
	require.NoError(t, err, out)
	require.Zero(t, s.run(t, []string{s.Split}, nil, program).status)

	out, err = link(s.Split)
	require.Error(t, err, "the wrapper alone has no C++ names")
	require.Contains(t, out, name)
}

// cxxFunction is the first exported C++ function of namespace miopen, in byte order.
func cxxFunction(t *testing.T, path string) string {
	t.Helper()
	best := ""
	for _, symbol := range dynamicSymbols(t, path) {
		if symbol.Section != elf.SHN_UNDEF && elf.ST_TYPE(symbol.Info) == elf.STT_FUNC && elf.ST_BIND(symbol.Info) == elf.STB_GLOBAL &&
			strings.HasPrefix(symbol.Name, "_ZN6miopen") && (best == "" || symbol.Name < best) {
			best = symbol.Name
		}
	}
	require.NotEmpty(t, best, "%s exports no C++ function", path)
	return best
}
