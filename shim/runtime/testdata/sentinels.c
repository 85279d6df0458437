/* Calls every function that it is given the name of, in a library whose functions record what they
 * get, with a value of its own in every register and in 32 words of stack; and compares what
 * arrives and what comes back. Prints what differs, and then "N calls, M differences".
 *
 *     sentinels LIBRARY FRAME < NAMES
 *
 * FRAME is "frame" when the wrapper may be in the call chain, and then uses rbp as its frame
 * pointer, else "none". */
#include "record.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long differences;

static void compare(const char *name, const char *what, int n, uint64_t got, uint64_t want) {
  if (got == want)
    return;
  differences++;
  printf("%s: %s %d: %#lx, not %#lx\n", name, what, n, got, want);
}

int main(int argc, char **argv) {
  void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!library) {
    fprintf(stderr, "%s\n", argc == 3 ? dlerror() : "usage");
    return 2;
  }
  int frame = !strcmp(argv[2], "frame");
  struct record *record = dlsym(library, "callee_record");
  char name[200];
  unsigned long calls = 0;
  while (scanf("%199s", name) == 1) {
    void *function = dlsym(library, name);
    if (!record || !function) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    struct arguments a;
    uint64_t *words = (uint64_t *)&a;
    for (size_t i = 0; i < sizeof a / sizeof *words; i++)
      words[i] = 0x9e3779b97f4a7c15u * (i + 1 + 1000 * calls);
    struct results r;
    memset(record, 0, sizeof *record);
    call_with(function, &a, &r);
    compare(name, "calls", 0, record->calls, 1);
    compare(name, "index", 0, record->index, calls);
    compare(name, "alignment", 0, record->alignment, 8);
    const struct arguments *got = &record->arguments;
    for (int i = 0; i < 8; i++)
      compare(name, "integer", i, got->integers[i], a.integers[i]);
    for (int i = 0; i < 6; i++) {
      if (!(frame && i == 1))
        compare(name, "preserved register", i, got->preserved[i], a.preserved[i]);
      compare(name, "preserved register, after", i, r.preserved[i], a.preserved[i]);
    }
    for (int i = 0; i < 16; i++)
      compare(name, "vector half", i, got->vectors[i / 2][i % 2], a.vectors[i / 2][i % 2]);
    for (int i = 0; i < 32; i++)
      compare(name, "stack word", i, got->stack[i], a.stack[i]);
    compare(name, "rax", 0, r.rax, 0x5000000000000000u + calls);
    compare(name, "rdx", 0, r.rdx, 0x5100000000000000u + calls);
    compare(name, "xmm0", 0, r.xmm0, 0x5200000000000000u + calls);
    calls++;
  }
  printf("%lu calls, %lu differences\n", calls, differences);
  return differences != 0;
}
