/**
 * @file
 * What it costs a process to open a library.
 *
 *     worker LIBRARY [DEPENDENCY...]
 *
 * Opens the dependencies, then LIBRARY with RTLD_NOW, and prints one line of tab separated fields:
 *
 *     load  NANOSECONDS  CPU  MAJOR  MINOR  VOLUNTARY  INVOLUNTARY  RSS
 *
 * the duration of dlopen(LIBRARY), the processor time in it in nanoseconds, the page faults and
 * context switches of this process during it, and the largest resident size of the process so far
 * in KB. That is VmHWM of /proc/self/status: ru_maxrss survives exec, and so would be that of the
 * program that started this one if it was larger.
 *
 * Exit status: 0; 1 with the reason on stderr; 2 for usage.
 */
#include "tests/bench/subject/resident.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static void *open_library(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    fprintf(stderr, "worker: %s\n", dlerror());
  return library;
}

static double nanoseconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: worker LIBRARY [DEPENDENCY...]\n");
    return 2;
  }
  for (int i = 2; i < argc; i++)
    if (open_library(argv[i]) == NULL)
      return 1;
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  double cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  double start = nanoseconds(CLOCK_MONOTONIC);
  void *library = open_library(argv[1]);
  double end = nanoseconds(CLOCK_MONOTONIC);
  cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  getrusage(RUSAGE_SELF, &after);
  if (library == NULL)
    return 1;
  long rss = high_water_mark();
  if (rss == 0) {
    fprintf(stderr, "worker: /proc/self/status has no VmHWM\n");
    return 1;
  }
  printf("load\t%.0f\t%.0f\t%ld\t%ld\t%ld\t%ld\t%ld\n", end - start, cpu,
         after.ru_majflt - before.ru_majflt, after.ru_minflt - before.ru_minflt,
         after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw, rss);
  return fflush(stdout) == 0 ? 0 : 1;
}
