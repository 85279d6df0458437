// Package isatest tests the simulator of the gfx942 instruction set, tests/simhip/src/isa: what single instructions do, against
// definitions written again in Go, and what a launch gives its waves.
//
// The instructions are given as text, so neither a code object nor a disassembler nor a compiler is needed. That whole kernels
// compute what MIOpen means them to is for the tests that run the real MIOpenDriver; this package knows nothing of them.
package isatest
