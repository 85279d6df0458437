// Package entry is the part of libmiopen_hipdnn.so.1 that hipDNN's plugin calls: C functions over package engine.
//
// The plugin asks for miopen_provider_open and gets the table of provider.h. This package turns its arguments into Go's
// and back: numbers for handles and contexts, so that the plugin has no Go pointer; bytes that are handed out in C
// memory; errors, and panics, as a status and a text. It knows nothing of MIOpen or of graphs.
package entry
