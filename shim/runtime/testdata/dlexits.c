/* Calls at exit of a library that is not linked: dlexits LIBRARY [NAMESPACES]. It is opened with
 * dlopen, called, closed and called by an exit function that was registered before; or opened in so
 * many namespaces, each of which is called once more often than the one before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int (*alpha)(int);

static void call_at_exit(void) {
  if (alpha(1) != 2)
    abort();
}

static void *find(void *library) {
  void *function = library ? dlsym(library, "miopenAlpha") : NULL;
  if (!function) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  return function;
}

int main(int argc, char **argv) {
  if (argc > 2) {
    for (int i = 0; i < atoi(argv[2]); i++) {
      int (*function)(int) = (int (*)(int))find(dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW));
      for (int n = 0; n <= i; n++)
        if (function(1) != 2)
          return 1;
    }
    return 0;
  }
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  alpha = (int (*)(int))find(library);
  atexit(call_at_exit);
  call_at_exit();
  return dlclose(library);
}
