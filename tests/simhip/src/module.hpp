// Modules, functions, and the kernels that a program registers for its own code. Guarded by
// Runtime::mutex, and constant once made.
#pragma once

#include <memory>
#include <string>

#include "kernels/kernel.hpp"
#include "runtime.hpp"

namespace simhip {

struct Module {
  // Null for an image that is a compressed bundle, which nobody here unpacks: it has every function
  // that it is asked for, none of which can be executed.
  std::shared_ptr<const kernels::CodeObject> code;
};

struct Function {
  std::string name;
  std::shared_ptr<const kernels::CodeObject> code;
  const kernels::Kernel *kernel = nullptr; // null without code
};
using FunctionRef = std::shared_ptr<const Function>;

// Reads an image. Null, and error set, for one that is none.
std::shared_ptr<Module> loadModule(const void *image, hipError_t &error);
// The function of that name, or null.
std::shared_ptr<Function> functionOf(const Module &module, const std::string &name);

// The kernel that a program's code registered under the address of its host function, or null.
FunctionRef registered(const void *hostFunction);

} // namespace simhip
