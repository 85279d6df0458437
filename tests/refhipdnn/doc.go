// Package refhipdnn has no Go code: it is the home of the reference hipDNN backend, a C++ library
// (src, include), of the driver and the plugin that its tests use (driver, plugin), and of the tests,
// which run the driver and judge what it prints. README.md says what the library is and what a green
// test that uses it proves.
package refhipdnn
