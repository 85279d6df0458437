/* A hipDNN backend that does nothing, as fast as it can be done: for measurements of what the
 * bridge itself costs. It counts its objects and writes the live ones at exit to the file that
 * NULL_BACKEND_REPORT names. NULL_BACKEND_PLAN_MS is how long an execution plan takes,
 * NULL_BACKEND_VERSION what the version is, NULL_BACKEND_WORKSPACE what an execution needs.
 *
 * With NULL_BACKEND_DEVICE every call that uses a device, if it is linked against a HIP run time,
 * is to come with that device as the thread's, and every one that may load code or allocate in a
 * thread that leaves captures alone; what is not so is written to stderr. A workspace that
 * executions of two threads are given is written too. */
#define _GNU_SOURCE
#include <pthread.h>
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

#pragma weak hipGetDevice
#pragma weak hipThreadExchangeStreamCaptureMode
extern int hipGetDevice(int *device);
extern int hipThreadExchangeStreamCaptureMode(int *mode);

static const char *expected, *workspace_size;

/* Once, since what takes time is measured. */
__attribute__((constructor)) static void read_environment(void) {
  expected = getenv("NULL_BACKEND_DEVICE");
  workspace_size = getenv("NULL_BACKEND_WORKSPACE");
}

static void check(const char *function, int loads) {
  if (!expected)
    return;
  int device = -1, mode = 2;
  hipGetDevice(&device);
  hipThreadExchangeStreamCaptureMode(&mode);
  int now = mode;
  hipThreadExchangeStreamCaptureMode(&mode);
  if (device != atoi(expected) || (loads && now != 2))
    fprintf(stderr, "backend: %s on device %d in capture mode %d\n", function, device, now);
}

static void use_workspace(void *workspace) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct {
    void *workspace;
    pthread_t thread;
  } seen[64];
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 64; i++) {
    if (seen[i].workspace == workspace && seen[i].thread != pthread_self())
      fprintf(stderr, "backend: two threads have one workspace\n");
    if (seen[i].workspace == workspace)
      break;
    if (!seen[i].workspace) {
      seen[i].workspace = workspace;
      seen[i].thread = pthread_self();
      break;
    }
  }
  pthread_mutex_unlock(&lock);
}

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
  check(__func__, 1);
  static atomic_int registered;
  if (!atomic_exchange(&registered, 1))
    atexit(report);
  atomic_fetch_add(&live, 1);
  *handle = malloc(1);
  return 0;
}

EXPORT int hipdnnDestroy(void *handle) {
  check(__func__, 1);
  atomic_fetch_sub(&live, 1);
  free(handle);
  return 0;
}

EXPORT int hipdnnSetStream(void *handle, void *stream) {
  (void)handle, (void)stream;
  check(__func__, 1);
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
  if (((struct descriptor *)descriptor)->type == 4)
    check(__func__, 1);
  if (((struct descriptor *)descriptor)->type == 4 && (ms = getenv("NULL_BACKEND_PLAN_MS"))) {
    struct timespec time = {atoi(ms) / 1000, atoi(ms) % 1000 * 1000000L};
    nanosleep(&time, NULL);
  }
  return 0;
}

EXPORT int hipdnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
                                     const void *elements) {
  (void)descriptor, (void)type, (void)count;
  if (workspace_size && name == 703 && *(void *const *)elements)
    use_workspace(*(void *const *)elements);
  return 0;
}

EXPORT int hipdnnBackendGetAttribute(void *descriptor, int name, int type, int64_t requested,
                                     int64_t *count, void *elements) {
  (void)descriptor, (void)type, (void)requested;
  *count = 1;
  if (name == 302)
    *(int64_t *)elements = workspace_size ? atoll(workspace_size) : 0;
  return 0;
}

EXPORT int hipdnnBackendExecute(void *handle, void *plan, void *pack) {
  (void)handle, (void)plan, (void)pack;
  check(__func__, 0);
  atomic_fetch_add_explicit(&executions, 1, memory_order_relaxed);
  return 0;
}

EXPORT void hipdnnGetLastErrorString(char *text, size_t size) {
  if (size)
    *text = 0;
}
