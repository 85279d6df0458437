// Command lib is libmiopen_hipdnn.so.1, the one library with Go code that a process maps, be it for the
// wrapper, which forwards, or for hipDNN's plugin, which provides.
//
// It is linked from a C archive of this package; what it exports is in export.map. Nothing is done
// here: the entry points are C functions and exported Go functions of the packages that are imported.
package main

import (
	_ "example.com/miopen_hipdnn_shim/hipdnnbridge/hook"
	_ "example.com/miopen_hipdnn_shim/provider/entry"
)

// main is never called: the library's code runs when its functions are called.
func main() {}
