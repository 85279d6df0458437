package translate

import (
	"strings"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/miopen"
)

// statuses says what a status of hipDNN is in MIOpen. There is no new number for callers to know:
// what cannot be expressed is an unsupported operation, what the caller got wrong a bad parameter,
// memory is memory, and everything else is internal. Source: upstream's classes of errors
// (src/private/hipdnn_types.cpp at ad1b113b), by the frontend's error codes; the backend's numbers,
// from hipdnn_backend.h at 969801db, are sorted into the same classes here.
var statuses = [...]miopen.Status{
	graph.StatusSuccess:                miopen.StatusSuccess,
	graph.StatusNotInitialized:         miopen.StatusInternalError, // the bridge's order of calls
	graph.StatusBadParam:               miopen.StatusBadParm,
	graph.StatusNullPointer:            miopen.StatusBadParm,
	graph.StatusNotFinalized:           miopen.StatusBadParm,
	graph.StatusOutOfBound:             miopen.StatusBadParm,
	graph.StatusSizeInsufficient:       miopen.StatusBadParm,
	graph.StatusStreamMismatch:         miopen.StatusBadParm,
	graph.StatusNotSupported:           miopen.StatusUnsupportedOp,
	graph.StatusInternalError:          miopen.StatusInternalError,
	graph.StatusAllocFailed:            miopen.StatusAllocFailed,
	graph.StatusHostAllocationFailed:   miopen.StatusAllocFailed,
	graph.StatusDeviceAllocationFailed: miopen.StatusAllocFailed,
	graph.StatusExecutionFailed:        miopen.StatusInternalError,
	graph.StatusPluginError:            miopen.StatusInternalError,
	graph.StatusVersionMismatch:        miopen.StatusInternalError,
}

// Status translates a status of hipDNN. Numbers that this release does not know are internal errors.
func Status(s graph.Status) miopen.Status {
	if s < 0 || int(s) >= len(statuses) {
		return miopen.StatusInternalError
	}
	return statuses[s]
}

// ErrorPrefix begins every error text that is of a forwarded call, so that it is not looked for in
// MIOpen.
const ErrorPrefix = "[hipDNN-forwarded] "

// ErrorText is what miopenGetErrorString answers for a forwarded call that failed: the entry point,
// hipDNN's status and hipDNN's message, on one line.
func ErrorText(entry string, s graph.Status, message string) string {
	text := ErrorPrefix + entry + ": hipDNN " + s.String()
	if message = oneLine(message); message != "" {
		text += ": " + message
	}
	return text
}

// oneLine joins the lines of a message and drops what a terminal would act on.
func oneLine(message string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r == 0x7f:
			return -1
		}
		return r
	}, message))
}
