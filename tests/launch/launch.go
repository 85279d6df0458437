// Package launch runs programs on a chosen MIOpen: it knows dynamic loaders and their search path, and
// nothing of what the programs do.
//
// A MIOpen that comes from another system than the machine's own (Debian packages unpacked into a prefix)
// needs that system's C library, and a C library works with its own loader only. So a program is started
// either as it is, with LD_LIBRARY_PATH, or through the prefix's loader with --library-path.
package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Host is where a MIOpen's dependencies are.
type Host struct {
	Loader    string   // path of the dynamic loader, "" for the one each program names
	Libraries []string // directories with the dependencies, searched after the caller's
}

// HostOf finds the host of a library: the prefix around it, if that has a loader of its own, else the
// machine itself.
func HostOf(library string) (Host, error) {
	path, err := filepath.EvalSymlinks(library)
	if err != nil {
		return Host{}, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return Host{}, err
	}
	host := Host{Libraries: []string{filepath.Dir(path)}}
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if dir == "/usr" { // not a prefix of its own: its loader is the machine's
			break
		}
		for _, loader := range []string{"lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2"} {
			if candidate := filepath.Join(dir, loader); exists(candidate) {
				host.Loader = candidate
				return host, nil
			}
		}
	}
	return host, nil
}

// Command prepares program to run with its libraries taken from dirs first. They are searched after a
// program's DT_RPATH and before its DT_RUNPATH. With a loader the search path is that loader's argument, which
// child processes do not inherit; else it is LD_LIBRARY_PATH, and they do.
//
// The environment is the caller's without what would change where libraries come from or how MIOpen behaves;
// HOME and the caches that MIOpen writes are below home, which must be a directory that may be written.
func (h Host) Command(ctx context.Context, home string, dirs []string, program string, args ...string) (*exec.Cmd, error) {
	var folders []string
	for _, dir := range append(append([]string{}, dirs...), h.Libraries...) {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		// The loader splits the list at both and has no way to quote them.
		if strings.ContainsAny(absolute, ":;") {
			return nil, fmt.Errorf("%s cannot be in a library search path: it has a colon or semicolon", absolute)
		}
		folders = append(folders, absolute)
	}
	search := strings.Join(folders, ":")
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	var cmd *exec.Cmd
	if h.Loader != "" {
		cmd = exec.CommandContext(ctx, h.Loader, append([]string{"--library-path", search, program}, args...)...)
	} else {
		cmd = exec.CommandContext(ctx, program, args...)
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name != "HOME" && !strings.HasPrefix(name, "LD_") && !strings.HasPrefix(name, "MIOPEN_") && !strings.HasPrefix(name, "XDG_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"))
	if h.Loader == "" && search != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+search)
	}
	return cmd, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
