/* A HIP run time on the host's memory that is strict about what a real one is strict about and the
 * simulated one is not: which device a stream and an event belong to, and what a thread does while
 * another one captures. What is wrong is written to stderr, a line each. With PARTIAL there is next
 * to nothing in it.
 *
 * A stream's device is in bits 12 to 15 of its number. HIP_CAPTURING is what hipStreamIsCapturing
 * returns, as an error. */
#include <stdio.h>
#include <stdlib.h>

static _Thread_local int device;

int hipGetDevice(int *current) {
  *current = device;
  return 0;
}

#ifndef PARTIAL

static _Thread_local int mode, last_error;

enum { relaxed = 2, invalid_handle = 400 };

struct event {
  int device;
};

int hipSetDevice(int d) {
  device = d;
  return 0;
}

/* What would end another thread's capture. */
static void unsafe(const char *function) {
  if (mode != relaxed)
    fprintf(stderr, "hip: %s while another thread captures\n", function);
}

int hipMalloc(void **memory, size_t size) {
  unsafe("hipMalloc");
  if (getenv("HIP_LOG"))
    fprintf(stderr, "hip: allocated on device %d\n", device);
  *memory = aligned_alloc(256, (size + 255) / 256 * 256);
  return 0;
}

int hipFree(void *memory) {
  unsafe("hipFree");
  free(memory);
  return 0;
}

int hipMemGetInfo(size_t *left, size_t *total) {
  *left = *total = 1 << 30;
  return 0;
}

int hipDeviceSynchronize(void) {
  unsafe("hipDeviceSynchronize");
  return 0;
}

int hipStreamIsCapturing(void *stream, int *status) {
  (void)stream;
  *status = 0;
  const char *error = getenv("HIP_CAPTURING");
  return last_error = error ? atoi(error) : 0;
}

int hipEventCreate(void **event) {
  struct event *e = malloc(sizeof *e);
  e->device = device;
  *event = e;
  return 0;
}

int hipEventDestroy(void *event) {
  free(event);
  return 0;
}

int hipEventRecord(void *event, void *stream) {
  int of_stream = (int)((size_t)stream >> 12 & 15);
  if (((struct event *)event)->device != of_stream || device != of_stream) {
    fprintf(stderr, "hip: an event of device %d on a stream of device %d, from device %d\n",
            ((struct event *)event)->device, of_stream, device);
    return last_error = invalid_handle;
  }
  return 0;
}

int hipEventQuery(void *event) {
  (void)event;
  unsafe("hipEventQuery");
  return 0;
}

int hipEventSynchronize(void *event) {
  (void)event;
  unsafe("hipEventSynchronize");
  return 0;
}

int hipEventElapsedTime(float *milliseconds, void *start, void *stop) {
  (void)start, (void)stop;
  *milliseconds = 5;
  return 0;
}

const char *hipGetErrorString(int error) {
  return error == invalid_handle ? "invalid resource handle" : "some error";
}

int hipGetLastError(void) {
  int error = last_error;
  last_error = 0;
  return error;
}

int hipThreadExchangeStreamCaptureMode(int *exchanged) {
  int before = mode;
  mode = *exchanged;
  *exchanged = before;
  return 0;
}

#endif
