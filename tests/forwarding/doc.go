// Package forwarding tests the way of a call through all parts: an application, the wrapper, the forwarding library, a
// hipDNN backend.
//
// The application is tests/refmiopen's driver on a split of the reference library; the backend is tests/refhipdnn. So a
// green test proves the hooks, the translation, the plans and the results; that AMD's backend takes the graphs it does
// not.
package forwarding
