// Package wire compares the two readers and writers of hipDNN's FlatBuffers, provider/wire in Go and the reference backend's
// in C++, byte for byte. They share neither code nor tables.
package wire
