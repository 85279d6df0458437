// Package layout names the files of a split, relative to its folder. Everything that writes, checks or consumes a split
// takes the names from here.
package layout

import (
	"fmt"
	"path"
	"regexp"
)

// Files that do not depend on the library's major version.
const (
	DevLink      = "libMIOpen.so"     // symbolic link to the wrapper; what -lMIOpen finds and hosts dlopen
	LinkerScript = "cxx/libMIOpen.so" // for consumers that bind the private library's C++ names
	Manifest     = "manifest.json"
	ShimHeader   = "include/miopen/miopen_hipdnn_shim.h"
	ImplHeader   = "include/miopen/miopen_impl.h" // only when the split knows MIOpen's header
	RenameHeader = "include/miopen_private_rename.h"
)

const (
	publicStem  = "libMIOpen.so."
	privateStem = "libMIOpen_private.so."
	packageStem = "libmiopen"
)

// Layout is the names of one split. The major version is that of the SONAME.
type Layout struct{ major string }

var soname = regexp.MustCompile(`^libMIOpen(?:_private)?\.so\.([0-9]+)$`)

// SONAMEError says that a library has no SONAME that a MIOpen has.
type SONAMEError struct{ SONAME string }

func (e *SONAMEError) Error() string {
	has := fmt.Sprintf("SONAME is %q", e.SONAME)
	if e.SONAME == "" {
		has = "there is no SONAME"
	}
	return has + `; expected "libMIOpen.so.N" or "libMIOpen_private.so.N", so that the wrapper can take the name under which ` +
		"programs need MIOpen"
}

// For returns the layout for a stock or private library of that SONAME. The error is a *SONAMEError.
func For(name string) (Layout, error) {
	m := soname.FindStringSubmatch(name)
	if m == nil {
		return Layout{}, &SONAMEError{SONAME: name}
	}
	return Layout{major: m[1]}, nil
}

// Wrapper is the file name and SONAME of the wrapper, which are those of the stock library.
func (l Layout) Wrapper() string { return publicStem + l.major }

// Private is the file name and SONAME of the private library.
func (l Layout) Private() string { return privateStem + l.major }

// Symbols is the name of Debian's symbols file.
func (l Layout) Symbols() string { return packageStem + l.major + ".symbols" }

// LinkerScriptText is the content of LinkerScript. The files are found through the linker's search path: the script
// holds no path, so that the folder can be moved.
func (l Layout) LinkerScriptText() []byte {
	return fmt.Appendf(nil, `/* For programs that use MIOpen's C++ names, which only the private library has: link with -L on this folder, -L on the
   folder above, and -lMIOpen. Programs that use the C API do not need it. */
INPUT(%s AS_NEEDED(%s))
`, l.Wrapper(), l.Private())
}

var owned = regexp.MustCompile(`^libMIOpen(_private)?\.so(\.[0-9]+)?$|^libmiopen[0-9]+\.symbols$`)

// Owned reports whether a file of that name, relative to the folder and with slashes, belongs to a split of any major
// version.
func Owned(name string) bool {
	switch path.Clean(name) {
	case LinkerScript, Manifest, ShimHeader, ImplHeader, RenameHeader:
		return true
	}
	return owned.MatchString(name)
}
