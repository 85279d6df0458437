package exports_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/exports/dynobj"
	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
)

func read(t *testing.T, path string) *exports.Library {
	t.Helper()
	l, err := exports.Read(path)
	require.NoError(t, err)
	return l
}

func build(t *testing.T, l exportstest.Library) *exports.Library {
	t.Helper()
	return read(t, l.Build(t, t.TempDir(), "lib.so"))
}

func api(t *testing.T, l *exports.Library) exports.API {
	t.Helper()
	a, err := l.API()
	require.NoError(t, err)
	return a
}

func TestSample(t *testing.T) {
	path := exportstest.Sample().Build(t, t.TempDir(), "lib.so")
	l := read(t, path)
	require.Equal(t, "libMIOpen.so.1", l.SONAME)
	require.Len(t, l.BuildID, 40)
	a := api(t, l)
	require.Equal(t, exports.FormStock, a.Form)
	require.Equal(t, exportstest.SampleNames(), a.Names())
	for _, e := range a.Entries {
		want := "MIOPEN_HIP_1"
		if e.Name == "miopenNewer" {
			want = "MIOPEN_HIP_2"
		}
		require.Equal(t, want, e.Node, e.Name)
		require.Equal(t, e.Name == "miopenWeak", e.Weak, e.Name)
	}
	names := func(k exports.Kind) (out []string) {
		for _, e := range l.OfKind(k) {
			out = append(out, e.Name)
		}
		return out
	}
	require.Equal(t, []string{"miopen_table_data"}, names(exports.KindData), "data named miopen* is no entry point")
	require.Equal(t, []string{"_ZN6miopen5TwiceEi", "_ZN6miopen7counterE"}, names(exports.KindCXX))
	require.Equal(t, []string{"helper_function"}, names(exports.KindOtherC), "no symbols of version nodes")
	require.Empty(t, names(exports.KindImpl))

	exportstest.StripSectionHeaders(t, path)
	require.Equal(t, l, read(t, path))
}

func TestVersions(t *testing.T) {
	l := build(t, exportstest.Unversioned())
	require.Empty(t, l.Nodes)
	a := api(t, l)
	require.Equal(t, exportstest.SampleNames(), a.Names())
	require.Empty(t, a.Entries[0].Node)
	require.Equal(t, "miopenAlpha", a.Entries[0].String())

	a = api(t, build(t, exportstest.TwoVersions()))
	require.Len(t, a.Entries, 3)
	require.Equal(t, "miopenAlpha@MIOPEN_HIP_1", a.Entries[0].String())
	require.Equal(t, "miopenAlpha@@MIOPEN_HIP_2", a.Entries[1].String())
	require.Equal(t, []string{"miopenAlpha", "miopenOther"}, a.Names())
}

// library builds a library with functions of those names and nothing else.
func library(t *testing.T, names ...string) *exports.Library {
	t.Helper()
	var source strings.Builder
	source.WriteString("extern \"C\" {\n")
	for _, n := range names {
		source.WriteString("int " + n + "(void) { return 1; }\n")
	}
	source.WriteString("}\n")
	return build(t, exportstest.Library{Source: source.String(), SONAME: "libMIOpen.so.1"})
}

func TestPrivateForm(t *testing.T) {
	a := api(t, library(t, "miopenA_impl", "miopenAB_impl", "miopenA_b_impl"))
	require.Equal(t, exports.FormPrivate, a.Form)
	require.Equal(t, []string{"miopenA", "miopenAB", "miopenA_b"}, a.Names())
	require.True(t, slices.IsSorted(a.Names()))
	require.Equal(t, map[string]string{
		"miopenA": "miopenA_impl", "miopenAB": "miopenAB_impl", "miopenA_b": "miopenA_b_impl",
	}, a.Rename())
}

func TestSurvivorsOfARename(t *testing.T) {
	_, err := library(t, "miopenA_impl", "miopenB_impl", "miopenC_impl", "miopenHiddenGet", "miopen_init").API()
	var mixed *exports.MixedError
	require.ErrorAs(t, err, &mixed)
	require.Equal(t, []string{"miopenHiddenGet", "miopen_init"}, mixed.Plain)
	require.ErrorContains(t, err, "2 of 5 entry points kept their public names (miopenHiddenGet, miopen_init)")
	require.ErrorContains(t, err, "miopen_private_rename.h")
}

func TestMixtures(t *testing.T) {
	_, err := library(t, "miopenA", "miopenB", "miopenC", "miopenD_impl").API()
	require.ErrorContains(t, err, "1 of 4 exported functions already end in _impl (miopenD)")
	_, err = library(t, "miopenA", "miopenA_impl", "miopenB_impl").API()
	var mixed *exports.MixedError
	require.ErrorAs(t, err, &mixed)
	require.Equal(t, []string{"miopenA"}, mixed.Both)
	require.ErrorContains(t, err, "both as miopenFoo and as miopenFoo_impl (miopenA)")
}

func TestNoAPI(t *testing.T) {
	_, err := library(t, "other").API()
	var none *exports.NoAPIError
	require.ErrorAs(t, err, &none)
	require.ErrorContains(t, err, "exports no function named miopen*")
}

func TestIndirectFunctions(t *testing.T) {
	l := build(t, exportstest.Library{Source: `extern "C" {
static int impl(void) { return 1; }
static int (*resolve(void))(void) { return impl; }
int miopenA(void) __attribute__((ifunc("resolve")));
int miopenB(void) { return 2; }
}`})
	_, err := l.API()
	var indirect *exports.IndirectError
	require.ErrorAs(t, err, &indirect)
	require.Equal(t, []string{"miopenA"}, indirect.Names)
}

