package engine

import (
	"errors"
	"fmt"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/translate"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

// Status is hipdnnPluginStatus_t (PluginApiDataTypes.h at fa042723).
type Status int32

// The values of hipdnnPluginStatus_t.
const (
	StatusSuccess        Status = 0
	StatusBadParam       Status = 1
	StatusInvalidValue   Status = 2
	StatusInternalError  Status = 3
	StatusAllocFailed    Status = 4
	StatusNotApplicable  Status = 5
	StatusNotInitialized Status = 6
)

// Error is what every function of this package fails with: the status for hipDNN, and for people who
// failed and at what. It wraps a *translate.Decline where a graph has no exact translation.
type Error struct {
	Status Status
	Text   string

	cause error
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the decline, if it is one.
func (e *Error) Unwrap() error { return e.cause }

func fail(status Status, format string, args ...any) error {
	return &Error{Status: status, Text: fmt.Sprintf("plugin: "+format, args...)}
}

// declined is the error of a graph that is not for the engines.
func declined(d *translate.Decline) error {
	return &Error{Status: StatusNotApplicable, Text: "plugin: " + d.Error(), cause: d}
}

func decline(r translate.Reason, format string, args ...any) error {
	return declined(&translate.Decline{Reason: r, Text: fmt.Sprintf(format, args...)})
}

// isDecline reports whether an error says that a graph is not for the engines.
func isDecline(err error) bool {
	var d *translate.Decline
	return errors.As(err, &d)
}

// statuses says what a status of MIOpen is for hipDNN. What the engine gives to MIOpen it made from a
// graph that it accepted, so a bad parameter is the plugin's own error.
var statuses = map[miopen.Status]Status{
	miopen.StatusAllocFailed:    StatusAllocFailed,
	miopen.StatusNotImplemented: StatusNotApplicable,
	miopen.StatusUnsupportedOp:  StatusNotApplicable,
}

// failed is the error of a call of MIOpen.
func failed(call string, status miopen.Status, tried string) error {
	s, ok := statuses[status]
	if !ok {
		s = StatusInternalError
	}
	return &Error{Status: s, Text: fmt.Sprintf("MIOpen (private): %s: %v (%d): %s", call, status, status, tried)}
}

// Engine is one of the engines that the plugin has.
type Engine struct {
	ID   int64
	Name string
	// Deterministic engines set MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, and so give the same bits in
	// every run as far as MIOpen's solvers look at it, which not all of every version do.
	Deterministic bool
}

// Engines are all engines, in the order in which they are offered.
var Engines = []Engine{
	{graph.EngineID(graph.EngineName), graph.EngineName, false},
	{graph.EngineID(graph.DeterministicEngineName), graph.DeterministicEngineName, true},
}

func engineOf(id int64) (*Engine, error) {
	for i := range Engines {
		if Engines[i].ID == id {
			return &Engines[i], nil
		}
	}
	return nil, fail(StatusInvalidValue, "no engine has the id %d", id)
}

// APIVersion is the version of the plugin API that the plugin says it has. A graph that needs a newer
// one may mean something that is not read here.
var APIVersion = wire.Version{Major: 1, Minor: 1, Patch: 0}

// Buffer says where in the device's memory a tensor of the graph is.
type Buffer struct {
	UID     int64
	Address uintptr
}
