/* The HIP run time that the private MIOpen library depends on: the numbers and prototypes of
 * hip/hip_runtime_api.h that are needed, found through that library and nowhere else. */
#ifndef HIPDNNBRIDGE_HIPDNN_HIP_H_
#define HIPDNNBRIDGE_HIPDNN_HIP_H_

#include <stddef.h>
#include <stdint.h>

/* hipError_t. */
enum {
  HIP_SUCCESS = 0,
  HIP_ERROR_OUT_OF_MEMORY = 2,
  HIP_ERROR_NOT_READY = 600,
  HIP_ERROR_NOT_SUPPORTED = 801,
  HIP_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
};

/* hipStreamCaptureStatus and hipStreamCaptureMode. */
enum {
  HIP_CAPTURE_STATUS_NONE = 0,
  HIP_CAPTURE_MODE_RELAXED = 2,
};

/* hipDeviceProp_tR0600, of which R0600 is the layout's version: what tells devices apart. The rest
 * is not to be compared as a whole: hdpMemFlushCntl and hdpRegFlushCntl are addresses, others in
 * each process. */
struct hip_properties {
  char name[256];
  unsigned char uuid[16]; /* does not tell apart devices that have no number of their own */
  char not_read_1[16];
  uint64_t total_global_mem; /* bytes */
  char not_read_2[92];
  int multi_processor_count; /* of this partition of the device */
  char not_read_3[768];
  char gcn_arch_name[256]; /* with the features that code objects depend on */
  char not_read_4[56];
};

/* All return hipError_t. */
struct hip {
  int (*get_device)(int *device);
  int (*set_device)(int device);
  int (*malloc)(void **pointer, size_t size);
  int (*free)(void *pointer);
  int (*mem_get_info)(size_t *free, size_t *total);
  int (*device_synchronize)(void);
  int (*stream_is_capturing)(void *stream, int *status);
  int (*event_create)(void **event);
  int (*event_destroy)(void *event);
  int (*event_record)(void *event, void *stream);
  int (*event_query)(void *event);
  int (*event_synchronize)(void *event);
  int (*event_elapsed_time)(float *milliseconds, void *start, void *stop);
  const char *(*get_error_string)(int error);
  /* May be NULL. */
  int (*get_last_error)(void);
  int (*thread_exchange_stream_capture_mode)(int *mode);
  int (*get_device_properties)(struct hip_properties *properties, int device);
  int (*runtime_get_version)(int *version);
};

enum hip_found {
  HIP_FOUND,      /* all functions */
  HIP_NONE,       /* not one: the library does not depend on a HIP run time */
  HIP_INCOMPLETE, /* some, *missing is the first that is not there */
  HIP_NOT_LOADED, /* the process has not loaded the library */
};

/* Looks for the functions in the dependencies of a library that the process has loaded, which it
 * will not unload. */
enum hip_found hip_find(struct hip *hip, const char *library, const char **missing);

/* The file that an address is in, as the loader has it, or NULL. */
const char *hip_file_of(const void *address);

/* What a library that was opened has for a HIP function, or NULL: its own dependencies again. */
const void *hip_of_library(void *library);

/* The address of hipGetDevice, and of any function that was found. */
const void *hip_get_device_address(const struct hip *hip);
const void *hip_any_address(const struct hip *hip);

/* 1: the stream is capturing, 0: it is not, negative: -hipError_t. The default stream while another
 * stream captures counts as capturing: what was enqueued there would belong to that capture. */
int hip_capturing(const struct hip *hip, uintptr_t stream);

/* Makes a device the thread's, and while any thread captures in the global mode lets this thread do
 * what would end that capture: to allocate, to wait, to load code. Hip_leave puts back what
 * hip_enter found, in the same thread. Returns hipError_t; after an error there is nothing to
 * leave. */
struct hip_scope {
  int device; /* before, -1: the same */
  int mode;   /* hipStreamCaptureMode before */
  int relaxed;
};
int hip_enter(const struct hip *hip, int device, struct hip_scope *scope);
void hip_leave(const struct hip *hip, const struct hip_scope *scope);
/* The device alone, for what a capture may hold. */
int hip_enter_device(const struct hip *hip, int device, struct hip_scope *scope);

int hip_allocate(const struct hip *hip, uintptr_t *pointer, size_t size);
int hip_release(const struct hip *hip, uintptr_t pointer);
int hip_synchronize(const struct hip *hip);

/* The rest, for callers that cannot call through a pointer. */
int hip_current_device(const struct hip *hip, int *device);
int hip_memory(const struct hip *hip, size_t *free, size_t *total);
int hip_new_event(const struct hip *hip, uintptr_t *event);
int hip_destroy_event(const struct hip *hip, uintptr_t event);
int hip_record(const struct hip *hip, uintptr_t event, uintptr_t stream);
int hip_query(const struct hip *hip, uintptr_t event);
int hip_wait(const struct hip *hip, uintptr_t event);
int hip_elapsed(const struct hip *hip, float *milliseconds, uintptr_t start, uintptr_t stop);
/* What tells a device from others, of this and other machines, and its HIP run time from others.
 * Returns hipError_t, then *function is the one that failed: HIP_ERROR_NOT_SUPPORTED if it is not
 * there. */
struct hip_identity {
  struct hip_properties device;
  int version; /* of the HIP run time */
};
int hip_identify(const struct hip *hip, int device, struct hip_identity *identity,
                 const char **function);
const char *hip_error(const struct hip *hip, int error);

#endif
