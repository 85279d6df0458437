package check_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/elf/verify"
	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
	"example.com/miopen_hipdnn_shim/shim/split"
	"example.com/miopen_hipdnn_shim/shim/split/check"
	"example.com/miopen_hipdnn_shim/shim/split/layout"
	"example.com/miopen_hipdnn_shim/shim/split/manifest"
)

func makeSplit(t *testing.T, library, header, out string) {
	t.Helper()
	_, err := split.Split(t.Context(), split.Options{Library: library, Header: header, Out: out})
	require.NoError(t, err)
}

// edit replaces a file by what f makes of its content.
func edit(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, f(content), 0o755))
}

// replace replaces the first occurrence of old, which must exist and must have the length of new in a binary.
func replace(t *testing.T, path, old, new string) {
	t.Helper()
	edit(t, path, func(c []byte) []byte {
		require.Contains(t, string(c), old)
		return bytes.Replace(c, []byte(old), []byte(new), 1)
	})
}

// TestControls damages a split in every way that a check is there for. Each has to be found by that check.
func TestControls(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, filepath.Join(dir, "stock"), "libMIOpen.so.1")
	header := exportstest.WriteHeader(t, dir)
	pristine := filepath.Join(dir, "pristine")
	makeSplit(t, library, header, pristine)

	// Another library: one function less, another node.
	smaller := exportstest.Sample()
	smaller.Source = strings.Replace(smaller.Source, "int miopenHiddenGetMode(void) { return miopenBare() + 1; }", "", 1)
	smaller.Source = strings.Replace(smaller.Source, "return miopenHiddenGetMode();", "return 41;", 1)
	smaller.Script = strings.Replace(smaller.Script, "MIOPEN_HIP_2 { global: miopenNewer; }", "MIOPEN_HIP_2 { global: miopenTake; }", 1)
	otherLibrary := smaller.Build(t, filepath.Join(dir, "other"), "libMIOpen.so.1")
	other := filepath.Join(dir, "other-split")
	makeSplit(t, otherLibrary, header, other)

	copyFrom := func(t *testing.T, out, name string) {
		t.Helper()
		content, err := os.ReadFile(filepath.Join(other, name))
		require.NoError(t, err)
		edit(t, filepath.Join(out, name), func([]byte) []byte { return content })
	}
	record := func(t *testing.T, out string, f func(m *manifest.Manifest)) {
		t.Helper()
		edit(t, filepath.Join(out, layout.Manifest), func(c []byte) []byte {
			m, err := manifest.Decode(c)
			require.NoError(t, err)
			f(&m)
			text, err := m.Encode()
			require.NoError(t, err)
			return text
		})
	}
	const private, wrapper = "libMIOpen_private.so.1", "libMIOpen.so.1"

	for name, c := range map[string]struct {
		damage func(t *testing.T, out string)
		check  string
		text   string
	}{
		"private: one bit of code": {func(t *testing.T, out string) {
			lib, err := exports.Read(library)
			require.NoError(t, err)
			at := lib.OfKind(exports.KindAPI)[0].Address // addresses of code are file offsets in small libraries
			edit(t, filepath.Join(out, private), func(c []byte) []byte { c[at] ^= 1; return c })
		}, check.PrivatePrefix + verify.CheckBytes, ""},
		"private: a stock name back": {func(t *testing.T, out string) {
			replace(t, filepath.Join(out, private), "miopenTake_impl\x00", "miopenTake_imp\x00\x00")
		}, check.PrivateEntryPoints, "miopenTake"},
		"private: the stock library itself": {func(t *testing.T, out string) {
			content, err := os.ReadFile(library)
			require.NoError(t, err)
			edit(t, filepath.Join(out, private), func([]byte) []byte { return content })
		}, check.PrivateEntryPoints, "the library is of form stock"},
		"private: another library's": {func(t *testing.T, out string) { copyFrom(t, out, private) },
			check.PrivateLayout, "the stock library's is"},
		"private: truncated": {func(t *testing.T, out string) {
			edit(t, filepath.Join(out, private), func(c []byte) []byte { return c[:len(c)/2] })
		}, check.PrivateReadable, "truncated"},
		"private: missing": {func(t *testing.T, out string) { require.NoError(t, os.Remove(filepath.Join(out, private))) },
			check.Files, private},
		"private: a byte behind": {func(t *testing.T, out string) {
			edit(t, filepath.Join(out, private), func(c []byte) []byte { return append(c, 0) })
		}, check.ManifestAgrees, "libMIOpen_private.so.1: Identity"},

		"wrapper: another library's, names": {func(t *testing.T, out string) { copyFrom(t, out, wrapper) },
			check.WrapperEntryPoints, "miopenHiddenGetMode is missing"},
		"wrapper: another library's, nodes": {func(t *testing.T, out string) { copyFrom(t, out, wrapper) },
			check.WrapperEntryPoints, `miopenTake is exported as ["@@MIOPEN_HIP_2"], the stock library has ["@@MIOPEN_HIP_1"]`},
		"wrapper: with another private library": {func(t *testing.T, out string) { copyFrom(t, out, private) },
			check.WrapperBindings, "miopenHiddenGetMode: libMIOpen_private.so.1 does not export a function miopenHiddenGetMode_impl"},
		"wrapper: missing": {func(t *testing.T, out string) { require.NoError(t, os.Remove(filepath.Join(out, wrapper))) },
			check.Files, wrapper},
		"wrapper: no ELF file": {func(t *testing.T, out string) {
			edit(t, filepath.Join(out, wrapper), func([]byte) []byte { return []byte("INPUT(x)") })
		}, check.WrapperReadable, "is not an ELF file"},
		"wrapper: the stock library": {func(t *testing.T, out string) {
			content, err := os.ReadFile(library)
			require.NoError(t, err)
			edit(t, filepath.Join(out, wrapper), func([]byte) []byte { return content })
		}, check.WrapperEntryPoints, "the library is of form stock"},
		"wrapper: no addition": {func(t *testing.T, out string) {
			replace(t, filepath.Join(out, wrapper), "miopenHipdnnShimVersion", "miopenHipdnnShimVersioN")
		}, check.WrapperAdditions, "miopenHipdnnShimVersion@MIOPEN_HIPDNN_SHIM_1 is missing"},
		"wrapper: a node's name": {func(t *testing.T, out string) {
			replace(t, filepath.Join(out, wrapper), "MIOPEN_CXX_1", "MIOPEN_CXX_2")
		}, check.WrapperNodes, "MIOPEN_CXX_1 is not defined"},
		"wrapper: writable slots": {func(t *testing.T, out string) {
			damageSegment(t, filepath.Join(out, wrapper), 0x6474e552 /* PT_GNU_RELRO */, 0)
		}, check.WrapperHardening, "stays writable"},

		"link to the private library": {func(t *testing.T, out string) {
			require.NoError(t, os.Remove(filepath.Join(out, layout.DevLink)))
			require.NoError(t, os.Symlink(private, filepath.Join(out, layout.DevLink)))
		}, check.Files, "libMIOpen.so leads to libMIOpen_private.so.1, not to libMIOpen.so.1"},
		"link replaced by a copy": {func(t *testing.T, out string) {
			require.NoError(t, os.Remove(filepath.Join(out, layout.DevLink)))
			exportstest.Write(t, filepath.Join(out, layout.DevLink), "x")
		}, check.Files, "libMIOpen.so is not a symbolic link"},
		"wrapper replaced by a link": {func(t *testing.T, out string) {
			require.NoError(t, os.Rename(filepath.Join(out, wrapper), filepath.Join(out, "w")))
			require.NoError(t, os.Symlink("w", filepath.Join(out, wrapper)))
		}, check.Files, "libMIOpen.so.1 is not a regular file"},
		"linker script": {func(t *testing.T, out string) {
			replace(t, filepath.Join(out, layout.LinkerScript), "AS_NEEDED", "INPUT")
		}, check.Files, "is not the linker script"},
		"a header": {func(t *testing.T, out string) {
			replace(t, filepath.Join(out, layout.ImplHeader), "miopenAlpha", "miopenAlphb")
		}, check.ManifestAgrees, "include/miopen/miopen_impl.h: the manifest says xxh64:"},
		"a header is missing": {func(t *testing.T, out string) { require.NoError(t, os.Remove(filepath.Join(out, layout.ImplHeader))) },
			check.Files, layout.ImplHeader},

		"no manifest": {func(t *testing.T, out string) { require.NoError(t, os.Remove(filepath.Join(out, layout.Manifest))) },
			check.ManifestAgrees, "manifest.json"},
		"damaged manifest": {func(t *testing.T, out string) {
			edit(t, filepath.Join(out, layout.Manifest), func(c []byte) []byte { return c[:100] })
		}, check.ManifestAgrees, "not a manifest"},
		"manifest of the future": {func(t *testing.T, out string) {
			replace(t, filepath.Join(out, layout.Manifest), `"schema": 1`, `"schema": 2`)
		}, check.ManifestAgrees, "schema 2"},
		"build-id of the private library": {func(t *testing.T, out string) {
			record(t, out, func(m *manifest.Manifest) { m.Private.BuildID = strings.Repeat("0", 40) })
		}, check.ManifestAgrees, "libMIOpen_private.so.1: Identity"},
		"build-id of the wrapper": {func(t *testing.T, out string) {
			record(t, out, func(m *manifest.Manifest) { m.Wrapper.BuildID = strings.Repeat("0", 40) })
		}, check.ManifestAgrees, "libMIOpen.so.1: Identity"},
		"build-id of the input": {func(t *testing.T, out string) {
			record(t, out, func(m *manifest.Manifest) { m.Input.BuildID = strings.Repeat("0", 40) })
		}, check.ManifestAgrees, "input: the manifest says"},
		"fingerprint": {func(t *testing.T, out string) {
			record(t, out, func(m *manifest.Manifest) { m.LayoutFingerprint = "sha256:00" })
		}, check.ManifestAgrees, "layout fingerprint"},
		"an offset": {func(t *testing.T, out string) {
			record(t, out, func(m *manifest.Manifest) { m.EntryPoints[3].Offset++ })
		}, check.ManifestAgrees, "entry points"},
		"a node in the record": {func(t *testing.T, out string) {
			record(t, out, func(m *manifest.Manifest) { m.Nodes[1].Parents = nil })
		}, check.ManifestAgrees, "version nodes"},
		"run-time files": {func(t *testing.T, out string) {
			record(t, out, func(m *manifest.Manifest) { m.RunTime.Libraries = nil })
		}, check.ManifestAgrees, "opened at run time"},
		"a file that is not recorded": {func(t *testing.T, out string) {
			record(t, out, func(m *manifest.Manifest) { delete(m.Files, layout.RenameHeader) })
		}, check.ManifestAgrees, "miopen_private_rename.h is not recorded"},
		"a path that leads out": {func(t *testing.T, out string) {
			record(t, out, func(m *manifest.Manifest) { m.Files["../stock/libMIOpen.so.1"] = "x" })
		}, check.ManifestAgrees, "is no file of a split"},
		"search path in the record only": {func(t *testing.T, out string) {
			record(t, out, func(m *manifest.Manifest) { p := "/opt/x"; m.Private.RunPath = &p })
		}, check.PrivatePrefix + verify.CheckIdentity, "/opt/x"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			require.NoError(t, os.CopyFS(out, os.DirFS(pristine)))
			report, err := check.Dir(library, out)
			require.NoError(t, err)
			require.Empty(t, report.Findings(), "before the damage")
			require.True(t, report.Holds())
			c.damage(t, out)
			report, err = check.Dir(library, out)
			require.NoError(t, err)
			require.False(t, report.Holds())
			var found []string
			for _, r := range report {
				if r.Name == c.check {
					found = r.Findings
				}
			}
			require.NotEmpty(t, found, "%s did not notice; all findings: %q", c.check, report.Findings())
			require.Contains(t, strings.Join(found, "\n"), c.text)
		})
	}

	t.Run("another stock library", func(t *testing.T) {
		report, err := check.Dir(otherLibrary, pristine)
		require.NoError(t, err)
		require.False(t, report.Holds())
	})
	t.Run("JSON", func(t *testing.T) {
		report, err := check.Dir(library, pristine)
		require.NoError(t, err)
		text, err := json.Marshal(report)
		require.NoError(t, err)
		var back check.Report
		require.NoError(t, json.Unmarshal(text, &back))
		require.Len(t, back, len(report))
	})
}

