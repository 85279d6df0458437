/* Reads buffers from standard input, each after its size in four bytes, and prints what the filter
 * says of each: P passes, F foreign, M malformed. Each buffer is in memory of its exact size. */
#include "provider/plugin/src/filter.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  uint32_t size;
  while (fread(&size, sizeof size, 1, stdin) == 1) {
    unsigned char *bytes = malloc(size);
    if (fread(bytes, 1, size, stdin) != size)
      return 2;
    const char *reason = NULL;
    int64_t engine;
    filter_config(bytes, size, &engine); /* watched */
    enum filter_verdict verdict = filter_graph(bytes, size, &reason);
    if ((verdict == FILTER_PASSES) != (reason == NULL))
      return 3;
#ifdef READ_BEYOND
    putchar(((volatile unsigned char *)bytes)[size] ? 'M' : 'M');
#else
    putchar("PFM"[verdict]);
#endif
    free(bytes);
  }
  return 0;
}
