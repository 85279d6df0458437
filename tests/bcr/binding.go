// Package binding calls MIOpen from Go.
package binding

/*
#include <miopen/miopen.h>

#ifndef MIOPEN_BUILDING_PRIVATE
#error not compiled as the private library asks for
#endif
*/
import "C"

// Version is the numbers of MIOpen's version.
func Version() [3]int {
	var major, minor, patch C.size_t
	C.miopenGetVersion(&major, &minor, &patch)
	return [3]int{int(major), int(minor), int(patch)}
}
