// An exception of the host's that leaves a callback through MIOpen and through the wrapper.
#include "library.h"

#include <cstdio>

static int thrower() {
  throw 42;
}

int main() {
  for (int i = 0; i < 3; i++) {
    try {
      miopenCallsBack(thrower);
      return 1;
    } catch (int value) {
      if (value != 42 || miopenAlpha(1) != 2)
        return 1;
    }
  }
  std::puts("caught");
}
