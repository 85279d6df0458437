package plugins_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/inspect/loader"
	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/toolchains/rocm/layout"
)

const (
	wrapperName = "libMIOpen.so.1"
	privateName = "libMIOpen_private.so.1"
)

// subject is one split MIOpen and what it needs to be loaded.
type subject struct {
	split string // the folder
	host  launch.Host
	real  bool // AMD's library, on a machine that may have no device
}

func file(t *testing.T, variable string) string {
	t.Helper()
	path, err := runfile.Path(variable)
	require.NoError(t, err)
	return path
}

func newSubject(t *testing.T) subject {
	t.Helper()
	split, err := runfile.Dir("SHIM", "manifest.json")
	require.NoError(t, err)
	s := subject{split: split}
	if os.Getenv("LAYOUT") != "" {
		rocm, err := layout.Load(file(t, "LAYOUT"))
		require.NoError(t, err)
		s.real, s.host = true, launch.Host{Loader: rocm.Loader, Libraries: rocm.LibraryPath}
	}
	return s
}

// outcome is what a program did.
type outcome struct {
	stdout, stderr string
	status         int
}

// run has program load a plugin with the libraries of folder.
func (s subject) run(t *testing.T, folder, program, plugin string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args := []string{plugin}
	if s.real {
		args = append(args, "without-device")
	}
	cmd, err := s.host.Command(ctx, t.TempDir(), []string{folder}, program, args...)
	require.NoError(t, err)
	cmd.Env = append(cmd.Env, "LD_DEBUG=bindings")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.True(t, errors.As(err, &exit), "%s: %v", cmd, err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// bound are the MIOpen symbols that the plugin's references were bound to, by the base name of the library.
func (o outcome) bound(plugin string) map[string][]string {
	symbols := map[string][]string{}
	for _, b := range loader.ParseBindings(o.stderr) {
		if filepath.Base(b.From) == filepath.Base(plugin) && strings.HasPrefix(b.Symbol, "miopen") {
			to := filepath.Base(b.To)
			symbols[to] = append(symbols[to], b.Symbol)
		}
	}
	return symbols
}

// libraries is a folder with the two libraries, private from another place if it is not empty.
func (s subject) libraries(t *testing.T, private string) string {
	t.Helper()
	if private == "" {
		private = filepath.Join(s.split, privateName)
	}
	dir := t.TempDir()
	for name, from := range map[string]string{wrapperName: filepath.Join(s.split, wrapperName), privateName: private} {
		real, err := filepath.EvalSymlinks(from)
		require.NoError(t, err)
		// A hard link or a copy, not a symbolic one: a library's own folder is where it is found.
		if os.Link(real, filepath.Join(dir, name)) == nil {
			continue
		}
		text, err := os.ReadFile(real)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o755))
	}
	return dir
}
