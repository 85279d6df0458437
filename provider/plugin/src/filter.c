#include "filter.h"

#include <string.h>

/* FlatBuffers: a buffer starts with the offset of its root table. Offsets are relative to where
 * they are; a table starts with the signed distance back to its vtable, which is two sizes, the
 * vtable's and the table's, and then the place of each field in the table, 0 for an absent one. */

/* Of graph.fbs at 33f48644 (field number n is at 4 + 2n of a vtable). */
enum {
  GRAPH_NODES = 14,
  GRAPH_OVERRIDES = 18,
  GRAPH_API_VERSION = 20,
  NODE_TYPE = 8,
  NODE_ATTRIBUTES = 10,
};

/* Of engine_config.fbs. */
enum { CONFIG_ENGINE = 4 };

/* The union NodeAttributes. */
enum {
  NODE_POINTWISE = 2,
  NODE_CONVOLUTION_FORWARD = 5,
  NODE_CONVOLUTION_BACKWARD_WEIGHTS = 7,
};

enum { MAX_POINTWISE = 2 };

struct buffer {
  const unsigned char *bytes;
  uint32_t size;
};

/* Where the fields of a table are. */
struct table {
  uint32_t at, size;
  uint32_t vtable, vtable_size;
};

static bool within(const struct buffer *b, uint32_t at, uint32_t size) {
  return at <= b->size && size <= b->size - at;
}

/* The caller knows that they are within. */
static uint16_t read16(const struct buffer *b, uint32_t at) {
  return (uint16_t)(b->bytes[at] | b->bytes[at + 1] << 8);
}

static uint32_t read32(const struct buffer *b, uint32_t at) {
  return read16(b, at) | (uint32_t)read16(b, at + 2) << 16;
}

/* Follows the offset that is at a place. */
static bool follow(const struct buffer *b, uint32_t at, uint32_t *target) {
  if (!within(b, at, 4))
    return false;
  uint32_t offset = read32(b, at);
  if (offset == 0 || offset > b->size - at)
    return false;
  *target = at + offset;
  return true;
}

static bool read_table(const struct buffer *b, uint32_t at, struct table *t) {
  if (!within(b, at, 4))
    return false;
  int64_t vtable = (int64_t)at - (int32_t)read32(b, at);
  if (vtable < 0 || vtable > b->size || !within(b, (uint32_t)vtable, 4))
    return false;
  t->at = at;
  t->vtable = (uint32_t)vtable;
  t->vtable_size = read16(b, t->vtable);
  t->size = read16(b, t->vtable + 2);
  return t->vtable_size >= 4 && t->vtable_size % 2 == 0 && t->size >= 4 &&
         within(b, t->vtable, t->vtable_size) && within(b, at, t->size);
}

/* The place of a field of so many bytes: 0 where it is absent. False where it is not in the table.
 */
static bool field(const struct buffer *b, const struct table *t, uint32_t slot, uint32_t size,
                  uint32_t *at) {
  *at = 0;
  if (slot + 2 > t->vtable_size)
    return true;
  uint32_t offset = read16(b, t->vtable + slot);
  if (offset == 0)
    return true;
  if (offset < 4 || offset > t->size || size > t->size - offset)
    return false;
  *at = t->at + offset;
  return true;
}

#define MALFORMED(text)                                                                            \
  do {                                                                                             \
    *reason = (text);                                                                              \
    return FILTER_MALFORMED;                                                                       \
  } while (0)

#define FOREIGN(text)                                                                              \
  do {                                                                                             \
    *reason = (text);                                                                              \
    return FILTER_FOREIGN;                                                                         \
  } while (0)

enum filter_verdict filter_graph(const void *graph, size_t size, const char **reason) {
  if (size < 8)
    MALFORMED("it has no room for a table");
  if (size > INT32_MAX)
    MALFORMED("it is larger than a FlatBuffer can be");
  struct buffer b = {graph, (uint32_t)size};
  struct table root;
  uint32_t at;
  if (!follow(&b, 0, &at) || !read_table(&b, at, &root))
    MALFORMED("its root table is not in it");

  if (!field(&b, &root, GRAPH_OVERRIDES, 1, &at))
    MALFORMED("is_override_shape_enabled is not in the graph's table");
  if (at && b.bytes[at])
    FOREIGN("it asks for overrides of shapes");
  if (!field(&b, &root, GRAPH_API_VERSION, 12, &at))
    MALFORMED("min_required_engine_api_version is not in the graph's table");
  if (at) {
    uint32_t major = read32(&b, at), minor = read32(&b, at + 4), patch = read32(&b, at + 8);
    if (major > FILTER_API_MAJOR ||
        (major == FILTER_API_MAJOR &&
         (minor > FILTER_API_MINOR || (minor == FILTER_API_MINOR && patch > 0))))
      FOREIGN("it requires a newer engine API");
  }

  uint32_t nodes = 0, count = 0;
  if (!field(&b, &root, GRAPH_NODES, 4, &at))
    MALFORMED("the nodes are not in the graph's table");
  if (at) {
    if (!follow(&b, at, &nodes) || !within(&b, nodes, 4))
      MALFORMED("the nodes are not in it");
    count = read32(&b, nodes);
    nodes += 4;
    if (count > (b.size - nodes) / 4)
      MALFORMED("there are more nodes than it has room for");
  }
  if (count == 0 || count > 1 + MAX_POINTWISE)
    FOREIGN("it is not of one to three operations");

  uint32_t convolutions = 0;
  for (uint32_t i = 0; i < count; i++) {
    struct table node;
    uint32_t type, attributes;
    if (!follow(&b, nodes + 4 * i, &at) || !read_table(&b, at, &node) ||
        !field(&b, &node, NODE_TYPE, 1, &type) ||
        !field(&b, &node, NODE_ATTRIBUTES, 4, &attributes))
      MALFORMED("a node is not in it");
    if (!type || !b.bytes[type] || !attributes)
      MALFORMED("a node has no operation");
    struct table operation;
    if (!follow(&b, attributes, &at) || !read_table(&b, at, &operation))
      MALFORMED("the attributes of a node are not in it");
    unsigned char kind = b.bytes[type];
    if (kind >= NODE_CONVOLUTION_FORWARD && kind <= NODE_CONVOLUTION_BACKWARD_WEIGHTS)
      convolutions++;
    else if (kind != NODE_POINTWISE)
      FOREIGN("it has operations other than convolutions and pointwise ones");
  }
  if (convolutions != 1)
    FOREIGN("it is not of one convolution");
  return FILTER_PASSES;
}

bool filter_config(const void *config, size_t size, int64_t *engine) {
  if (size < 8 || size > INT32_MAX)
    return false;
  struct buffer b = {config, (uint32_t)size};
  struct table root;
  uint32_t at;
  if (!follow(&b, 0, &at) || !read_table(&b, at, &root) ||
      !field(&b, &root, CONFIG_ENGINE, 8, &at) || !at)
    return false;
  *engine = (int64_t)(read32(&b, at) | (uint64_t)read32(&b, at + 4) << 32);
  return true;
}
