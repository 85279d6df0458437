// Finding the code object for a device in an image of which only the address is known.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "target_id.hpp"

namespace simhip::kernels {

// The bytes of the ELF file at image, or of the one for the device in the uncompressed offload
// bundle there: as many as their headers say. Memory that is not there is noticed and not touched.
// Empty with a reason in error.
std::vector<std::byte> copy_elf(const void *image, const TargetId &device, std::string &error);

} // namespace simhip::kernels
