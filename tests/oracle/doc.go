// Package oracle says what a convolution's result is, forward and in both backward directions, alone
// or with a bias and an activation, and how far a correct implementation may be from it.
//
// It computes in double precision with compensated sums, by scattering every product to the element
// that it is a part of. The implementations that it judges gather, in the types they store; none
// of their code or formulas is used here, so an error has to be made twice in two different ways to
// pass.
//
// Supported: one to three spatial dimensions (any number, in fact), groups, pads, strides,
// dilations, any positive tensor strides, alpha and beta, and the element types of package constants.
// The package knows no library's API, status codes or algorithms.
package oracle
