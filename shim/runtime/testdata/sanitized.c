/* hookedhost.c and the wrapper's run time in one program, without stubs and an own way of linking,
 * so that a compiler's sanitizers can look on: calls go straight to the hooks. The tables are those
 * that a split generates, for the functions of hooked.c. With MISUSE it does what they are to find.
 */
#define _GNU_SOURCE
#include "hooked.h"
#include "hooks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* In byte order. */
#define FUNCTIONS(X)                                                                               \
  X(miopenConvolutionForward)                                                                      \
  X(miopenCreate)                                                                                  \
  X(miopenCreateWithStream)                                                                        \
  X(miopenDestroy)                                                                                 \
  X(miopenEnableProfiling)                                                                         \
  X(miopenGetConvolutionAttribute)                                                                 \
  X(miopenGetConvolutionGroupCount)                                                                \
  X(miopenGetConvolutionNdDescriptor)                                                              \
  X(miopenGetConvolutionSpatialDim)                                                                \
  X(miopenGetErrorString)                                                                          \
  X(miopenGetKernelTime)                                                                           \
  X(miopenGetTensorDescriptor)                                                                     \
  X(miopenGetTensorDescriptorSize)                                                                 \
  X(miopenGetTensorNumBytes)                                                                       \
  X(miopenSetStream)

#define COUNT(name) +1
const uint32_t miopen_shim_count = 0 FUNCTIONS(COUNT);
#define SLOT(name) (const void *)name,
const void *const miopen_shim_slots[] = {FUNCTIONS(SLOT)};
#define NAME(name) #name "\0"
const char miopen_shim_names[] = FUNCTIONS(NAME);
enum {
#define PLACE(name) at_##name, end_##name = at_##name + sizeof #name - 1,
  FUNCTIONS(PLACE) end_of_all
};
#define OFFSET(name) at_##name,
const uint32_t miopen_shim_name_offsets[] = {FUNCTIONS(OFFSET) end_of_all};
const int64_t miopen_shim_offsets[0 FUNCTIONS(COUNT)];
const struct shim_signature miopen_shim_signatures[0 FUNCTIONS(COUNT)];

#define HOOKS(X)                                                                                   \
  X(miopenConvolutionForward)                                                                      \
  X(miopenCreate)                                                                                  \
  X(miopenCreateWithStream)                                                                        \
  X(miopenDestroy)                                                                                 \
  X(miopenEnableProfiling)                                                                         \
  X(miopenGetErrorString)                                                                          \
  X(miopenGetKernelTime)                                                                           \
  X(miopenSetStream)

#define POINTER(name) static __typeof__(name) *hooked_##name;
HOOKS(POINTER)

__attribute__((constructor)) static void start(void) {
  if (shim_hooks_start() == 0)
    abort();
  for (uint32_t i = 0; i < miopen_shim_count; i++) {
#define TAKE(name)                                                                                 \
  if (miopen_shim_slots[i] == (const void *)name)                                                  \
    hooked_##name = (__typeof__(hooked_##name))shim_hook(i);
    HOOKS(TAKE)
  }
}

static void *misuse(void *counter) {
  for (int i = 0; i < 100000; i++)
    (*(volatile int *)counter)++;
  return NULL;
}

__attribute__((constructor)) static void misuses(void) {
  if (!getenv("MISUSE"))
    return;
  pthread_t ids[2];
  volatile size_t size = 4;
  char *block = calloc(1, size);
  for (int i = 0; i < 2; i++)
    if (pthread_create(&ids[i], NULL, misuse, block))
      abort();
  for (int i = 0; i < 2; i++)
    pthread_join(ids[i], NULL);
  printf("read %d\n", ((volatile char *)block)[size]);
  free(block);
}

#define miopenConvolutionForward hooked_miopenConvolutionForward
#define miopenCreate hooked_miopenCreate
#define miopenCreateWithStream hooked_miopenCreateWithStream
#define miopenDestroy hooked_miopenDestroy
#define miopenEnableProfiling hooked_miopenEnableProfiling
#define miopenGetErrorString hooked_miopenGetErrorString
#define miopenGetKernelTime hooked_miopenGetKernelTime
#define miopenSetStream hooked_miopenSetStream
#include "hookedhost.c"
