// Loads the C++ library: cxxhost LIBRARY SUFFIX
#include <dlfcn.h>
#include <stdexcept>
#include <string>

int main(int, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return 2;
  using function = int (*)(const char *);
  auto call =
      reinterpret_cast<function>(dlsym(library, (std::string("cx_call") + argv[2]).c_str()));
  auto raise =
      reinterpret_cast<function>(dlsym(library, (std::string("cx_throw") + argv[2]).c_str()));
  if (!call || !raise)
    return 3;
  if (call("two") != 2 || call("three") != -1)
    return 4;
  try {
    raise("three");
  } catch (const std::out_of_range &e) {
    return std::string(e.what()) == "three" ? 0 : 5;
  }
  return 6;
}
