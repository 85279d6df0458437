// Package check holds a split against the library that it was made from.
//
// It reads what lies in the folder, as a loader would, and believes neither the program that wrote it nor its manifest.
// Every check says how much it compared and lists findings that name the file and the symbol; a check that compared
// nothing is itself a finding. What the private library may differ in from the stock library, byte by byte, is the
// business of package elf/verify, whose result is taken over.
package check

import (
	"fmt"
	"slices"

	"example.com/miopen_hipdnn_shim/shim/exports"
)

// Result is the outcome of one check.
type Result struct {
	Name     string   `json:"name"`
	Compared int      `json:"compared"` // things looked at; what they are depends on the check
	Findings []string `json:"findings"` // empty when the check holds
	// NotApplicable says why there was nothing to compare; empty when the check ran.
	NotApplicable string `json:"not_applicable,omitempty"`
}

// Holds reports whether the check ran, compared something and found nothing, or does not apply.
func (r Result) Holds() bool { return len(r.Findings) == 0 }

func (r *Result) finding(format string, args ...any) {
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}

// maxFindings bounds the findings of one check. One wrong table makes hundreds of equal sentences.
const maxFindings = 20

// finish turns a check that compared nothing into a finding, and bounds the list.
func (r Result) finish() Result {
	if r.Compared == 0 && len(r.Findings) == 0 && r.NotApplicable == "" {
		r.finding("nothing was compared")
	}
	if more := len(r.Findings) - maxFindings; more > 0 {
		r.Findings = append(slices.Clone(r.Findings[:maxFindings]), fmt.Sprintf("and %d more", more))
	}
	return r
}

// Report is the outcome of several checks.
type Report []Result

// Holds reports whether there are checks and all of them hold.
func (r Report) Holds() bool {
	return len(r) > 0 && !slices.ContainsFunc(r, func(c Result) bool { return !c.Holds() })
}

// Findings returns all findings, each with the name of its check before it.
func (r Report) Findings() []string {
	var out []string
	for _, c := range r {
		for _, f := range c.Findings {
			out = append(out, c.Name+": "+f)
		}
	}
	return out
}

// reportDifference turns a comparison of two APIs into findings.
func (r *Result) reportDifference(d exports.Difference) {
	for _, name := range d.Missing {
		r.finding("%s is missing", name)
	}
	for _, name := range d.Extra {
		r.finding("%s is not in the stock library", name)
	}
	for _, n := range d.Nodes {
		r.finding("%s is exported as %q, the stock library has %q", n.Name, n.Got, n.Want)
	}
}
