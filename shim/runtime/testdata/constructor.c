/* A library whose constructor calls MIOpen, with the loader's lock held, after it was said so. */
#include "hooked.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void start(void) {
  setenv("LOADER_IS_LOCKED", "1", 1);
  usleep(300000); /* the other thread is in dlopen by then, or the test shows nothing */
  printf("status %d\n", miopenConvolutionForward(NULL, NULL, NULL, NULL, NULL, NULL, NULL, gemm,
                                                 NULL, NULL, NULL, NULL, 0));
}
