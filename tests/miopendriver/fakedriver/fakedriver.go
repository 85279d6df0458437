// Package fakedriver stands in for MIOpenDriver in tests of those who run it: it prints what the real one prints for a
// convolution, and can be told to be wrong in the ways that a verification must notice.
//
// It is a second statement of the driver's text, written apart from the parser's, and computes nothing: every result is
// a tensor of ones.
package fakedriver

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Variable selects a behaviour in the environment of a process, which then calls Main.
const Variable = "FAKE_DRIVER"

// Idle is the entry of the environment that keeps the fake's kernels from running, as a simulated device's does.
const Idle = "SIMHIP_EXECUTE=none"

// The behaviours.
const (
	Honest   = "honest"   // verifies, and finds what is to be found
	Blind    = "blind"    // verifies whatever there is
	Wrong    = "wrong"    // computes something else
	Silent   = "silent"   // never reaches the last direction, and ends with success
	Lifeless = "lifeless" // cannot run when kernels do nothing, which is no difference
	Itself   = "itself"   // compares with the device
	Hangs    = "hangs"    // after the first direction
	Crashes  = "crashes"  // when all is verified
)

// directions are the driver's names for the numbers of -F, and the lengths of what is computed.
var directions = []struct {
	bit                       int
	name, short, file, solver string
	lengths                   func(n, c, k, g int, in, filter, out []int) []int
}{
	{1, "Forward Convolution", "Forward", "conv_fwd_out", "85/ConvDirectNaiveConvFwd", func(n, c, k, g int, in, filter, out []int) []int { return append(out, n, k) }},
	{2, "Backward Convolution Data", "Backward Data", "conv_bwd_dat", "86/ConvDirectNaiveConvBwd", func(n, c, k, g int, in, filter, out []int) []int { return append(in, n, c) }},
	{4, "Backward Convolution Weights", "Backward Weights", "conv_bwd_wei", "87/ConvDirectNaiveConvWrw", func(n, c, k, g int, in, filter, out []int) []int { return append(filter, k, c/g) }},
}

// axes are the options of a spatial dimension: input, filter, pad, stride, dilation.
var axes = [][5]string{
	{"-H", "-y", "-p", "-u", "-l"},
	{"-W", "-x", "-q", "-v", "-j"},
	{"--in_d", "--fil_d", "--pad_d", "--conv_stride_d", "--dilation_d"},
}

// Main acts as the driver and ends the process.
func Main(args []string) {
	behaviour := os.Getenv(Variable)
	option := func(name string) int {
		if at := slices.Index(args, name); at >= 0 {
			n, err := strconv.Atoi(args[at+1])
			if err == nil {
				return n
			}
		}
		return 0
	}
	fmt.Println("MIOpenDriver", strings.Join(args, " "))
	fmt.Println("PRNG seed: 12345678")
	idle := slices.Contains(os.Environ(), Idle)
	report(!idle)
	var in, filter, out []int
	for i, a := range axes {
		if i == 2 && option("--spatial_dim") != 3 {
			break
		}
		length, taps, pad, stride, dilation := option(a[0]), option(a[1]), option(a[2]), option(a[3]), option(a[4])
		in, filter, out = append(in, length), append(filter, taps), append(out, (length+2*pad-dilation*(taps-1)-1)/stride+1)
	}
	wanted := option("-F")
	if wanted == 0 {
		wanted = 7
	}
	for _, d := range directions {
		if wanted&d.bit == 0 || behaviour == Silent && d.bit == 4 {
			continue
		}
		if behaviour == Hangs && d.bit != 1 {
			time.Sleep(time.Minute)
		}
		if option("-t") == 1 {
			fmt.Printf("MIOpen %s Conv. Algorithm: 1, Solution: %s\n", d.short, d.solver)
		}
		if option("-V") != 1 {
			continue
		}
		elements := 1
		for _, length := range d.lengths(option("-n"), option("-c"), option("-k"), option("-g"), in, filter, out) {
			elements *= length
		}
		reference := bytes.Repeat(one(), elements)
		same := bytes.Equal(reference, exchange(args, d.file, reference))
		on := "CPU"
		if behaviour == Itself {
			on = "GPU"
		}
		switch {
		case behaviour == Blind:
			fmt.Printf("%s Verifies OK on %s reference (0 < 1.5e-06)\n", d.name, on)
		case behaviour == Lifeless && idle:
			fmt.Printf("%s FAILED: 1.79769e+308 > 1.5e-06\n", d.name)
		case idle:
			fmt.Printf("%s FAILED: nan > 1.5e-06\n", d.name)
		case behaviour == Wrong || !same:
			fmt.Printf("%s FAILED: 0.5 > 1.5e-06\n", d.name)
		default:
			fmt.Printf("%s Verifies OK on %s reference (3.08e-08 < 1.5e-06)\n", d.name, on)
		}
	}
	if behaviour == Crashes {
		os.Exit(139)
	}
	os.Exit(0)
}

// report writes what a simulated device would have seen.
func report(executed bool) {
	path := os.Getenv("SIMHIP_REPORT")
	if path == "" {
		return
	}
	counts := `"executed": 0, "noop": 1`
	if executed {
		counts = `"executed": 1, "noop": 0`
	}
	text := fmt.Sprintf(`{"device": {"execute": %t}, "kernels": [{"name": "ones", %s, "failed": 0, "microseconds": 1}], "violation_count": 0, "violations": [], "leaks": {"count": 0, "bytes": 0}}`, executed, counts)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func one() []byte { return binary.LittleEndian.AppendUint32(nil, 0x3f800000) }

// exchange returns the kept reference, or keeps this one.
func exchange(args []string, name string, reference []byte) []byte {
	at := slices.Index(args, "-C")
	if at < 0 {
		return reference
	}
	path := filepath.Join(args[at+1], name+"_1x1_GPUfloat_REFfloat")
	if kept, err := os.ReadFile(path); err == nil {
		fmt.Println("Read data from input file", path)
		return kept
	}
	if err := os.WriteFile(path, reference, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("Wrote output to file", path)
	return reference
}
