/* Calls that a trace has to show, counted by the program that makes them.
 *
 * A stream of calls goes through three functions in turn: call number I of a stream that began at S
 * is of function (S + I) % 3. They differ in what they return and need no device; each result is
 * checked, since a trace must not change it.
 *
 * Everything here may be used in a forked child of a program with threads, and stdout has one line
 * for each stream, written at once:
 *
 *   stream PID TID CALLS S
 */
#ifndef TESTS_TRACING_CALLS_H_
#define TESTS_TRACING_CALLS_H_

#include <miopen/miopen.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct stream {
  long start;
  long calls; /* made so far */
};

static inline void die(const char *what) {
  fprintf(stderr, "%s\n", what);
  _exit(1);
}

static inline void call_once(struct stream *s) {
  size_t major = 0, minor = 0, patch = 0;
  const char *text;
  switch ((s->start + s->calls) % 3) {
  case 0:
    if (miopenGetVersion(&major, &minor, &patch) != miopenStatusSuccess || major != 3)
      die("miopenGetVersion gave something else");
    break;
  case 1:
    text = miopenGetErrorString(miopenStatusBadParm);
    if (text == NULL || *text == '\0')
      die("miopenGetErrorString gave something else");
    break;
  case 2:
    if (miopenDestroy(NULL) != miopenStatusSuccess)
      die("miopenDestroy gave something else");
    break;
  }
  ++s->calls;
}

static inline void call_often(struct stream *s, long calls) {
  for (long i = 0; i < calls; ++i)
    call_once(s);
}

static inline void report(const struct stream *s) {
  char line[128];
  int n = snprintf(line, sizeof line, "stream %ld %ld %ld %ld\n", (long)getpid(),
                   (long)syscall(SYS_gettid), s->calls, s->start);
  if (write(1, line, (size_t)n) != n)
    die("cannot write to standard output");
}

/* A number that is an argument of the program. */
static inline long argument(int argc, char **argv, int i) {
  char *end;
  long n = i < argc ? strtol(argv[i], &end, 10) : -1;
  if (n < 0 || *end != '\0')
    die("wrong or missing argument");
  return n;
}

#endif
