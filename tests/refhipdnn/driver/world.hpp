#pragma once

#include "backend.hpp"

// The smallest whole problem: y = conv(x, w) of 1x1x3x3 with 1x1x2x2.
class Problem {
public:
  // engine is the index among the results of the heuristics.
  explicit Problem(hipdnnHandle_t handle, size_t engine = 0, int64_t threads = 0);

  Object pack(void *workspace = nullptr);
  // Runs the plan and tells whether y is right afterwards, when the execution has no stream.
  bool run(hipdnnHandle_t handle, Object &plan, void *workspace = nullptr);
  bool right() const;
  void reset(float factor = 1); // x times the factor, y to nothing

  alignas(16) float x[12];
  alignas(16) float w[4];
  alignas(16) float y[4];
  float factor;
  Object tx, tw, ty, conv, graph;
  Object config; // finalised
};
