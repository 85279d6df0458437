// Package refmiopen holds the tests of the reference library: its header and its exported symbols
// against facts taken from the real library, its behaviour against a transcript of the real library,
// and its numbers against the oracle in package oracle.
//
// The package knows MIOpen's C API and ELF's dynamic symbols. It must not know how the shim splits a
// library, nor share arithmetic with the library under test.
package refmiopen
