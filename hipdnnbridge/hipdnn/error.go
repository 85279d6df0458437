package hipdnn

import (
	"fmt"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
)

// Error is a call of hipDNN that failed.
type Error struct {
	Status   graph.Status
	Function string // of hipDNN
	Subject  string // what it was called for, may be empty
	Message  string // hipDNN's own, may be empty
}

// Error implements error.
func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s: %v", e.Call(), e.Status)
	}
	return fmt.Sprintf("%s: %v: %s", e.Call(), e.Status, e.Message)
}

// Call is the function and what it was called for.
func (e *Error) Call() string {
	if e.Subject == "" {
		return e.Function
	}
	return e.Function + " (" + e.Subject + ")"
}

// weightier returns the error of two that says more about a graph: that an engine cannot run it
// is only the last word if nothing else went wrong. A nil error says nothing.
func (e *Error) weightier(other *Error) *Error {
	if e == nil || e.Status == graph.StatusNotSupported {
		return other
	}
	return e
}
