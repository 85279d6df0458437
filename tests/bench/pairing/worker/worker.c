/**
 * @file
 * What the handles of MIOpen and hipDNN cost together, by the order in which they are made.
 *
 *     worker LIBRARY BACKEND ORDER
 *
 * LIBRARY is a libMIOpen.so.1, BACKEND a hipDNN. ORDER is
 *
 *     miopen   MIOpen's handle alone
 *     eager    the same with forwarding on, which makes the pair in miopenCreate
 *     first    MIOpen's handle, then hipDNN's, by calls of this program
 *     reverse  hipDNN's handle, then MIOpen's
 *
 * Both libraries are opened before. Output: "pair", and tab separated the nanoseconds for all that
 * ORDER makes, those of miopenCreate, those of hipdnnCreate where this program calls it or 0, and
 * the largest resident size so far in KB. Exit status: 0; 1 with the reason on stderr; 2 for usage.
 */
#include "tests/bench/subject/resident.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int (*miopen_create)(void **handle);
static int (*hipdnn_create)(void **handle);

static int open_library(const char *path, const char *name, void *function) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *address = library != NULL ? dlsym(library, name) : NULL;
  if (address == NULL)
    fprintf(stderr, "worker: %s\n", dlerror());
  *(void **)function = address;
  return address != NULL;
}

static int make(const char *what, int (*create)(void **handle), double *nanoseconds) {
  void *handle = NULL;
  double start = now();
  int status = create(&handle);
  *nanoseconds = now() - start;
  if (status != 0 || handle == NULL)
    fprintf(stderr, "worker: %s: status %d\n", what, status);
  return status == 0 && handle != NULL;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: worker LIBRARY BACKEND ORDER\n");
    return 2;
  }
  const char *order = argv[3];
  int alone = strcmp(order, "miopen") == 0 || strcmp(order, "eager") == 0;
  int reverse = strcmp(order, "reverse") == 0;
  if (!alone && !reverse && strcmp(order, "first") != 0) {
    fprintf(stderr, "worker: %s is no order\n", order);
    return 2;
  }
  if (!open_library(argv[1], "miopenCreate", &miopen_create) ||
      !open_library(argv[2], "hipdnnCreate", &hipdnn_create))
    return 1;
  double miopen = 0, hipdnn = 0, start = now();
  if (reverse && !make("hipdnnCreate", hipdnn_create, &hipdnn))
    return 1;
  if (!make("miopenCreate", miopen_create, &miopen))
    return 1;
  if (!reverse && !alone && !make("hipdnnCreate", hipdnn_create, &hipdnn))
    return 1;
  double all = now() - start;
  long rss = high_water_mark();
  if (rss == 0) {
    fprintf(stderr, "worker: /proc/self/status has no VmHWM\n");
    return 1;
  }
  printf("pair\t%.0f\t%.0f\t%.0f\t%ld\n", all, miopen, hipdnn, rss);
  return fflush(stdout) == 0 ? 0 : 1;
}
