#define _GNU_SOURCE /* dladdr */
#include "hip.h"

#include <dlfcn.h>
#include <string.h>

_Static_assert(offsetof(struct hip_properties, total_global_mem) == 288, "as in HIP's header");
_Static_assert(offsetof(struct hip_properties, multi_processor_count) == 388, "as in HIP's header");
_Static_assert(offsetof(struct hip_properties, gcn_arch_name) == 1160, "as in HIP's header");
_Static_assert(sizeof(struct hip_properties) == 1472, "as in HIP's header");

static const struct {
  const char *name;
  size_t offset; /* in struct hip */
  int optional;
} functions[] = {
    {"hipGetDevice", offsetof(struct hip, get_device), 0},
    {"hipSetDevice", offsetof(struct hip, set_device), 0},
    {"hipMalloc", offsetof(struct hip, malloc), 0},
    {"hipFree", offsetof(struct hip, free), 0},
    {"hipMemGetInfo", offsetof(struct hip, mem_get_info), 0},
    {"hipDeviceSynchronize", offsetof(struct hip, device_synchronize), 0},
    {"hipStreamIsCapturing", offsetof(struct hip, stream_is_capturing), 0},
    {"hipEventCreate", offsetof(struct hip, event_create), 0},
    {"hipEventDestroy", offsetof(struct hip, event_destroy), 0},
    {"hipEventRecord", offsetof(struct hip, event_record), 0},
    {"hipEventQuery", offsetof(struct hip, event_query), 0},
    {"hipEventSynchronize", offsetof(struct hip, event_synchronize), 0},
    {"hipEventElapsedTime", offsetof(struct hip, event_elapsed_time), 0},
    {"hipGetErrorString", offsetof(struct hip, get_error_string), 0},
    {"hipGetLastError", offsetof(struct hip, get_last_error), 1},
    {"hipThreadExchangeStreamCaptureMode",
     offsetof(struct hip, thread_exchange_stream_capture_mode), 1},
    {"hipGetDevicePropertiesR0600", offsetof(struct hip, get_device_properties), 1},
    {"hipRuntimeGetVersion", offsetof(struct hip, runtime_get_version), 1},
};

enum hip_found hip_find(struct hip *hip, const char *library, const char **missing) {
  void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) {
    dlerror(); /* the host's next one is not to be this */
    return HIP_NOT_LOADED;
  }
  /* The handle is kept: it costs nothing, and the functions stay. dlsym on it searches the library
   * and what it depends on, breadth first, and never what somebody else loaded. */
  int found = 0;
  *missing = NULL;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *function = dlsym(handle, functions[i].name);
    *(void **)((char *)hip + functions[i].offset) = function;
    if (function)
      found = 1;
    else if (!functions[i].optional && !*missing)
      *missing = functions[i].name;
  }
  dlerror();
  if (!*missing)
    return HIP_FOUND;
  return found ? HIP_INCOMPLETE : HIP_NONE;
}

const void *hip_of_library(void *library) {
  const void *function = dlsym(library, "hipGetDevice");
  dlerror();
  return function;
}

const char *hip_file_of(const void *address) {
  Dl_info info;
  return address && dladdr(address, &info) ? info.dli_fname : NULL;
}

const void *hip_get_device_address(const struct hip *hip) {
  return (const void *)hip->get_device;
}

const void *hip_any_address(const struct hip *hip) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    const void *address = *(void *const *)((const char *)hip + functions[i].offset);
    if (address)
      return address;
  }
  return NULL;
}

/* An error that is answered here is not to be the thread's last one, which the application would
 * take for its own. */
static int quietly(const struct hip *hip, int error) {
  if (error && hip->get_last_error)
    hip->get_last_error();
  return error;
}

