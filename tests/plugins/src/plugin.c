/* A plugin as a hipDNN provider is wired: three calls of MIOpen's API behind one exported function.
 * With IMPL_NAMES it is written with the private names; otherwise with the public ones, which the
 * compiler's flags may rename. */
#include <stddef.h>

/* MIOpen's header names it without "struct", as C++ allows. */
typedef struct miopenTensorArgument_t miopenTensorArgument_t;

#ifdef IMPL_NAMES
#include <miopen/miopen_impl.h>
#define GET_VERSION miopenGetVersion_impl
#define CREATE miopenCreate_impl
#define DESTROY miopenDestroy_impl
#else
#include <miopen/miopen.h>
#define GET_VERSION miopenGetVersion
#define CREATE miopenCreate
#define DESTROY miopenDestroy
#endif

/* Returns the sum of the version's numbers, or a negative number that says which call failed. A
 * machine without a device cannot make a handle: without_device allows for that. */
__attribute__((visibility("default"))) int plugin_run(int without_device) {
  size_t major = 0, minor = 0, patch = 0;
  if (GET_VERSION(&major, &minor, &patch) != miopenStatusSuccess)
    return -1;
  miopenHandle_t handle = NULL;
  if (CREATE(&handle) != miopenStatusSuccess) {
    if (!without_device)
      return -2;
  } else if (DESTROY(handle) != miopenStatusSuccess) {
    return -3;
  }
  return (int)(major + minor + patch);
}
