// Package loop has the tests of the whole way around the real MIOpen, on a device: an application's MIOpen call goes through the
// wrapper to hipDNN, from there to the engine plugin, and from the plugin to MIOpen's implementation, which computes it
// (loop_test); and an application's own graphs go from hipDNN to the plugin and to MIOpen (graphs_test).
//
// The application is AMD's MIOpenDriver, or tests/refhipdnn's driver for graphs. hipDNN is tests/refhipdnn: a green test shows
// that the parts of this project fit together around the real MIOpen, and not that AMD's hipDNN serves the graphs.
package loop
