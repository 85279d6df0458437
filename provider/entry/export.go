package entry

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -I${SRCDIR}/../..
#cgo LDFLAGS: -lpthread
#include <stdlib.h>
#include "entry.h"
*/
import "C"

import (
	"math"
	"unsafe"

	"example.com/miopen_hipdnn_shim/provider/engine"
	"example.com/miopen_hipdnn_shim/provider/private"
)

// process is what this process gave out.
var process entries

// The C buffers are read as Go's where they are; these are compile errors when the layouts differ.
var (
	_ [unsafe.Sizeof(engine.Buffer{})]byte           = [C.sizeof_struct_miopen_provider_buffer]byte{}
	_ [unsafe.Offsetof(engine.Buffer{}.Address)]byte = [unsafe.Offsetof(C.struct_miopen_provider_buffer{}.address)]byte{}
)

// answer writes an error's text and returns its status.
func answer(err error, text *C.char) C.int32_t {
	if err != nil {
		writeText(unsafe.Slice((*byte)(unsafe.Pointer(text)), C.MIOPEN_PROVIDER_TEXT), err.Error())
	}
	return C.int32_t(statusOf(err))
}

// bytesOf is the caller's memory, nothing where it is larger than anything that is serialised can be.
func bytesOf(data unsafe.Pointer, size C.size_t) []byte {
	if data == nil || size > math.MaxInt32 {
		return nil
	}
	return unsafe.Slice((*byte)(data), int(size))
}

// handOut copies data, which is not empty, into C memory.
func handOut(data []byte, to *unsafe.Pointer, size *C.size_t) error {
	copied := C.entry_copy(unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)))
	if copied == nil {
		return errMemory
	}
	*to, *size = copied, C.size_t(len(data))
	return nil
}

//export entryOpen
func entryOpen(api unsafe.Pointer, log C.uintptr_t, number *C.uint64_t, text *C.char) (failed C.int) {
	var err error
	func() {
		defer caught(&err, nil)
		var m engine.MIOpen
		if m, err = private.Open(api); err != nil {
			return
		}
		*number = C.uint64_t(process.open(&provider{
			create: func(device int32) (handle, error) {
				h, err := engine.Open(m)
				if err == nil {
					err = h.OnDevice(device)
				}
				if err != nil {
					return nil, err
				}
				return engineHandle{h}, nil
			},
			log: func(severity int32, line string) {
				if log == 0 {
					return
				}
				c := C.CString(line)
				defer C.free(unsafe.Pointer(c))
				C.entry_log(log, C.int32_t(severity), c)
			},
		}))
	}()
	if err != nil {
		answer(err, text)
		return 1
	}
	return 0
}

//export entryCreate
func entryCreate(number C.uint64_t, device C.int32_t, made *C.uint64_t, text *C.char) C.int32_t {
	h, err := process.create(uint64(number), int32(device))
	if err == nil {
		*made = C.uint64_t(h)
	}
	return answer(err, text)
}

//export entryDestroy
func entryDestroy(number C.uint64_t, text *C.char) C.int32_t {
	return answer(process.destroy(uint64(number)), text)
}

//export entrySetStream
func entrySetStream(number C.uint64_t, stream C.uintptr_t, text *C.char) C.int32_t {
	return answer(process.setStream(uint64(number), uintptr(stream)), text)
}

//export entryApplicable
func entryApplicable(number C.uint64_t, graph unsafe.Pointer, graphSize C.size_t, ids *C.int64_t, most C.uint32_t, count *C.uint32_t, text *C.char) C.int32_t {
	found, err := process.applicable(uint64(number), bytesOf(graph, graphSize))
	if err == nil {
		copy(unsafe.Slice((*int64)(ids), int(most)), found)
		*count = C.uint32_t(len(found))
	}
	return answer(err, text)
}

//export entryDetails
func entryDetails(number C.uint64_t, id C.int64_t, graph unsafe.Pointer, graphSize C.size_t, data *unsafe.Pointer, size *C.size_t, text *C.char) C.int32_t {
	details, err := process.details(uint64(number), int64(id), bytesOf(graph, graphSize))
	if err == nil {
		err = handOut(details, data, size)
	}
	return answer(err, text)
}

//export entryWorkspace
func entryWorkspace(number C.uint64_t, config unsafe.Pointer, configSize C.size_t, graph unsafe.Pointer, graphSize C.size_t, size *C.size_t, text *C.char) C.int32_t {
	needed, err := process.workspaceSize(uint64(number), bytesOf(config, configSize), bytesOf(graph, graphSize))
	if err == nil {
		*size = C.size_t(needed)
	}
	return answer(err, text)
}

//export entryPrepare
func entryPrepare(number C.uint64_t, config unsafe.Pointer, configSize C.size_t, graph unsafe.Pointer, graphSize C.size_t, made *C.uint64_t, text *C.char) C.int32_t {
	c, err := process.prepare(uint64(number), bytesOf(config, configSize), bytesOf(graph, graphSize))
	if err == nil {
		*made = C.uint64_t(c)
	}
	return answer(err, text)
}

//export entryRestore
func entryRestore(number C.uint64_t, serialized unsafe.Pointer, size C.size_t, made *C.uint64_t, text *C.char) C.int32_t {
	c, err := process.restore(uint64(number), bytesOf(serialized, size))
	if err == nil {
		*made = C.uint64_t(c)
	}
	return answer(err, text)
}

//export entryContextDestroy
func entryContextDestroy(number C.uint64_t, text *C.char) C.int32_t {
	return answer(process.contextDestroy(uint64(number)), text)
}

//export entryContextWorkspace
func entryContextWorkspace(number C.uint64_t, size *C.size_t, text *C.char) C.int32_t {
	needed, err := process.contextWorkspace(uint64(number))
	if err == nil {
		*size = C.size_t(needed)
	}
	return answer(err, text)
}

//export entrySerialize
func entrySerialize(number C.uint64_t, data *unsafe.Pointer, size *C.size_t, text *C.char) C.int32_t {
	serialized, err := process.serialize(uint64(number))
	if err == nil {
		err = handOut(serialized, data, size)
	}
	return answer(err, text)
}

//export entryExecute
func entryExecute(handleNumber, contextNumber C.uint64_t, workspace C.uintptr_t, buffers *C.struct_miopen_provider_buffer, count C.uint32_t, text *C.char) C.int32_t {
	return answer(process.execute(uint64(handleNumber), uint64(contextNumber), uintptr(workspace),
		unsafe.Slice((*engine.Buffer)(unsafe.Pointer(buffers)), int(count))), text)
}
