#pragma once

// A graph that the built-in engines can compute: which one that is, and its computation.

#include "graph.hpp"

#include <map>
#include <string>

namespace refhipdnn::cpu {

enum class Method { Direct, Deterministic };

// Whether the engines can compute the graph: convolutions of one type family and pointwise add,
// subtract, multiply, identity and relu, tensors plain and not overlapping, every virtual tensor
// written before it is read, at least one real output. Otherwise says why.
bool supported(const Graph &graph, std::string &why);

// Computes a supported graph. pointers has every tensor that is neither virtual nor by value.
// threads is at least 1.
void run(const Graph &graph, Method method, const std::map<int64_t, void *> &pointers, int threads);

} // namespace refhipdnn::cpu
