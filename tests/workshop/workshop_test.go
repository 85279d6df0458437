package workshop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/workshop"
)

func TestMain(m *testing.M) { workshop.Main(m) }

// judged is a test that may fail.
type judged struct {
	testing.TB
	said   string
	failed bool
}

func (j *judged) Errorf(format string, arguments ...any) {
	j.said += fmt.Sprintf(format, arguments...)
}
func (j *judged) FailNow() {
	j.failed = true
	runtime.Goexit()
}

// judge runs f as a test of its own.
func judge(t testing.TB, f func(t testing.TB)) *judged {
	j := &judged{TB: t}
	var done sync.WaitGroup
	done.Go(func() { f(j) })
	done.Wait()
	return j
}

func TestFile(t *testing.T) {
	file := func(t testing.TB, builds *int) string {
		return workshop.File(t, "WORKSHOP_FILE", "file", func(dir string) {
			*builds++
			inner := workshop.File(t, "WORKSHOP_INNER", "inner", func(dir string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "inner"), []byte("built"), 0o644))
			})
			workshop.Copy(t, inner, filepath.Join(dir, "file"))
		})
	}
	builds := 0
	paths := make([]string, 8)
	var all sync.WaitGroup
	for i := range paths {
		all.Go(func() { paths[i] = file(t, &builds) })
	}
	all.Wait()
	require.Equal(t, 1, builds)
	for _, path := range paths {
		require.Equal(t, paths[0], path)
	}
	data, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	require.Equal(t, "built", string(data))

	named := filepath.Join(t.TempDir(), "named")
	require.NoError(t, os.WriteFile(named, nil, 0o644))
	t.Setenv("WORKSHOP_FILE", named)
	require.Equal(t, named, file(t, &builds), "Bazel's comes first")
	require.Equal(t, 1, builds)
	t.Setenv("WORKSHOP_FILE", named+".none")
	require.True(t, judge(t, func(t testing.TB) { file(t, &builds) }).failed, "nothing is built in place of one that is not there")
	require.Equal(t, 1, builds)
	require.Empty(t, workshop.Named(t, "WORKSHOP_NONE"))
}

func TestFailedBuild(t *testing.T) {
	builds := 0
	build := func(t testing.TB) {
		workshop.Folder(t, "failed", func(string) {
			builds++
			workshop.Run(t, workshop.CC(), "no such file.c")
		})
	}
	first := judge(t, build)
	require.True(t, first.failed)
	require.Contains(t, first.said, "no such file.c")
	second := judge(t, build)
	require.True(t, second.failed)
	require.Contains(t, second.said, "failed was not built, see the first failure")
	require.Equal(t, 1, builds)
}

func TestCompilers(t *testing.T) {
	for variable, command := range map[string]func() string{"CC": workshop.CC, "CXX": workshop.CXX} {
		t.Setenv(variable, "another")
		require.Equal(t, "another", command())
		t.Setenv(variable, "")
		require.True(t, strings.HasPrefix(command(), "c"))
	}
	require.Equal(t, "said\n", workshop.Run(t, "echo", "said"))
}
