// Package translate turns MIOpen convolutions into hipDNN operation graphs and back.
//
// A translation is exact or it is declined: where the two libraries could give results that differ by
// more than rounding, Forward returns a Decline, which names the reason for counters and the values
// for people. Each mapping (types, modes, statuses) is one table that both directions use.
//
// What maps: miopenConvolution with any plain strides, one to five spatial dimensions, groups,
// dilation; miopenTranspose, as the gradient of the data; half, bfloat16, float, double, the 8-bit
// types with NaN as negative zero, int8 with int32 results, and with float results where every sum is
// a float.
//
// What maps and can be observed: the algorithm that the caller chose is not looked at, since hipDNN
// chooses engines itself; MIOpen's tuning policy and databases are not consulted.
//
// There are two ways back. Inverse is that of the bridge: the call of miopenConvolutionForward that a
// graph came from. ToMIOpen is that of the plugin's engines: the operation of MIOpen, gradients and
// fused convolutions included, that computes a graph of whatever origin.
//
// The package has no state, makes no calls and reads no environment.
package translate
