// Package hipdnn runs operation graphs on hipDNN's backend library, which it opens at run time.
//
// It turns a graph.Graph into backend descriptors, an engine and an execution plan, and executes
// plans on device memory. It knows the backend's C API in its two numberings, and as much of HIP as
// this takes: memory for workspaces, events, and whether a stream is capturing. It knows nothing of
// MIOpen and takes no decisions about what is to run where.
//
// All that touches the library is C (backend.h), one function for a call and the reading of its
// error. Backends live until the process ends. A Backend may be used by any number of goroutines, a
// Handle's Build too; a Handle's Execute, SetStream and Close, and a Plan's Close, are for one at a
// time.
package hipdnn
