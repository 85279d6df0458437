/* Opens LIBRARY with dlopen, calls it, closes it and calls it again. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*alpha)(int) = library ? (int (*)(int))dlsym(library, "miopenAlpha") : NULL;
  if (!alpha) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  if (alpha(1) != 2)
    return 1;
  dlclose(library);
  return alpha(2) != 3;
}
