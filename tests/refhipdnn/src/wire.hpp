#pragma once

// hipDNN's FlatBuffers: graph, engine configuration, engine details, graph-and-plan container.
// Field positions are those of the schemas in projects/hipdnn/flatbuffers_sdk/schemas; values are
// written in the order of flatc's generated code. Decoding throws flatbuffer::Malformed.

#include "bytes.hpp"
#include "graph.hpp"

namespace refhipdnn::wire {

using flatbuffer::Bytes;

Bytes encode(const Graph &graph);
Graph decode_graph(const uint8_t *data, size_t size);

Bytes encode(const EngineConfig &config);
EngineConfig decode_engine_config(const uint8_t *data, size_t size);

Bytes encode(const EngineDetails &details);
EngineDetails decode_engine_details(const uint8_t *data, size_t size);

// A graph and a plan in one blob; either may be empty.
struct Container {
  Bytes graph;
  Bytes plan;
};
bool is_container(const uint8_t *data, size_t size);
Bytes encode(const Container &container);
Container decode_container(const uint8_t *data, size_t size);

} // namespace refhipdnn::wire
