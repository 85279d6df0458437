#include <miopen/miopen.h>

int miopenGetVersion(size_t *major, size_t *minor, size_t *patch) {
  *major = 3;
  *minor = 5;
  *patch = 1;
  return 0;
}
