/* Calls functions of a library by name, every argument zero, and prints what each returned.
 *
 *   zerocall LIBRARY < names > results
 *
 * For each name on standard input, one a line, it prints "VALUE NAME": the returned integer, or
 * "missing" where the library has no such symbol. It is for entry points that return a status or
 * another integer, in libraries that refuse null instead of crashing. Six arguments go to integer
 * registers, eight to floating-point registers and 32 to the stack, more than any function of
 * MIOpen takes.
 *
 * Exit status: 0; 1 when the output cannot be written; 2 when the library cannot be opened.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*function)(long, long, long, long, long, long, double, double, double, double, double,
                        double, double, double, long, long, long, long, long, long, long, long,
                        long, long, long, long, long, long, long, long, long, long, long, long,
                        long, long, long, long, long, long, long, long, long, long, long, long);

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: zerocall LIBRARY < names > results\n");
    return 2;
  }
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "zerocall: %s\n", dlerror());
    return 2;
  }
  char name[256];
  while (fgets(name, sizeof name, stdin) != NULL) {
    name[strcspn(name, "\n")] = '\0';
    function f;
    /* ISO C knows no conversion from an object pointer to a function pointer; POSIX does. */
    *(void **)&f = dlsym(library, name);
    if (f == NULL) {
      printf("missing %s\n", name);
      continue;
    }
    fflush(stdout); /* so that the last line names the function in front of a crash */
    printf("%d %s\n",
           f(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
           name);
  }
  return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
