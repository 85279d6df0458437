#pragma once

#include <atomic>
#include <cstdio>

// Expectations of a scenario: what does not hold is printed, and the scenario's code is 1.
extern std::atomic<int> failures;

#define EXPECT(condition, ...)                                                                     \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      failures++;                                                                                  \
      std::printf("%s:%d: not so: %s: ", __FILE__, __LINE__, #condition);                          \
      std::printf(__VA_ARGS__);                                                                    \
      std::printf("\n");                                                                           \
    }                                                                                              \
  } while (0)
