#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace refhipdnn::flatbuffer {

using Bytes = std::vector<uint8_t>;

// Bytes that are not a FlatBuffer of the expected form.
class Malformed : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

} // namespace refhipdnn::flatbuffer
