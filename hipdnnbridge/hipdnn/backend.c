#define _GNU_SOURCE /* dlinfo */
#include "backend.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
  const char *name;
  size_t offset; /* in struct hipdnn_functions */
  int optional;
} functions[] = {
    {"hipdnnVersionString_ext", offsetof(struct hipdnn_functions, version_string), 0},
    {"hipdnnCreate", offsetof(struct hipdnn_functions, create), 0},
    {"hipdnnDestroy", offsetof(struct hipdnn_functions, destroy), 0},
    {"hipdnnSetStream", offsetof(struct hipdnn_functions, set_stream), 0},
    {"hipdnnBackendCreateDescriptor", offsetof(struct hipdnn_functions, create_descriptor), 0},
    {"hipdnnBackendDestroyDescriptor", offsetof(struct hipdnn_functions, destroy_descriptor), 0},
    {"hipdnnBackendFinalize", offsetof(struct hipdnn_functions, finalize), 0},
    {"hipdnnBackendSetAttribute", offsetof(struct hipdnn_functions, set_attribute), 0},
    {"hipdnnBackendGetAttribute", offsetof(struct hipdnn_functions, get_attribute), 0},
    {"hipdnnBackendExecute", offsetof(struct hipdnn_functions, execute), 0},
    {"hipdnnGetLastErrorString", offsetof(struct hipdnn_functions, get_last_error_string), 0},
    {"hipdnnGetErrorString", offsetof(struct hipdnn_functions, get_error_string), 1},
    {"hipdnnBackendGetSerializedExecutionPlan_ext",
     offsetof(struct hipdnn_functions, serialize_plan), 1},
    {"hipdnnBackendCreateAndDeserializeExecutionPlan_ext",
     offsetof(struct hipdnn_functions, deserialize_plan), 1},
    {"hipdnnSetUserLogCallback_ext", offsetof(struct hipdnn_functions, set_user_log_callback), 1},
    {"hipdnnSetEnginePluginPaths_ext", offsetof(struct hipdnn_functions, set_engine_plugin_paths),
     1},
    {"hipdnnGetLoadedEnginePluginPaths_ext",
     offsetof(struct hipdnn_functions, get_loaded_engine_plugin_paths), 1},
};

static int open_library(struct hipdnn_backend *backend, const char *name, int loaded, char *error,
                        size_t size) {
  /* Local, so that the library's dependencies do not come before the application's. */
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | (loaded ? RTLD_NOLOAD : 0));
  if (!library) {
    const char *reason = loaded ? NULL : dlerror();
    snprintf(error, size, "%s", reason ? reason : "not loaded");
    return 1;
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *function = dlsym(library, functions[i].name);
    if (!function && !functions[i].optional) {
      snprintf(error, size, "it has no function %s", functions[i].name);
      dlclose(library);
      return 1;
    }
    *(void **)((char *)&backend->call + functions[i].offset) = function;
  }
  backend->library = library;
  return 0;
}

int hipdnn_backend_open(struct hipdnn_backend *backend, const char *name, int loaded, char *error,
                        size_t size) {
  memset(backend, 0, sizeof *backend);
  int failed = open_library(backend, name, loaded, error, size);
  /* A host that asks dlerror() after a call of its own is not to find what was missed here. */
  dlerror();
  return failed;
}

void hipdnn_backend_close(struct hipdnn_backend *backend) {
  dlclose(backend->library);
  backend->library = NULL;
}

void hipdnn_backend_path(const struct hipdnn_backend *backend, char *path, size_t size) {
  struct link_map *map = NULL;
  const char *name = "";
  if (dlinfo(backend->library, RTLD_DI_LINKMAP, &map) == 0 && map)
    name = map->l_name;
  snprintf(path, size, "%s", name);
}

const char *hipdnn_backend_version(const struct hipdnn_backend *backend) {
  const char *version = backend->call.version_string();
  return version ? version : "";
}

