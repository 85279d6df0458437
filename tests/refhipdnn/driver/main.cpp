// refdriver LIBRARY WHAT [ARGUMENTS]: WHAT is graphs, device-graphs, misuse or a scenario; see
// scenarios.hpp.

#include "backend.hpp"
#include "scenarios.hpp"

#include <cstdio>
#include <cstring>

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: refdriver LIBRARY WHAT [ARGUMENTS]\n");
    return 2;
  }
  try {
    Backend opened(argv[1]);
    backend = &opened;
    if (std::strcmp(argv[2], "graphs") == 0) {
      return run_graphs(false);
    }
    if (std::strcmp(argv[2], "device-graphs") == 0) {
      return run_graphs(true);
    }
    if (std::strcmp(argv[2], "misuse") == 0) {
      return run_misuse();
    }
    return run_scenario(argv[2], argv + 3);
  } catch (const std::exception &e) {
    std::printf("refdriver: %s\n", e.what());
    return 1;
  }
}
