package miopendriver

import (
	"errors"

	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/toolchains/rocm/layout"
)

// Of is the driver of a ROCm on its stock library. It fails when the ROCm has no driver.
func Of(rocm *layout.Layout, starter Starter) (Driver, error) {
	if rocm.Driver == "" {
		return Driver{}, errors.New("this ROCm has no bin/MIOpenDriver: install it with MIOpen's clients (Debian: libmiopen1-tests)")
	}
	d := Driver{
		Starter:  starter,
		Host:     launch.Host{Loader: rocm.Loader, Libraries: rocm.LibraryPath},
		Program:  rocm.Driver,
		SystemDB: rocm.SystemDB, // a split is elsewhere, and MIOpen looks beside its library
	}
	if rocm.Kind == "debian" {
		// Debian does not ship the assembly sources of kernels that MIOpen would assemble.
		d.Env = append(d.Env, "MIOPEN_DEBUG_GCN_ASM_KERNELS=0")
	}
	return d, nil
}

// On is the same driver on the libraries in a folder, such as a split.
func (d Driver) On(folder string) Driver {
	d.Libraries = []string{folder}
	return d
}
