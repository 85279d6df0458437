/* Which graphs are worth loading the forwarding library for. */
#ifndef MIOPEN_PROVIDER_PLUGIN_FILTER_H_
#define MIOPEN_PROVIDER_PLUGIN_FILTER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum filter_verdict {
  FILTER_PASSES,    /* a convolution and at most two pointwise operations: maybe ours */
  FILTER_FOREIGN,   /* a graph that no engine of this plugin runs */
  FILTER_MALFORMED, /* not hipDNN's FlatBuffer */
};

/* The newest engine plugin API whose graphs are taken (min_required_engine_api_version). */
#define FILTER_API_MAJOR 1
#define FILTER_API_MINOR 1

/* Looks at the operations of a serialised graph and at nothing else: no allocation, and nothing
 * outside of the bytes is read, whatever they are. reason gets a text that lives as long as the
 * program unless the graph passes. */
enum filter_verdict filter_graph(const void *graph, size_t size, const char **reason);

/* The engine that a serialised engine configuration is for. False where the bytes are none. */
bool filter_config(const void *config, size_t size, int64_t *engine);

#endif