func TestWrapperForm(t *testing.T) {
	dir := t.TempDir()
	private := exportstest.Library{Source: `extern "C" int miopenA_impl(void) { return 1; }`, SONAME: "libMIOpen_private.so.1"}.
		Build(t, dir, "libMIOpen_private.so.1")
	// Also one that was made elsewhere, without this shim's node.
	l := build(t, exportstest.Library{
		Source: `extern "C" { int miopenA_impl(void); int miopenA(void) { return miopenA_impl(); } }`,
		SONAME: "libMIOpen.so.1", Flags: []string{private},
	})
	require.Equal(t, exports.FormWrapper, api(t, l).Form)
	require.Equal(t, []exports.Reference{{Name: "miopenA_impl"}}, l.Undefined)
	require.Contains(t, l.Needed, "libMIOpen_private.so.1")
}

func TestFingerprint(t *testing.T) {
	a := api(t, library(t, "miopenA", "miopenB"))
	require.Equal(t, int64(0), a.Offsets()[0])
	require.NotZero(t, a.Offsets()[1])
	moved := exports.API{Form: exports.FormPrivate, Entries: slices.Clone(a.Entries)}
	for i := range moved.Entries {
		moved.Entries[i].Address += 0x1000
	}
	require.Equal(t, a.Fingerprint(), moved.Fingerprint(), "where a library is loaded does not matter")
	moved.Entries[1].Address += 16
	require.NotEqual(t, a.Fingerprint(), moved.Fingerprint())
	renamed := exports.API{Entries: slices.Clone(a.Entries)}
	renamed.Entries[1].Name = "miopenC"
	require.NotEqual(t, a.Fingerprint(), renamed.Fingerprint())
	// The first name need not have the lowest address.
	low := exports.API{Entries: []exports.EntryPoint{{Name: "miopenA", Address: 0x2000}, {Name: "miopenB", Address: 0x1000}}}
	require.Equal(t, []int64{0, -0x1000}, low.Offsets())
}

func TestCompare(t *testing.T) {
	stock := api(t, build(t, exportstest.Sample()))
	require.True(t, exports.Compare(stock, stock).Empty())
	other := exports.API{Form: exports.FormWrapper}
	for _, e := range stock.Entries {
		switch e.Name {
		case "miopenBeta":
			continue
		case "miopenNewer":
			e.Node = "MIOPEN_HIP_1"
		case "miopenWeak":
			e.Hidden = true
		}
		other.Entries = append(other.Entries, e)
	}
	other.Entries = append(other.Entries, exports.EntryPoint{Name: "miopenZ"})
	d := exports.Compare(stock, other)
	require.Equal(t, exports.Difference{
		Missing: []string{"miopenBeta"},
		Extra:   []string{"miopenZ"},
		Nodes: []exports.NodeDifference{
			{Name: "miopenNewer", Want: []string{"@@MIOPEN_HIP_2"}, Got: []string{"@@MIOPEN_HIP_1"}},
			{Name: "miopenWeak", Want: []string{"@@MIOPEN_HIP_1"}, Got: []string{"@MIOPEN_HIP_1"}},
		},
	}, d)
	two := api(t, build(t, exportstest.TwoVersions()))
	one := exports.API{Entries: two.Entries[1:]}
	require.Len(t, exports.Compare(two, one).Nodes, 1, "a lost older version of a name is noticed")
}

func TestGlibc(t *testing.T) {
	// memcpy@GLIBC_2.14 comes from any program that copies memory; the exact floor depends on the machine.
	l := build(t, exportstest.Library{
		Source: "#include <cstring>\nextern \"C\" void *miopenA(void *a, void *b, unsigned long n) { return memcpy(a, b, n); }",
	})
	require.GreaterOrEqual(t, l.Glibc.Compare(exports.GlibcVersion{Major: 2, Minor: 14}), 0)
	none := build(t, exportstest.Library{
		Source: `extern "C" int miopenA(void) { return 1; }`, Flags: []string{"-nostdlib"},
	})
	require.True(t, none.Glibc.IsZero())
	require.Equal(t, "none", none.Glibc.String())

	for text, want := range map[string]exports.GlibcVersion{
		"2.17": {Major: 2, Minor: 17}, "2.2.5": {Major: 2, Minor: 2, Patch: 5}, "none": {},
	} {
		var v exports.GlibcVersion
		require.NoError(t, v.UnmarshalText([]byte(text)))
		require.Equal(t, want, v)
		require.Equal(t, text, v.String())
	}
	var v exports.GlibcVersion
	require.Error(t, v.UnmarshalText([]byte("PRIVATE")))
	require.Positive(t, exports.GlibcVersion{Major: 2, Minor: 17}.Compare(exports.GlibcVersion{Major: 2, Minor: 2, Patch: 5}))
}

func TestUnreadable(t *testing.T) {
	path := exportstest.Write(t, filepath.Join(t.TempDir(), "libMIOpen.so"), "INPUT(libMIOpen.so.1)\n")
	_, err := exports.Read(path)
	var format *dynobj.FormatError
	require.ErrorAs(t, err, &format)
	_, err = exports.Read(path + ".none")
	require.ErrorContains(t, err, "no such file")
}
