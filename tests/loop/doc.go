// Package loop has the test of the whole way: an application's MIOpen call goes through the wrapper to hipDNN, from there to
// the engine plugin, and from the plugin to MIOpen's implementation, which computes it.
//
// The application is AMD's MIOpenDriver, the implementation the real MIOpen, on a device. hipDNN is tests/refhipdnn: a
// green test shows that the parts of this project fit together around the real MIOpen, and not that AMD's hipDNN serves the graphs.
package loop
