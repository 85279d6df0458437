#ifdef PRIVATE_LIBRARY
#include <miopen/miopen_impl.h>
#define GET_VERSION miopenGetVersion_impl
#else
#include <miopen/miopen.h>
#define GET_VERSION miopenGetVersion
#endif

int main(void) {
  size_t major = 0, minor = 0, patch = 0;
  return GET_VERSION(&major, &minor, &patch) == 0 && major == 3 && minor == 5 && patch == 1 ? 0 : 1;
}
