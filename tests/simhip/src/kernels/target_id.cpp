#include "target_id.hpp"

namespace simhip::kernels {

TargetId TargetId::parse(std::string_view text) {
  TargetId result;
  std::size_t colon = text.find(':');
  result.processor = text.substr(0, colon);
  while (colon != std::string_view::npos) {
    text.remove_prefix(colon + 1);
    colon = text.find(':');
    std::string_view feature = text.substr(0, colon);
    if (!feature.empty())
      result.features.emplace(feature.substr(0, feature.size() - 1), feature.back() == '+');
  }
  return result;
}

bool TargetId::runs_on(const TargetId &device) const {
  if (processor != device.processor)
    return false;
  for (const auto &[name, on] : features) {
    auto found = device.features.find(name);
    if (found != device.features.end() && found->second != on)
      return false;
  }
  return true;
}

} // namespace simhip::kernels
