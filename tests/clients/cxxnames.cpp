// Uses the C++ names that the reference library exports, as hosts like the real library's test
// program do: a class, its virtual functions and type information, a data symbol and plain
// functions. Prints what it saw; the output depends only on where the library that holds the
// implementation lies.
//
// Exit status: 0; the program does not start when a name does not resolve.
#include <cstdio>
#include <typeinfo>

#include <miopen/miopen.h>

#include "errors.hpp"
#include "handle.hpp"

int main() {
  miopen::debug::LoggingQuiet = true;
  try {
    miopen::Throw(miopenStatusInvalidValue, "thrown by the library");
  } catch (const miopen::Exception &e) {
    std::printf("caught status %d: %s\n", static_cast<int>(e.Status()), e.what());
  }

  // The C entry point fails inside the library and leaves its message where the C++ name finds it.
  // Nothing is printed to standard error, since the data symbol is one and the same on both sides.
  const miopenStatus_t status = miopenGetKernelTime(nullptr, nullptr);
  std::printf("status %d\nlast error %s\n", static_cast<int>(status), miopen::LastError());

  // A handle made by a C++ constructor of the library works with the C functions.
  miopen::Handle handle(nullptr);
  handle.RegisterInvoker("a problem", 1);
  std::printf("invoker %d %d\n", handle.HasInvoker("a problem", 1),
              handle.HasInvoker("another", 1));
  float time = -1;
  std::printf("kernel time status %d\n", static_cast<int>(miopenGetKernelTime(&handle, &time)));
  std::printf("library directory %s\n", miopen::LibraryDirectory().c_str());
  return 0;
}
