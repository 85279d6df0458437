// Package simhip holds the tests of simhip, the simulated HIP runtime: a libamdhip64.so that says it is a gfx942 and runs
// what it is asked to run on the CPU. What it is, and what it proves, is in README.md.
package simhip