void *hipdnn_keep(const void *from, size_t size) {
  struct kept {
    struct kept *next;
    max_align_t bytes[];
  };
  static struct kept *kept;
  struct kept *copy = malloc(sizeof *copy + size);
  if (!copy)
    return NULL;
  memcpy(copy->bytes, from, size);
  copy->next = __atomic_load_n(&kept, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&kept, &copy->next, copy, 1, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
  return copy->bytes;
}

uintptr_t hipdnn_host_allocate(size_t size) {
  return (uintptr_t)malloc(size);
}

void hipdnn_host_release(uintptr_t memory) {
  free((void *)memory);
}

void hipdnn_host_record(uintptr_t event) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  *(int64_t *)event = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t hipdnn_host_elapsed(uintptr_t start, uintptr_t stop) {
  return *(const int64_t *)stop - *(const int64_t *)start;
}

static int result(const struct hipdnn_backend *backend, const char *function, int status,
                  struct hipdnn_failure *failure) {
  if (status == HIPDNN_STATUS_SUCCESS)
    return status;
  failure->status = status;
  failure->function = function;
  failure->text[0] = 0;
  backend->call.get_last_error_string(failure->text, sizeof failure->text);
  failure->text[sizeof failure->text - 1] = 0;
  if (!failure->text[0] && backend->call.get_error_string) {
    const char *text = backend->call.get_error_string(status);
    snprintf(failure->text, sizeof failure->text, "%s", text ? text : "");
  }
  return status;
}

int hipdnn_create(const struct hipdnn_backend *backend, uintptr_t *handle,
                  struct hipdnn_failure *failure) {
  void *made = NULL;
  int status = result(backend, "hipdnnCreate", backend->call.create(&made), failure);
  *handle = (uintptr_t)made;
  return status;
}

int hipdnn_destroy(const struct hipdnn_backend *backend, uintptr_t handle,
                   struct hipdnn_failure *failure) {
  return result(backend, "hipdnnDestroy", backend->call.destroy((void *)handle), failure);
}

int hipdnn_set_stream(const struct hipdnn_backend *backend, uintptr_t handle, uintptr_t stream,
                      struct hipdnn_failure *failure) {
  return result(backend, "hipdnnSetStream",
                backend->call.set_stream((void *)handle, (void *)stream), failure);
}

int hipdnn_create_descriptor(const struct hipdnn_backend *backend, int type, uintptr_t *descriptor,
                             struct hipdnn_failure *failure) {
  void *made = NULL;
  int status = result(backend, "hipdnnBackendCreateDescriptor",
                      backend->call.create_descriptor(type, &made), failure);
  *descriptor = (uintptr_t)made;
  return status;
}

int hipdnn_destroy_descriptor(const struct hipdnn_backend *backend, uintptr_t descriptor,
                              struct hipdnn_failure *failure) {
  return result(backend, "hipdnnBackendDestroyDescriptor",
                backend->call.destroy_descriptor((void *)descriptor), failure);
}

int hipdnn_finalize(const struct hipdnn_backend *backend, uintptr_t descriptor,
                    struct hipdnn_failure *failure) {
  return result(backend, "hipdnnBackendFinalize", backend->call.finalize((void *)descriptor),
                failure);
}

int hipdnn_set_attribute(const struct hipdnn_backend *backend, uintptr_t descriptor, int name,
                         int type, int64_t count, const void *elements,
                         struct hipdnn_failure *failure) {
  return result(backend, "hipdnnBackendSetAttribute",
                backend->call.set_attribute((void *)descriptor, name, type, count, elements),
                failure);
}

int hipdnn_get_attribute(const struct hipdnn_backend *backend, uintptr_t descriptor, int name,
                         int type, int64_t requested, int64_t *count, void *elements,
                         struct hipdnn_failure *failure) {
  return result(
      backend, "hipdnnBackendGetAttribute",
      backend->call.get_attribute((void *)descriptor, name, type, requested, count, elements),
      failure);
}

/* A function that this hipDNN does not have. */
static int missing(const char *function, struct hipdnn_failure *failure) {
  failure->status = HIPDNN_STATUS_NOT_SUPPORTED;
  failure->function = function;
  snprintf(failure->text, sizeof failure->text, "this hipDNN does not have it");
  return HIPDNN_STATUS_NOT_SUPPORTED;
}

int hipdnn_add_plugin(const struct hipdnn_backend *backend, const char *path,
                      struct hipdnn_failure *failure) {
  static const char function[] = "hipdnnSetEnginePluginPaths_ext";
  if (!backend->call.set_engine_plugin_paths)
    return missing(function, failure);
  return result(backend, function,
                backend->call.set_engine_plugin_paths(1, &path, HIPDNN_PLUGIN_LOADING_ADDITIVE),
                failure);
}

int hipdnn_plugin_paths(const struct hipdnn_backend *backend, uintptr_t handle, size_t *count,
                        char *paths, size_t *longest, struct hipdnn_failure *failure) {
  static const char function[] = "hipdnnGetLoadedEnginePluginPaths_ext";
  if (!backend->call.get_loaded_engine_plugin_paths)
    return missing(function, failure);
  char **buffers = NULL;
  if (paths) {
    if (!(buffers = calloc(*count, sizeof *buffers))) {
      failure->status = HIPDNN_STATUS_INTERNAL_ERROR;
      failure->function = function;
      snprintf(failure->text, sizeof failure->text, "no memory");
      return failure->status;
    }
    for (size_t i = 0; i < *count; i++)
      buffers[i] = paths + i * *longest;
  }
  int status =
      result(backend, function,
             backend->call.get_loaded_engine_plugin_paths((void *)handle, count, buffers, longest),
             failure);
  free(buffers);
  return status;
}

int hipdnn_serialize_plan(const struct hipdnn_backend *backend, uintptr_t plan, size_t requested,
                          size_t *size, uint8_t *bytes, struct hipdnn_failure *failure) {
  static const char function[] = "hipdnnBackendGetSerializedExecutionPlan_ext";
  if (!backend->call.serialize_plan)
    return missing(function, failure);
  return result(backend, function,
                backend->call.serialize_plan((void *)plan, requested, size, bytes), failure);
}

int hipdnn_deserialize_plan(const struct hipdnn_backend *backend, uintptr_t handle, uintptr_t *plan,
                            const uint8_t *bytes, size_t size, struct hipdnn_failure *failure) {
  static const char function[] = "hipdnnBackendCreateAndDeserializeExecutionPlan_ext";
  if (!backend->call.deserialize_plan)
    return missing(function, failure);
  void *made = NULL;
  int status = result(backend, function,
                      backend->call.deserialize_plan((void *)handle, &made, bytes, size), failure);
  *plan = (uintptr_t)made;
  return status;
}

/* Sets the attributes of the variant pack and finalises it. */
static int fill(const struct hipdnn_backend *backend, struct hipdnn_execution *e, uintptr_t pack) {
  struct hipdnn_failure *failure = &e->failure;
  int status = hipdnn_set_attribute(backend, pack, HIPDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                                    HIPDNN_TYPE_INT64, e->count, e->uids, failure);
  if (!status)
    status = hipdnn_set_attribute(backend, pack, HIPDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                  HIPDNN_TYPE_VOID_PTR, e->count, e->pointers, failure);
  if (!status)
    status = hipdnn_set_attribute(backend, pack, HIPDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                  HIPDNN_TYPE_VOID_PTR, 1, &e->workspace, failure);
  return status ? status : hipdnn_finalize(backend, pack, failure);
}

/* Marks a point of the stream, or of time when there are no streams. Returns whether it did. */
static int mark(const struct hip *hip, uintptr_t event, uintptr_t stream) {
  if (hip)
    return hip_record(hip, event, stream) == HIP_SUCCESS;
  hipdnn_host_record(event);
  return 1;
}

static int execute(struct hipdnn_execution *e) {
  const struct hipdnn_backend *backend = e->backend;
  /* The attributes of a finalised pack cannot be set again, so each execution has its own. */
  uintptr_t pack = 0;
  int status =
      hipdnn_create_descriptor(backend, HIPDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack, &e->failure);
  if (status)
    return status;
  status = fill(backend, e, pack);
  if (!status) {
    if (e->hip)
      e->captured = hip_capturing(e->hip, e->stream) == 1;
    /* In a capture the events would become nodes of the graph. */
    int timed = e->start && !e->captured && mark(e->hip, e->start, e->stream);
    e->began = 1;
    status = result(backend, "hipdnnBackendExecute",
                    backend->call.execute((void *)e->handle, (void *)e->plan, (void *)pack),
                    &e->failure);
    e->timed = timed && !status && mark(e->hip, e->stop, e->stream);
  }
  struct hipdnn_failure ignored;
  hipdnn_destroy_descriptor(backend, pack, &ignored);
  return status;
}

int hipdnn_execute(uintptr_t execution) {
  struct hipdnn_execution *e = (struct hipdnn_execution *)execution;
  e->began = e->captured = e->timed = 0;
  if (!e->hip)
    return execute(e);
  struct hip_scope scope;
  int error = hip_enter_device(e->hip, e->device, &scope);
  if (error) {
    e->failure.status = HIPDNN_STATUS_INTERNAL_ERROR;
    e->failure.function = "hipSetDevice";
    snprintf(e->failure.text, sizeof e->failure.text, "%s", hip_error(e->hip, error));
    return HIPDNN_STATUS_INTERNAL_ERROR;
  }
  int status = execute(e);
  hip_leave(e->hip, &scope);
  return status;
}
