package exports

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/exports/dynobj"
)

// GlibcVersion is a version of the GNU C library. The zero value means that none is required.
type GlibcVersion struct{ Major, Minor, Patch int }

// IsZero reports whether no version is required.
func (v GlibcVersion) IsZero() bool { return v == GlibcVersion{} }

// Compare orders versions, older first.
func (v GlibcVersion) Compare(w GlibcVersion) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// String returns the version as glibc writes it, "2.17" or "2.2.5", and "none" for the zero value.
func (v GlibcVersion) String() string {
	switch {
	case v.IsZero():
		return "none"
	case v.Patch != 0:
		return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
	}
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}

// MarshalText writes the version as String does.
func (v GlibcVersion) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// parseGlibcNode returns the glibc release that a required version node stands for.
func parseGlibcNode(node string) (GlibcVersion, bool) {
	rest, ok := strings.CutPrefix(node, "GLIBC_")
	if !ok {
		return GlibcVersion{}, false
	}
	if rest == "ABI_DT_RELR" { // the node that marks a loader with DT_RELR, glibc 2.36
		return GlibcVersion{Major: 2, Minor: 36}, true
	}
	var n [3]int
	parts := strings.Split(rest, ".")
	if len(parts) > len(n) {
		return GlibcVersion{}, false
	}
	for i, p := range parts {
		var err error
		if n[i], err = strconv.Atoi(p); err != nil { // GLIBC_PRIVATE and the like name no release
			return GlibcVersion{}, false
		}
	}
	return GlibcVersion{n[0], n[1], n[2]}, true
}

// glibcFloor returns the newest glibc that the version needs ask for: on an older one the loader refuses the object.
func glibcFloor(needs []dynobj.VersionNeed) GlibcVersion {
	var floor GlibcVersion
	for _, need := range needs {
		for _, node := range need.Nodes {
			if v, ok := parseGlibcNode(node.Name); ok && !node.Weak && v.Compare(floor) > 0 {
				floor = v
			}
		}
	}
	return floor
}

// UnmarshalText reads what MarshalText writes.
func (v *GlibcVersion) UnmarshalText(text []byte) error {
	*v = GlibcVersion{}
	if string(text) == v.String() {
		return nil
	}
	w, ok := parseGlibcNode("GLIBC_" + string(text))
	if !ok {
		return fmt.Errorf("%q is not a version of glibc", text)
	}
	*v = w
	return nil
}
