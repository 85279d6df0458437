package graph

import "strconv"

// Status is hipdnnStatus_t (hipdnn_backend.h at 969801db).
type Status int32

// The values of hipdnnStatus_t. VersionMismatch is not in the early releases of 2026.
const (
	StatusSuccess                Status = 0
	StatusNotInitialized         Status = 1
	StatusBadParam               Status = 2
	StatusNullPointer            Status = 3
	StatusNotFinalized           Status = 4
	StatusOutOfBound             Status = 5
	StatusSizeInsufficient       Status = 6
	StatusStreamMismatch         Status = 7
	StatusNotSupported           Status = 8
	StatusInternalError          Status = 9
	StatusAllocFailed            Status = 10
	StatusHostAllocationFailed   Status = 11
	StatusDeviceAllocationFailed Status = 12
	StatusExecutionFailed        Status = 13
	StatusPluginError            Status = 14
	StatusVersionMismatch        Status = 15
)

var statusNames = [...]string{
	StatusSuccess:                "SUCCESS",
	StatusNotInitialized:         "NOT_INITIALIZED",
	StatusBadParam:               "BAD_PARAM",
	StatusNullPointer:            "BAD_PARAM_NULL_POINTER",
	StatusNotFinalized:           "BAD_PARAM_NOT_FINALIZED",
	StatusOutOfBound:             "BAD_PARAM_OUT_OF_BOUND",
	StatusSizeInsufficient:       "BAD_PARAM_SIZE_INSUFFICIENT",
	StatusStreamMismatch:         "BAD_PARAM_STREAM_MISMATCH",
	StatusNotSupported:           "NOT_SUPPORTED",
	StatusInternalError:          "INTERNAL_ERROR",
	StatusAllocFailed:            "ALLOC_FAILED",
	StatusHostAllocationFailed:   "INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
	StatusDeviceAllocationFailed: "INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
	StatusExecutionFailed:        "EXECUTION_FAILED",
	StatusPluginError:            "PLUGIN_ERROR",
	StatusVersionMismatch:        "VERSION_MISMATCH",
}

// String is hipDNN's name without its prefix.
func (s Status) String() string {
	if s < 0 || int(s) >= len(statusNames) {
		return "hipdnnStatus_t(" + strconv.Itoa(int(s)) + ")"
	}
	return statusNames[s]
}
