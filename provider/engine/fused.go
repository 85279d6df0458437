package engine

import (
	"slices"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
)

// fusible declines what no solver of MIOpen's fuses, whatever the device. MIOpen itself says so only
// after it has compiled, and may still refuse what passes here: solvers have limits of device, shape
// and alignment besides.
//
// There are two families (fusion.cpp at 14386ac0 lists them): those of its own kernels
// (ConvOclDirectFwdFused, ConvBiasActivAsm1x1U, the Winograd ones) know two dimensions, channels
// first, of one group, float and half; those of Composable Kernel (ConvCKIgemm*Fused) know all
// layouts and types, but bounded rectifiers alone at their end, and are not deterministic.
func fusible(op *translate.ConvolutionBiasActivation, deterministic bool) error {
	c, _ := translate.Fusable(&op.Problem) // it would have been declined if it were not
	mode := miopen.ActivationMode(-1)
	if op.Activation != nil {
		mode = op.Activation.Mode
	}
	own := c.Spatial == 2 && c.Groups == 1 && c.X.Type != miopen.BFloat16 && mode != miopen.ActivationClamp
	for _, t := range []*miopen.Tensor{&c.X, &c.W, &c.Y} {
		own = own && slices.Equal(t.Strides, miopen.PackedStrides(t.Dims))
	}
	composable := !deterministic &&
		(mode == miopen.ActivationReLU || mode == miopen.ActivationClippedReLU || mode == miopen.ActivationClamp)
	if own || composable {
		return nil
	}
	activation := "no activation"
	if op.Activation != nil {
		activation = mode.String()
	}
	return decline(translate.NoSolution, "MIOpen fuses no convolution of %v, x %v strides %v, %d groups, with %s, deterministic: %v",
		c.X.Type, c.X.Dims, c.X.Strides, c.Groups, activation, deterministic)
}