// damageSegment sets the memory size of the first program header of that type.
func damageSegment(t *testing.T, path string, typ uint32, memsz uint64) {
	t.Helper()
	edit(t, path, func(c []byte) []byte {
		for at := 64; at < 64+56*int(c[56]); at += 56 {
			if uint32(c[at])|uint32(c[at+1])<<8|uint32(c[at+2])<<16|uint32(c[at+3])<<24 == typ {
				for i := range 8 {
					c[at+40+i] = byte(memsz >> (8 * i))
				}
				return c
			}
		}
		t.Fatalf("%s has no segment of type %#x", path, typ)
		return nil
	})
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	library := exportstest.Sample().Build(t, filepath.Join(dir, "stock"), "libMIOpen.so.1")
	out := filepath.Join(dir, "out")
	makeSplit(t, library, "", out)
	_, err := check.Dir(filepath.Join(dir, "none"), out)
	require.ErrorContains(t, err, "no such file")
	_, err = check.Dir(exportstest.Write(t, filepath.Join(dir, "text"), "text"), out)
	require.ErrorContains(t, err, "is not an ELF file")
	_, err = check.Dir(library, filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "no such file")
	_, err = check.Dir(library, library)
	require.ErrorContains(t, err, "is not a folder")
	_, err = check.Dir(filepath.Join(out, "libMIOpen.so.1"), out)
	require.ErrorContains(t, err, "is a wrapper")
	// An empty folder is readable, and nothing holds.
	report, err := check.Dir(library, t.TempDir())
	require.NoError(t, err)
	require.False(t, report.Holds())
}

func TestReport(t *testing.T) {
	require.False(t, check.Report{}.Holds(), "no check is no proof")
	require.True(t, check.Report{{Name: "a", Compared: 1}}.Holds())
	r := check.Report{{Name: "a", Compared: 1}, {Name: "b", Compared: 2, Findings: []string{"x", "y"}}}
	require.False(t, r.Holds())
	require.Equal(t, []string{"b: x", "b: y"}, r.Findings())
}
