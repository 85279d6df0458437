/* What a worker's process has in memory. */
#ifndef TESTS_BENCH_SUBJECT_RESIDENT_H_
#define TESTS_BENCH_SUBJECT_RESIDENT_H_

#include <stdio.h>

/* The largest resident size of the process so far in KB, 0 if it cannot be read. */
static inline long high_water_mark(void) {
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  long kb = 0;
  if (status == NULL)
    return 0;
  while (fgets(line, sizeof line, status) != NULL)
    if (sscanf(line, "VmHWM: %ld kB", &kb) == 1)
      break;
  fclose(status);
  return kb;
}

#endif
