// Package runfile finds the files that a Bazel target names for a Go program: each in an environment variable,
// as $(rlocationpath LABEL).
package runfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Path is the absolute path of the file that the environment variable names.
func Path(variable string) (string, error) {
	value := os.Getenv(variable)
	if value == "" {
		return "", fmt.Errorf("%s is not set: run this through Bazel, which names its files in the environment", variable)
	}
	return Find(value)
}

// UserPath is a path as the user meant it: `bazel run` starts programs in the tree of links, and says in
// BUILD_WORKING_DIRECTORY where the user was.
func UserPath(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(os.Getenv("BUILD_WORKING_DIRECTORY"), path)
}

// Dir is the absolute path of the directory of the file called name among those that the environment variable
// lists, as $(rlocationpaths LABEL).
func Dir(variable, name string) (string, error) {
	for _, rlocation := range strings.Fields(os.Getenv(variable)) {
		if filepath.Base(rlocation) == name {
			path, err := Find(rlocation)
			return filepath.Dir(path), err
		}
	}
	return "", fmt.Errorf("%s lists no file %s: it has %q", variable, name, os.Getenv(variable))
}

// Find is the absolute path of a file given as $(rlocationpath LABEL), or as an absolute path by who runs a test without
// Bazel. Under `bazel test` the tree of links is
// in TEST_SRCDIR, under `bazel run` in RUNFILES_DIR or beside the program.
func Find(rlocation string) (string, error) {
	if filepath.IsAbs(rlocation) {
		_, err := os.Stat(rlocation)
		return rlocation, err
	}
	var roots []string
	for _, variable := range []string{"TEST_SRCDIR", "RUNFILES_DIR"} {
		if root := os.Getenv(variable); root != "" {
			roots = append(roots, root)
		}
	}
	if self, err := os.Executable(); err == nil {
		roots = append(roots, self+".runfiles")
	}
	if wd, err := os.Getwd(); err == nil { // `bazel run` starts in TREE/_main
		roots = append(roots, filepath.Dir(wd))
	}
	for _, root := range roots {
		path := filepath.Join(root, rlocation)
		if _, err := os.Stat(path); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("no file %s below any of %s", rlocation, strings.Join(roots, ", "))
}
