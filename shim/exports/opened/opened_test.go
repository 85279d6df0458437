package opened

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/exports/exportstest"
)

func TestScan(t *testing.T) {
	path := exportstest.Library{
		SONAME: "libMIOpen.so.1",
		Source: `extern "C" {
const char *miopenNames[] = {
    "libruntime.so.3", "libplain.so", "/opt/x/lib/libwithpath.so.1", "libm.so.6" /* NEEDED */,
    "libMIOpen.so.1" /* itself */,
    "not libinside.so", "libtrailing.so.x", "liberty.some", "lib.so",
    "MIOPEN_SYSTEM_DB_PATH", "/usr/share/miopen/db", "/usr/share/miopen/db of another", "see /usr/lib/miopen/db",
};
double floor(double);
double miopenA(double x) { return floor(x); }
}
__asm__(".section .note.dlopen, \"a\", @note\n"
        ".p2align 2\n.long 4, 2f - 1f, 0x407c0c0a\n.asciz \"FDO\"\n"
        "1: .asciz \"[{\\\"soname\\\":[\\\"libnoted.so.2\\\"],\\\"priority\\\":\\\"suggested\\\"}]\"\n2: .p2align 2\n.text\n");
`,
		Flags: []string{"-Wl,--no-as-needed", "-lm", "-fno-builtin"},
	}.Build(t, t.TempDir(), "lib.so")
	r, err := ScanFile(path)
	require.NoError(t, err)
	require.Equal(t, Report{
		Libraries: []File{
			{"/opt/x/lib/libwithpath.so.1", EvidenceString},
			{"libnoted.so.2", EvidenceNote},
			{"libplain.so", EvidenceString},
			{"libruntime.so.3", EvidenceString},
		},
		SystemDatabase:  true,
		DatabaseFolders: []string{"/usr/share/miopen/db"},
	}, r)
}

func TestScanOfALibraryThatOpensNothing(t *testing.T) {
	r, err := ScanFile(exportstest.Library{Source: `extern "C" int miopenA(void) { return 1; }`}.Build(t, t.TempDir(), "lib.so"))
	require.NoError(t, err)
	require.Equal(t, Report{}, r)
}

func TestScanDamagedNote(t *testing.T) {
	path := exportstest.Library{Source: `__asm__(".section .note.dlopen, \"a\", @note\n"
        ".p2align 2\n.long 4, 4, 0x407c0c0a\n.asciz \"FDO\"\n.asciz \"[{x\"\n.text\n");`}.Build(t, t.TempDir(), "lib.so")
	_, err := ScanFile(path)
	require.ErrorContains(t, err, ".note.dlopen")
	_, err = ScanFile(filepath.Join(t.TempDir(), "none"))
	require.Error(t, err)
}

// TestStringsAcrossChunks places names at and around every boundary that eachString has.
func TestStringsAcrossChunks(t *testing.T) {
	const name = "liba.so"
	boundaries := []int{0, 1, chunkSize - maxString, chunkSize, 2*chunkSize - maxString, 2 * chunkSize}
	for _, boundary := range boundaries {
		for shift := -len(name) - 3; shift <= 3; shift++ {
			at := boundary + shift
			if at < 0 {
				continue
			}
			data := bytes.Repeat([]byte{'x', 0, 'y'}, chunkSize)[:2*chunkSize+maxString/2]
			if at > 0 {
				data[at-1] = 0
			}
			copy(data[at:], name+"\x00")
			for kind, r := range map[string]io.Reader{"plain": bytes.NewReader(data), "halves": iotest.HalfReader(bytes.NewReader(data))} {
				var got []string
				require.NoError(t, eachString(r, func(s string) { got = append(got, s) }))
				require.Equal(t, []string{name}, got, "at %d, %s", at, kind)
			}
		}
	}
}

func TestStringsThatDoNotCount(t *testing.T) {
	for what, data := range map[string]string{
		"no end":             "liba.so",
		"longer than a path": strings.Repeat("a", maxString) + "/liba.so\x00",
	} {
		require.NoError(t, eachString(strings.NewReader(data), func(s string) { t.Errorf("%s: found %q", what, s) }))
	}
	var got []string
	require.NoError(t, eachString(strings.NewReader("a.so.b.so\x00\x00c.so\x00"), func(s string) { got = append(got, s) }))
	require.Equal(t, []string{"a.so.b.so", "c.so"}, slices.Compact(got))
	require.ErrorContains(t, eachString(iotest.ErrReader(fmt.Errorf("broken disk")), func(string) {}), "broken disk")
}
