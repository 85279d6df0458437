// libamdhip64.so: the name by which libhiprtc opens the runtime. It must be the same runtime that
// the process already has, so this library holds nothing and needs libamdhip64.so.7; dlsym() of its
// handle finds that one's functions. A copy would be a second device, and a symbolic link does not
// survive everything that Bazel does with files.
#include <hip/hip_runtime_api.h>

namespace {
// Makes the linker note the dependency, whatever it leaves out otherwise.
__attribute__((used)) hipError_t (*const needed)(int *) = hipRuntimeGetVersion;
} // namespace
