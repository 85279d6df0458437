// Package gtest runs a Google Test program, such as MIOpen's miopen_gtest, reads what became of each test, and compares
// two runs test by test.
//
// A program that dies in a test, or hangs in one, ends neither the run nor the account: the test is named as what it is
// and the tests after it are run by another process. It knows Google Test's options, its progress lines and its report
// in JSON. It knows nothing of MIOpen, nor where the program's libraries come from.
//
// A run that did not run what was asked for, and a comparison that compared nothing, are errors.
package gtest
