package header

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
)

func parse(t *testing.T, text string) *Header {
	t.Helper()
	h, err := Parse([]byte(text))
	require.NoError(t, err)
	return h
}

// always is the result for a name that is declared without a condition.
var always = []Conditions{nil}

func TestSample(t *testing.T) {
	h := parse(t, exportstest.Header)
	for _, name := range []string{"miopenAlpha", "miopenBeta", "miopenTake", "miopenWeak"} {
		require.Equal(t, always, h.Declared(name), name)
	}
	require.Equal(t, []Conditions{{{"#ifdef MIOPEN_BETA_API"}}}, h.Declared("miopenNewer"))
	for _, name := range []string{"miopenCommented", "miopenQuoted", "miopenBare", "miopenMacroMade"} {
		require.Empty(t, h.Declared(name), name)
	}
	require.Equal(t, []string{"miopenArgument_t"}, h.BareTags())
}

func TestConditions(t *testing.T) {
	h := parse(t, `
#ifndef GUARD // a comment
#define GUARD
#if A > 1 /* spread
  over lines */ && \
    defined(B)
int miopenIf(void);
#elif defined  C
int miopenElif(void);
#  ifdef D
int miopenNested(void);
#  endif
#else
int miopenElse(void);
#endif
#ifdef E
int miopenBoth(void);
#else
int miopenBoth(int);
#endif
#if(F)
int miopenTight(void);
#endif
int miopenAfter(void);
#endif
`)
	require.Equal(t, []Conditions{{{"#if A > 1 && defined(B)"}}}, h.Declared("miopenIf"))
	require.Equal(t, []Conditions{{{"#if A > 1 && defined(B)", "#elif defined C"}}}, h.Declared("miopenElif"))
	require.Equal(t, []Conditions{{{"#if A > 1 && defined(B)", "#elif defined C"}, {"#ifdef D"}}}, h.Declared("miopenNested"))
	require.Equal(t, []Conditions{{{"#if A > 1 && defined(B)", "#elif defined C", "#else"}}}, h.Declared("miopenElse"))
	require.Equal(t, []Conditions{{{"#ifdef E"}}, {{"#ifdef E", "#else"}}}, h.Declared("miopenBoth"))
	require.Equal(t, []Conditions{{{"#if (F)"}}}, h.Declared("miopenTight"))
	require.Equal(t, always, h.Declared("miopenAfter"))
}

// TestNoGuard: an #ifndef that is not the header's include guard is a condition like any other.
func TestNoGuard(t *testing.T) {
	for _, text := range []string{
		"#ifndef X\nint miopenA(void);\n#endif\n",
		"#ifndef X\n#define Y\nint miopenA(void);\n#endif\n",
		"#include <x.h>\n#ifndef X\n#define X\nint miopenA(void);\n#endif\n",
	} {
		require.Equal(t, []Conditions{{{"#ifndef X"}}}, parse(t, text).Declared("miopenA"), text)
	}
}

func TestWhatIsNoDeclaration(t *testing.T) {
	for name, text := range map[string]string{
		"macro":              "#define M(x) \\\n miopenA(x)\n",
		"string":             "const char *s = \"int miopenA(void)\";",
		"escaped quote":      `const char *s = "\" miopenA(void)";`,
		"block comment":      "/* int miopenA(void); */",
		"line comment":       "// int miopenA(void);",
		"continued comment":  "// text \\\nint miopenA(void);",
		"function body":      "static inline int f(void) { return miopenA(1); }",
		"member":             "struct s { int (*p)(int); int miopenA(void); };",
		"argument":           "int f(int miopenA(void));",
		"mentioned":          "extern int miopenA;",
		"attribute argument": "int f(void) __attribute__((alias(miopenA(1))));",
	} {
		require.Empty(t, parse(t, text).Declared("miopenA"), name)
	}
}

func TestWhatIsOne(t *testing.T) {
	for name, text := range map[string]string{
		"line break":   "int\nmiopenA\n(\nvoid\n);",
		"comment":      "int miopenA /* why */ (void);",
		"extern C":     "extern \"C\" { int miopenA(void); }",
		"nested":       "extern \"C\" { struct s { int x; }; int miopenA(void); }",
		"namespace":    "struct a { struct b { int x; } y; }; int miopenA(void);",
		"branches":     "#ifdef X\nstruct s {\n#else\nstruct t {\n#endif\nint x; };\nint miopenA(void);",
		"apostrophe":   "#ifdef X\n#error don't\n#endif\nint miopenA(void);",
		"digits":       "enum { a = 1'000, b = 0x1F };\nint miopenA(void);",
		"CRLF":         "int\r\nmiopenA\\\r\n(void);\r\n",
		"after a char": "enum { q = '\"' };\nint miopenA(void);",
	} {
		require.Equal(t, always, parse(t, text).Declared("miopenA"), name)
	}
}

func TestBareTags(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"with struct":     {"struct a { int x; }; void f(struct a *);", nil},
		"without":         {"struct a { int x; }; void f(a *);", []string{"a"}},
		"typedef":         {"typedef struct a { int x; } a; void f(a *);", nil},
		"typedef later":   {"struct a { int x; }; typedef struct a a; void f(a *);", nil},
		"pointer typedef": {"struct a { int x; }; typedef struct a *b; void f(b, a *);", []string{"a"}},
		"C++ only":        {"#ifdef __cplusplus\nstruct a { int x; }; void f(a *);\n#endif\n", nil},
		"not defined":     {"void f(a *);", nil},
		"two":             {"struct z { int x; }; struct b { z y; }; void f(b *);", []string{"b", "z"}},
	} {
		require.Equal(t, c.want, parse(t, c.text).BareTags(), name)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for text, want := range map[string]string{
		"int x;\n#endif\n":           "line 2: #endif without #if",
		"#else\n":                    "line 1: #else without #if",
		"\n#ifdef A\nint x;\n":       "line 2: the conditional has no #endif",
		"int x; /* never closed\n\n": "line 1: the comment has no end",
		"\nchar *s = \"open;\n":      "line 2: the literal has no end",
	} {
		_, err := Parse([]byte(text))
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax)
		require.Equal(t, want, err.Error())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(exportstest.Header))
	f.Add([]byte("#if A\\\n/* */ 'x' \"y\"\n#else\nint f(\n{}}})\n#endif"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		_, _ = Parse(text) // does not panic, does not hang
	})
}
