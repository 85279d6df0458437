// Who executes a kernel: what is written by hand here, and the simulator of the instruction set for
// the rest.

#include "kernel.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "../isa/isa.hpp"
#include "naive_conv.hpp"

namespace simhip::kernels {

std::unique_ptr<Execution> prepare(Launch launch) {
  // To check what is written by hand, and only for that: then nothing else hides what the machine
  // code does.
  static const bool only_machine_code = [] {
    const char *execute = std::getenv("SIMHIP_EXECUTE");
    return execute != nullptr && std::string_view(execute) == "isa";
  }();
  if (only_machine_code)
    return isa::prepare_any(std::move(launch));
  if (auto execution = prepare_naive_convolution(launch))
    return execution;
  return isa::prepare(std::move(launch));
}

} // namespace simhip::kernels
