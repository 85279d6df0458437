// Package layout reads the layout.json of a ROCm repository (//toolchains/rocm:layout).
//
// It knows where a ROCm's loader, libraries and files are. It must not know what is in the libraries: that is for those
// who split and inspect them.
package layout

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// A Package is one package that the ROCm was made of.
type Package struct {
	Name         string `json:"name"`
	Version      string `json:"version"`
	Architecture string `json:"architecture"`
	SHA256       string `json:"sha256"`
}

// A Layout says where the parts of one ROCm are. All paths are absolute; a part that the ROCm does not have is "".
type Layout struct {
	// Kind is "local" for an installed ROCm and "debian" for a prefix of Debian packages.
	Kind string `json:"kind"`
	// Prefix has bin, include, lib and share.
	Prefix string `json:"prefix"`
	// Loader is the dynamic loader that the libraries need, "" when the system's will do.
	Loader string `json:"loader"`
	// LibraryPath has the folders of the ROCm's libraries.
	LibraryPath []string `json:"library_path"`
	// MIOpenLibrary is the file of the stock library, with symbolic links resolved.
	MIOpenLibrary string `json:"miopen_library"`
	MIOpenSHA256  string `json:"miopen_sha256"`
	// MIOpenVersion is the one in the ROCm's headers, such as "3.5.1"; "" without headers.
	MIOpenVersion string `json:"miopen_version"`
	// SystemDB is the folder of MIOpen's find and performance databases.
	SystemDB string `json:"system_db"`
	// Driver and GTest are MIOpenDriver and miopen_gtest.
	Driver string `json:"driver"`
	GTest  string `json:"gtest"`
	// Packages is empty for an installed ROCm.
	Packages []Package `json:"packages"`
	// Moved has a line for each package that differs from the recorded one.
	Moved []string `json:"moved"`
}

// Load reads the layout.json at path. It fails when the file describes no ROCm, or one that is gone.
func Load(path string) (*Layout, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the layout of the ROCm: %w", err)
	}
	l := &Layout{}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, fmt.Errorf("%s is not a layout.json of //toolchains/rocm: %w", path, err)
	}
	if l.MIOpenLibrary == "" || len(l.LibraryPath) == 0 {
		return nil, fmt.Errorf("%s describes no ROCm: choose one with --//toolchains/rocm:miopen=debian or =local", path)
	}
	for _, file := range append([]string{l.MIOpenLibrary, l.Prefix, l.Loader, l.SystemDB, l.Driver, l.GTest}, l.LibraryPath...) {
		if file == "" {
			continue
		}
		if !filepath.IsAbs(file) {
			return nil, fmt.Errorf("%s names %q, which is not an absolute path", path, file)
		}
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("the ROCm that %s describes has changed, build again: %w", path, err)
		}
	}
	return l, nil
}
