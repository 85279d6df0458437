#pragma once

// Elements in memory to double and back. Narrow floating types are rounded to nearest, ties to
// even, from the double; integers too, and are limited to their range.

#include "graph.hpp"

namespace refhipdnn::cpu {

double load(DataType type, const void *at);
void store(DataType type, void *at, double value);

// Whether load and store know the type.
bool is_number(DataType type);
bool is_integer(DataType type);

} // namespace refhipdnn::cpu
