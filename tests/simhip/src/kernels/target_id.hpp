// Target identifiers of AMD's code objects: a processor and, for some, the state of features that
// code depends on, as in gfx942:sramecc+:xnack-.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace simhip::kernels {

struct TargetId {
  std::string processor;
  std::map<std::string, bool> features; // on or off; one that is not named may be either

  static TargetId parse(std::string_view text);

  // Whether a device that calls itself so runs code for this target.
  bool runs_on(const TargetId &device) const;
};

} // namespace simhip::kernels
