// Sums of products over linked positions: what a convolution and both its gradients are.
//
// For every group g, row r, position p and lane l
//     result[g][r][p][l] = sum of scalar[g][r][d][s] * vector[g][d][v][l]
// over all d and over the links (s, v) of p.
// A position is a place in up to three spatial dimensions; which positions are linked is told for
// each dimension. The terms of each sum are added one after the other in a stated order, in double
// precision or in 32-bit integers that wrap around, so the rounding errors are those of any other
// implementation with that order. All products of two of the number types are exact in a double,
// hence it makes no difference whether the other one fuses them with the additions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "number.hpp"

namespace simhip::kernels {

// One index of a tensor: how many values it takes, and how many elements apart neighbours are.
struct Axis {
  std::size_t count = 1;
  std::size_t stride = 0;
};

// A tensor in device memory.
struct View {
  Element element = Element::float32;
  std::uintptr_t address = 0; // of the element whose indices are all 0
  std::array<Axis, 6> axes;   // positions are three axes: depth, height, width

  std::size_t elements() const;
};

// What contributes to one position of the result, in one dimension.
struct Link {
  std::uint32_t scalar, vector; // indices
};
using Links =
    std::vector<std::vector<Link>>; // for each index of the result, in the order of addition

enum class Accumulator { float64, int32 };

struct Contraction {
  View scalar; // group, row, depth of the sum, position
  View vector; // group, depth of the sum, position, lane
  View result; // group, row, position, lane
  std::array<Links, 3> links;
  // Whether a sum runs over all of its links before it goes to the next d, or over all d before the
  // next link.
  bool links_inside = true;
  Accumulator accumulator = Accumulator::float64;
  // What is stored is alpha * sum + beta * result, or just the sum, without a look at result, for 1
  // and 0.
  double alpha = 1, beta = 0;

  bool reads_result() const {
    return alpha != 1 || beta != 0;
  }
};

// Computes and stores the result. All of its tensors have to be there. Throws std::bad_alloc: the
// operands are copied to packed arrays of the accumulator's type.
void contract(const Contraction &contraction, unsigned threads);

} // namespace simhip::kernels
