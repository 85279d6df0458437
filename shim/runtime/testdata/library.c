#include "library.h"

int miopenAlpha(int x) {
  return x + 1;
}

double miopenBeta(int a, double b, int c, int d, int e, int f, int g, int h, double i) {
  return a + b + c + d + e + f + g + h + i;
}

int miopenCallsBack(int (*function)(void)) {
  function();
  return 0;
}

const char *miopenText(int x) {
  (void)x;
  return "text";
}

void miopenNothing(void) {}

int miopenBare(void) {
  return 40;
}
