package manifest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
	"example.com/miopen_hipdnn_shim/shim/exports/opened"
	"example.com/miopen_hipdnn_shim/shim/split/manifest"
)

func sample() manifest.Manifest {
	runPath := "$ORIGIN/<x>"
	return manifest.Manifest{
		Schema: manifest.Schema,
		Tool:   manifest.Tool{Name: manifest.ToolName, Version: "1.2.3"},
		Input:  manifest.Input{Form: "stock", Identity: manifest.Identity{SONAME: "libMIOpen.so.1", Size: 7}},
		Private: manifest.Library{
			File: "p", Needed: []string{"libc.so.6"}, RunPath: &runPath, Glibc: exports.GlibcVersion{Major: 2, Minor: 34},
		},
		Wrapper:     manifest.Library{File: "w", Needed: []string{}},
		Nodes:       manifest.Nodes([]exports.Node{{Name: "A", Parents: []string{}}, {Name: "B", Parents: []string{"A"}}}),
		EntryPoints: []manifest.EntryPoint{{Name: "miopenA", Node: "A"}, {Name: "miopenB", Hidden: true, Offset: -16}},
		RunTime: manifest.NewRunTime(opened.Report{
			Libraries:      []opened.File{{Name: "libx.so", Evidence: opened.EvidenceNote}},
			SystemDatabase: true,
		}),
		Files: map[string]string{"b": "2", "a": "1"},
	}
}

func TestRoundTrip(t *testing.T) {
	m := sample()
	text, err := m.Encode()
	require.NoError(t, err)
	require.Contains(t, string(text), `"$ORIGIN/<x>"`, "readable, not escaped for HTML")
	require.True(t, manifest.IsOurs(text))
	back, err := manifest.Decode(text)
	require.NoError(t, err)
	require.Equal(t, m, back)
	for range 10 {
		again, err := m.Encode()
		require.NoError(t, err)
		require.Equal(t, text, again)
	}
}

func TestDecodeRefuses(t *testing.T) {
	text, err := sample().Encode()
	require.NoError(t, err)
	for what, c := range map[string]struct{ old, new, reason string }{
		"not JSON":      {"{", "", "not a manifest"},
		"another tool":  {`"miopen-shim"`, `"other"`, `the tool's name is "other"`},
		"newer schema":  {`"schema": 1`, `"schema": 9`, "schema 9, this program reads 1; use miopen-shim 1.2.3"},
		"unknown field": {`"schema": 1`, `"schema": 1, "more": 2`, "damaged manifest"},
		"wrong type":    {`"size": 7`, `"size": "7"`, "damaged manifest"},
		"no version":    {`"glibc": "2.34"`, `"glibc": "new"`, "is not a version of glibc"},
	} {
		changed := strings.Replace(string(text), c.old, c.new, 1)
		require.NotEqual(t, string(text), changed, what)
		_, err := manifest.Decode([]byte(changed))
		require.ErrorContains(t, err, c.reason, what)
	}
	require.False(t, manifest.IsOurs([]byte("{}")))
	require.False(t, manifest.IsOurs(nil))
}

func TestDigest(t *testing.T) {
	dir := t.TempDir()
	// XXH64 of nothing with seed 0, from the algorithm's specification.
	got, err := manifest.Digest(exportstest.Write(t, filepath.Join(dir, "empty"), ""))
	require.NoError(t, err)
	require.Equal(t, "xxh64:ef46db3751d8e999", got)
	other, err := manifest.Digest(exportstest.Write(t, filepath.Join(dir, "x"), "x"))
	require.NoError(t, err)
	require.NotEqual(t, got, other)
	_, err = manifest.Digest(filepath.Join(dir, "none"))
	require.Error(t, err)
}
