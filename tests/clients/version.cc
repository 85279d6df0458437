// Prints MIOpen's version: the smallest consumer of a miopen_shim() target. Compiled with
// PRIVATE_LIBRARY it calls the private library by its own names.
#include <cstddef>
#include <cstdio>

#ifdef PRIVATE_LIBRARY
#include <miopen/miopen_impl.h>
#define miopenGetVersion miopenGetVersion_impl
#else
#include <miopen/miopen.h>
#endif

int main() {
  std::size_t major = 0;
  std::size_t minor = 0;
  std::size_t patch = 0;
  if (miopenGetVersion(&major, &minor, &patch) != miopenStatusSuccess)
    return 1;
  std::printf("%zu.%zu.%zu\n", major, minor, patch);
  return 0;
}
