// dlhost LIBRARY local|global [SYMBOL...]: what a host does that loads MIOpen as a plugin's library
// would be.
//
// Opens LIBRARY with RTLD_NOW and RTLD_LOCAL or RTLD_GLOBAL, calls miopenGetVersion through dlsym
// and prints the version, then for each SYMBOL the file name that defines it. Exit status: 0, or 1
// with dlerror()'s text on stderr. It is not linked against any MIOpen.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef int (*get_version_fn)(size_t *major, size_t *minor, size_t *patch);

static int fail(const char *what) {
  fprintf(stderr, "dlhost: %s: %s\n", what, dlerror());
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: dlhost LIBRARY local|global [SYMBOL...]\n");
    return 2;
  }
  int scope = strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
  void *library = dlopen(argv[1], RTLD_NOW | scope);
  if (library == NULL)
    return fail("dlopen");
  get_version_fn get_version = (get_version_fn)dlsym(library, "miopenGetVersion");
  if (get_version == NULL)
    return fail("dlsym");
  size_t major = 0, minor = 0, patch = 0;
  int status = get_version(&major, &minor, &patch);
  printf("status %d version %zu.%zu.%zu\n", status, major, minor, patch);
  for (int i = 3; i < argc; i++) {
    void *address = dlsym(library, argv[i]);
    Dl_info where;
    if (address == NULL || dladdr(address, &where) == 0)
      return fail(argv[i]);
    const char *slash = strrchr(where.dli_fname, '/');
    printf("%s in %s\n", argv[i], slash != NULL ? slash + 1 : where.dli_fname);
  }
  return dlclose(library) == 0 ? 0 : fail("dlclose");
}
