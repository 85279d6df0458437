#pragma once

#include "refhipdnn/hipdnn_backend.h"

namespace refhipdnn {

// The attribute's name as the header spells it, or null.
const char *attribute_name(int name);

} // namespace refhipdnn
