/* The library that the tests edit: versions, aliases at an old version, thread-local data, .bss,
 * data relocations of every kind, calls to itself through the PLT, and names that other libraries
 * define. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

int apiCreate(int x);
int apiDestroy(int x);
const char *apiName(int x);

__thread int tls_counter = 3;
__thread long tls_zero[4];
int data_public = 17;
long bss_public[700];
static char bss_private[5000];

int apiCreate(int x) {
  bss_private[(unsigned)x % sizeof bss_private]++;
  return apiDestroy(x) + data_public;
}

int apiDestroy(int x) {
  return x * 2 + ++tls_counter + (int)tls_zero[x & 3];
}

const char *apiName(int x) {
  return getenv(x ? "HOME" : "PATH");
}

double apiMath(double x) {
  return cos(x) + (double)strlen(apiName(1));
}

int aliased_v1(int x) {
  return x + 1;
}
int aliased_v2(int x) {
  return x + 2;
}
__asm__(".symver aliased_v1, aliased@API_1");
__asm__(".symver aliased_v2, aliased@@API_2");

__attribute__((weak)) int weak_public(void) {
  return 4;
}
__attribute__((visibility("protected"))) int protected_public(void) {
  return 5;
}
extern __attribute__((weak)) int nobody_defines_this(void);

int (*const table[])(int) = {apiCreate, apiDestroy, aliased_v2};
const char *const names[] = {"one", "two", "three"};
void *pointers[] = {&bss_public[3], &data_public, &bss_private[7], (void *)cos,
                    (void *)nobody_defines_this};

int filler_1(void) {
  return 1;
}
int filler_2(void) {
  return 2;
}
int filler_3(void) {
  return 3;
}
int filler_4(void) {
  return 4;
}
int filler_5(void) {
  return 5;
}
int filler_6(void) {
  return 6;
}
int filler_7(void) {
  return 7;
}
int filler_8(void) {
  return 8;
}
