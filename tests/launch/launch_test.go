package launch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/launch"
)

func touch(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	return path
}

func TestHostOf(t *testing.T) {
	prefix := t.TempDir()
	library := touch(t, filepath.Join(prefix, "usr/lib/x86_64-linux-gnu/libMIOpen.so.1"))
	host, err := launch.HostOf(library)
	require.NoError(t, err)
	require.Equal(t, launch.Host{Libraries: []string{filepath.Dir(library)}}, host, "no loader, so the machine's")

	loader := touch(t, filepath.Join(prefix, "usr/lib64/ld-linux-x86-64.so.2"))
	link := filepath.Join(t.TempDir(), "libMIOpen.so.1")
	require.NoError(t, os.Symlink(library, link))
	host, err = launch.HostOf(link)
	require.NoError(t, err)
	require.Equal(t, launch.Host{Loader: loader, Libraries: []string{filepath.Dir(library)}}, host)

	_, err = launch.HostOf(filepath.Join(prefix, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestCommandWithLoader(t *testing.T) {
	t.Setenv("LD_LIBRARY_PATH", "/elsewhere")
	t.Setenv("MIOPEN_FIND_MODE", "1")
	host := launch.Host{Loader: "/rocm/ld.so", Libraries: []string{"/rocm/lib"}}
	cmd, err := host.Command(t.Context(), "/home", []string{"/split"}, "/bin/program", "-x")
	require.NoError(t, err)
	require.Equal(t, []string{"/rocm/ld.so", "--library-path", "/split:/rocm/lib", "/bin/program", "-x"}, cmd.Args)
	require.Contains(t, cmd.Env, "HOME=/home")
	for _, variable := range cmd.Env {
		require.NotRegexp(t, "^(LD_LIBRARY_PATH|MIOPEN_FIND_MODE)=", variable)
	}
}

// Without a loader the program itself is started. The control run has no folder in front.
func TestCommandWithoutLoader(t *testing.T) {
	t.Setenv("LD_LIBRARY_PATH", "/elsewhere")
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s %s' \"$LD_LIBRARY_PATH\" \"$1\"\n"), 0o755))
	host := launch.Host{Libraries: []string{"/rocm/lib"}}
	for want, first := range map[string][]string{"/split:/rocm/lib -x": {"/split"}, "/rocm/lib -x": nil} {
		cmd, err := host.Command(t.Context(), t.TempDir(), first, program, "-x")
		require.NoError(t, err)
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, want, string(out))
	}
}

func TestCommandMakesPathsAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	require.NoError(t, err)
	cmd, err := launch.Host{Loader: "/rocm/ld.so", Libraries: []string{"/rocm/lib"}}.Command(t.Context(), here, []string{"lib"}, "bin/program")
	require.NoError(t, err)
	require.Equal(t, []string{"/rocm/ld.so", "--library-path", here + "/lib:/rocm/lib", here + "/bin/program"}, cmd.Args)
}

func TestCommandRefusesUnquotableFolders(t *testing.T) {
	for _, folder := range []string{"/a:b", "/a;b"} {
		_, err := launch.Host{}.Command(t.Context(), "/home", []string{folder}, "/bin/program")
		require.ErrorContains(t, err, folder)
	}
}
