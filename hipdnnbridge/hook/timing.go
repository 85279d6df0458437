package hook

import (
	"fmt"
	"time"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/hipdnn"
)

// linePrefix begins the lines of MIOPEN_HIPDNN_FORWARDING_TIMING and _MEMINFO, which have been read by
// scripts since before this library.
const linePrefix = "[MIOpen->hipDNN] "

// timing writes a line if timings are wanted; line is not called otherwise.
func (b *bridge) timing(line func() string) {
	if b.settings.Timing {
		b.writeLine(linePrefix + line())
	}
}

// meminfo writes how much memory the device has at this moment, if that is wanted.
func (b *bridge) meminfo(d hipdnn.Device, when string) {
	if !b.settings.MemInfo {
		return
	}
	free, total, err := d.Memory()
	if err != nil {
		b.writeLine(linePrefix + "memory " + when + ": not known: " + err.Error())
		return
	}
	b.writeLine(fmt.Sprintf("%smemory %s: free %d, total %d bytes", linePrefix, when, free, total))
}

// executed writes how long an execution kept its thread, if that is wanted: for the first one of a
// plan, in which engines may still have something to prepare, and the others.
func (b *bridge) executed(e *entry, took time.Duration) {
	if !b.settings.Timing {
		return
	}
	state := "warm"
	if !e.warm.Swap(true) {
		state = "cold"
	}
	b.timing(func() string { return fmt.Sprintf("conv execute (%s): %v", state, took) })
}