int hip_capturing(const struct hip *hip, uintptr_t stream) {
  int status = HIP_CAPTURE_STATUS_NONE;
  int error = quietly(hip, hip->stream_is_capturing((void *)stream, &status));
  if (error == HIP_ERROR_STREAM_CAPTURE_IMPLICIT)
    return 1;
  return error ? -error : status != HIP_CAPTURE_STATUS_NONE;
}

int hip_enter_device(const struct hip *hip, int device, struct hip_scope *scope) {
  *scope = (struct hip_scope){.device = -1};
  int now = device, error = quietly(hip, hip->get_device(&now));
  if (error || now == device)
    return error;
  error = quietly(hip, hip->set_device(device));
  if (!error)
    scope->device = now;
  return error;
}

int hip_enter(const struct hip *hip, int device, struct hip_scope *scope) {
  int error = hip_enter_device(hip, device, scope);
  scope->mode = HIP_CAPTURE_MODE_RELAXED;
  scope->relaxed = !error && hip->thread_exchange_stream_capture_mode &&
                   !quietly(hip, hip->thread_exchange_stream_capture_mode(&scope->mode));
  return error;
}

/* What cannot be put back, the application's next call of HIP says. */
void hip_leave(const struct hip *hip, const struct hip_scope *scope) {
  int mode = scope->mode;
  if (scope->relaxed)
    quietly(hip, hip->thread_exchange_stream_capture_mode(&mode));
  if (scope->device >= 0)
    quietly(hip, hip->set_device(scope->device));
}

int hip_allocate(const struct hip *hip, uintptr_t *pointer, size_t size) {
  void *memory = NULL;
  int error = quietly(hip, hip->malloc(&memory, size));
  *pointer = (uintptr_t)memory;
  return error;
}

int hip_release(const struct hip *hip, uintptr_t pointer) {
  return quietly(hip, hip->free((void *)pointer));
}

int hip_synchronize(const struct hip *hip) {
  return quietly(hip, hip->device_synchronize());
}

int hip_current_device(const struct hip *hip, int *device) {
  return quietly(hip, hip->get_device(device));
}

int hip_memory(const struct hip *hip, size_t *free, size_t *total) {
  return quietly(hip, hip->mem_get_info(free, total));
}

int hip_new_event(const struct hip *hip, uintptr_t *event) {
  void *created = NULL;
  int error = quietly(hip, hip->event_create(&created));
  *event = (uintptr_t)created;
  return error;
}

int hip_destroy_event(const struct hip *hip, uintptr_t event) {
  return quietly(hip, hip->event_destroy((void *)event));
}

int hip_record(const struct hip *hip, uintptr_t event, uintptr_t stream) {
  return quietly(hip, hip->event_record((void *)event, (void *)stream));
}

int hip_query(const struct hip *hip, uintptr_t event) {
  return quietly(hip, hip->event_query((void *)event));
}

int hip_wait(const struct hip *hip, uintptr_t event) {
  return quietly(hip, hip->event_synchronize((void *)event));
}

int hip_elapsed(const struct hip *hip, float *milliseconds, uintptr_t start, uintptr_t stop) {
  return quietly(hip, hip->event_elapsed_time(milliseconds, (void *)start, (void *)stop));
}

int hip_identify(const struct hip *hip, int device, struct hip_identity *identity,
                 const char **function) {
  struct hip_properties *d = &identity->device;
  memset(identity, 0, sizeof *identity);
  *function = "hipGetDevicePropertiesR0600";
  if (!hip->get_device_properties)
    return HIP_ERROR_NOT_SUPPORTED;
  int error = quietly(hip, hip->get_device_properties(d, device));
  if (error)
    return error;
  d->name[sizeof d->name - 1] = d->gcn_arch_name[sizeof d->gcn_arch_name - 1] = 0;
  *function = "hipRuntimeGetVersion";
  if (!hip->runtime_get_version)
    return HIP_ERROR_NOT_SUPPORTED;
  return quietly(hip, hip->runtime_get_version(&identity->version));
}

const char *hip_error(const struct hip *hip, int error) {
  return hip->get_error_string(error);
}
