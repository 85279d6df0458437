// Package driver runs AMD's MIOpenDriver with forwarding on: the real MIOpen behind the wrapper, on a simulated device, and
// tests/refhipdnn as hipDNN. It is the run of the investigation's §6, verified.
package driver
