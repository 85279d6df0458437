/* A hipDNN backend that does nothing, as fast as it can be done: for measurements of what the
 * bridge itself costs. It counts its objects and writes the live ones at exit to the file that
 * NULL_BACKEND_REPORT names. NULL_BACKEND_PLAN_MS is how long an execution plan takes,
 * NULL_BACKEND_VERSION what the version is. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

static atomic_long live, executions;

struct descriptor {
  int type;
};

static void report(void) {
  const char *path = getenv("NULL_BACKEND_REPORT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file) {
    fprintf(file, "live=%ld executions=%ld\n", atomic_load(&live), atomic_load(&executions));
    fclose(file);
  }
}

EXPORT const char *hipdnnVersionString_ext(void) {
  const char *version = getenv("NULL_BACKEND_VERSION");
  return version ? version : "1.0.0.0";
}

EXPORT int hipdnnCreate(void **handle) {
  static atomic_int registered;
  if (!atomic_exchange(&registered, 1))
    atexit(report);
  atomic_fetch_add(&live, 1);
  *handle = malloc(1);
  return 0;
}

EXPORT int hipdnnDestroy(void *handle) {
  atomic_fetch_sub(&live, 1);
  free(handle);
  return 0;
}

EXPORT int hipdnnSetStream(void *handle, void *stream) {
  (void)handle, (void)stream;
  return 0;
}

EXPORT int hipdnnBackendCreateDescriptor(int type, void **descriptor) {
  struct descriptor *d = malloc(sizeof *d);
  d->type = type;
  *descriptor = d;
  atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
  return 0;
}

EXPORT int hipdnnBackendDestroyDescriptor(void *descriptor) {
  free(descriptor);
  atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
  return 0;
}

EXPORT int hipdnnBackendFinalize(void *descriptor) {
  const char *ms;
  if (((struct descriptor *)descriptor)->type == 4 && (ms = getenv("NULL_BACKEND_PLAN_MS"))) {
    struct timespec time = {atoi(ms) / 1000, atoi(ms) % 1000 * 1000000L};
    nanosleep(&time, NULL);
  }
  return 0;
}

EXPORT int hipdnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
                                     const void *elements) {
  (void)descriptor, (void)name, (void)type, (void)count, (void)elements;
  return 0;
}

EXPORT int hipdnnBackendGetAttribute(void *descriptor, int name, int type, int64_t requested,
                                     int64_t *count, void *elements) {
  (void)descriptor, (void)type, (void)requested;
  *count = 1;
  if (name == 302)
    *(int64_t *)elements = 0;
  return 0;
}

EXPORT int hipdnnBackendExecute(void *handle, void *plan, void *pack) {
  (void)handle, (void)plan, (void)pack;
  atomic_fetch_add_explicit(&executions, 1, memory_order_relaxed);
  return 0;
}

EXPORT void hipdnnGetLastErrorString(char *text, size_t size) {
  if (size)
    *text = 0;
}
