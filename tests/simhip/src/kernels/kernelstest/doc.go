// Package kernelstest tests simhip's reader of code objects and its executor of MIOpen's naive convolution kernels
// without ROCm: it writes code objects itself, with the metadata that real ones have but without machine code, and
// runs kernels through a small program of its own (launcher), without the HIP runtime around them.
package kernelstest
