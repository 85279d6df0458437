package tsc

// read executes RDTSC.
func read() uint64

const available = true
