package verify

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	//go:embed testdata/lib.c
	librarySource []byte
	//go:embed testdata/lib.map
	libraryMap []byte
)

var (
	compiledLock sync.Mutex
	compiled     = map[string][]byte{}
)

// compile builds the test library with the host's compiler and linker, once for each set of flags; they follow the sources.
// The result is shared and must not be changed. The folder's name does not get into the file, so that seeded tests see the
// same bytes in every run.
func compile(t testing.TB, flags ...string) []byte {
	t.Helper()
	compiledLock.Lock()
	defer compiledLock.Unlock()
	key := strings.Join(flags, " ")
	if b, ok := compiled[key]; ok {
		return b
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lib.c"), librarySource, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lib.map"), libraryMap, 0o644))
	cmd := exec.Command(cc, append([]string{"-O1", "-fPIC", "-shared", "lib.c", "-o", "lib.so", "-ffile-prefix-map=" + dir + "=.",
		"-Wl,--version-script=lib.map", "-Wl,-soname,libtest.so.1", "-Wl,--build-id=sha1", "-lm"}, flags...)...)
	cmd.Dir = dir
	msg, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", cmd, msg)
	b, err := os.ReadFile(filepath.Join(dir, "lib.so"))
	require.NoError(t, err)
	compiled[key] = b
	return b
}

// variants are the shapes of file that tests go through.
var variants = []struct {
	Name  string
	Flags []string
}{
	{"gnu hash", []string{"-Wl,--hash-style=gnu"}},
	{"sysv hash", []string{"-Wl,--hash-style=sysv"}},
	{"both hashes, debug information", []string{"-Wl,--hash-style=both", "-g"}},
	{"bind now, run path", []string{"-Wl,--hash-style=gnu", "-Wl,-z,now", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/stock"}},
	{"no symbol table", []string{"-Wl,--hash-style=both", "-s"}},
	{"relative relocations packed", []string{"-Wl,--hash-style=gnu", "-Wl,-z,pack-relative-relocs"}},
}

// everything is an edit of each kind.
func everything() Expect {
	runPath := "$ORIGIN/../lib"
	return Expect{
		Rename: map[string]string{
			"apiCreate": "apiCreate_impl", "apiDestroy": "apiDestroy_impl", "apiName": "apiName_impl", "aliased": "aliased_impl",
			"filler_3": "filler_3_impl",
		},
		SONAME:    "libtest_private.so.1",
		RunPath:   &runPath,
		Needed:    map[string]string{"libm.so.6": "libm_other.so.6"},
		AddNeeded: []string{"libextra.so.2"},
	}
}
