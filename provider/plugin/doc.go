// Package plugin holds the tests of libmiopen_private_plugin.so, hipDNN's engine plugin over the private MIOpen, which is
// in src.
//
// The plugin is thin C. It answers by itself what hipDNN asks of every plugin, and graphs that cannot be for it; for the
// first other graph it opens libmiopen_hipdnn.so.1, which is two folders above it, and hands it the private MIOpen that it is
// linked against. It knows no operation of MIOpen's and of hipDNN's serialised graphs the kinds of nodes only.
package plugin
