/* A machine that sleeps all the time, to be preloaded: CLOCK_MONOTONIC stands, and the counter and
 * the other clocks run on. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t) {
  static const struct timespec asleep = {1000, 0};
  if (clock != CLOCK_MONOTONIC)
    return (int)syscall(SYS_clock_gettime, clock, t);
  *t = asleep;
  return 0;
}
