// A C++ library: weak symbols that are shared with the program, a static
// object with a destructor, exceptions.
#include <map>
#include <stdexcept>
#include <string>

static std::map<std::string, int> table = {{"one", 1}, {"two", 2}};

extern "C" __attribute__((visibility("default"), noinline)) int cx_throw(const char *key) {
  auto it = table.find(key);
  if (it == table.end())
    throw std::out_of_range(key);
  return it->second;
}

extern "C" __attribute__((visibility("default"))) int cx_call(const char *key) {
  try {
    return cx_throw(key);
  } catch (const std::out_of_range &) {
    return -1;
  }
}
