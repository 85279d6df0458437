// Loads a fixture and uses everything in it.
//
//   host LIBRARY SUFFIX VERSIONS
//
// SUFFIX is what the exports were renamed by ("" for stock), VERSIONS is
// "versions" or "none". Exit status 0: all held; 1: something did not, on
// stderr; 2: the library did not load.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Comes before an fx_answer of the library.
__attribute__((visibility("default"))) int fx_answer(void) {
  return 7;
}

static void *library;
static const char *suffix;
static int failures;

static void check(const char *what, long got, long want) {
  if (got != want) {
    fprintf(stderr, "%s: %ld, want %ld\n", what, got, want);
    failures++;
  }
}

static void *find(const char *name, const char *version) {
  char full[100];
  snprintf(full, sizeof full, "%s%s", name, suffix);
  void *p = version ? dlvsym(library, full, version) : dlsym(library, full);
  if (!p) {
    fprintf(stderr, "%s@%s: %s\n", full, version ? version : "", dlerror());
    exit(1);
  }
  if (*suffix && dlsym(library, name)) {
    fprintf(stderr, "%s is still there\n", name);
    failures++;
  }
  return p;
}

static int call(const char *name, const char *version) {
  int (*f)(void);
  *(void **)&f = find(name, version);
  return f();
}

static int call1(const char *name, const char *version, int arg) {
  int (*f)(int);
  *(void **)&f = find(name, version);
  return f(arg);
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 3;
  suffix = argv[2];
  int versions = strcmp(argv[3], "versions") == 0;
  const char *v1 = versions ? "FIX_1" : NULL, *v2 = versions ? "FIX_2" : NULL;
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  int own = *suffix != 0; // calls to itself no longer bind to the program

  check("fx_answer", call("fx_answer", v1), 42);
  check("fx_constructed", call("fx_constructed", v1), 2);
  check("fx_self", call("fx_self", v1), own ? 43 : 8);
  check("fx_through_table(0)", call1("fx_through_table", v1, 0), own ? 42 : 7);
  check("fx_through_table(1)", call1("fx_through_table", v1, 1), 2);
  int first = call("fx_tls", v1);
  check("fx_tls, first call", first, 6);
  check("fx_tls, second call", call("fx_tls", v1), 7);
  check("fx_zero_sum", call("fx_zero_sum", v2), 0);
  *(int *)find("fx_zeros", v2) = 9;
  check("fx_zero_sum after a write", call("fx_zero_sum", v2), 9);
  check("fx_length", call1("fx_length", v2, 1), 4);
  check("fx_clock", call("fx_clock", v2), 0);
  check("fx_weak", call("fx_weak", v2), 3);
  check("fx_has_absent", call("fx_has_absent", v2), 0);
  check("fx_initialised", *(int *)find("fx_initialised", v1), 11);
  check("fx_names", strcmp(((char **)find("fx_names", v1))[2], "gamma"), 0);
  check("fx_twice", call("fx_twice", NULL), 2);
  if (versions) {
    check("fx_twice@FIX_1", call("fx_twice", "FIX_1"), 1);
    check("fx_twice@FIX_2", call("fx_twice", "FIX_2"), 2);
  }
  return failures != 0;
}
