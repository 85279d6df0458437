/* What the wrapper's hooks and the forwarding library, libmiopen_hipdnn.so.1, know of each other.
 *
 * The wrapper opens the library when forwarding is switched on and a hooked function is called for
 * the first time, asks it for miopen_bridge_open, and calls it through the table that it gets. The
 * wrapper knows MIOpen's API and nothing of hipDNN's: it reads the caller's descriptors into the
 * structures below and does what the answer says. Numbers of types, modes and statuses are those of
 * miopen.h. Both sides come from one release and are installed together; the version is there to
 * refuse files of two.
 *
 * Every function may be called by any number of threads at once, never in a child of the process
 * that opened the library, however that was made, and never changes errno. All pointers are the
 * caller's and are not kept, unless said otherwise. */
#ifndef MIOPEN_SHIM_BRIDGE_H_
#define MIOPEN_SHIM_BRIDGE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MIOPEN_BRIDGE_VERSION 3
#define MIOPEN_BRIDGE_LIBRARY "libmiopen_hipdnn.so.1"
#define MIOPEN_BRIDGE_OPEN "miopen_bridge_open"
#define MIOPEN_BRIDGE_FORKED "miopen_hipdnn_forked"

#define MIOPEN_BRIDGE_MAX_SPATIAL 5
#define MIOPEN_BRIDGE_MAX_RANK (MIOPEN_BRIDGE_MAX_SPATIAL + 2)

/* The structures below are zero in all bytes that have no meaning, so that two problems are the
 * same if their bytes are. */

/* A tensor descriptor. Dimensions and strides are in elements, in the descriptor's order: batch,
 * channels, spatial from the outermost; for weights output channels, channels per group, filter. */
struct miopen_bridge_tensor {
  int32_t type; /* miopenDataType_t */
  int32_t rank; /* 0: could not be read; more than MIOPEN_BRIDGE_MAX_RANK: the arrays are empty */
  int32_t dims[MIOPEN_BRIDGE_MAX_RANK]; /* MIOpen's API has no larger ones */
  int32_t strides[MIOPEN_BRIDGE_MAX_RANK];
  int32_t cast;       /* miopenDataType_t of the cast, -1: none or not known to this MIOpen */
  int32_t vectorised; /* 1: elements are vectors of channels, dims and strides do not tell all */
};

/* What decides about the result of a convolution, apart from the data. */
struct miopen_bridge_convolution {
  struct miopen_bridge_tensor x, w, y;
  int32_t mode; /* miopenConvolutionMode_t */
  int32_t groups;
  int32_t spatial; /* rank of the three arrays; more than the maximum: the arrays are empty */
  int32_t pads[MIOPEN_BRIDGE_MAX_SPATIAL];
  int32_t strides[MIOPEN_BRIDGE_MAX_SPATIAL];
  int32_t dilations[MIOPEN_BRIDGE_MAX_SPATIAL];
  /* Attributes, -1 for one that cannot be read: MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC;
   * _FP16_ALT_IMPL, read where x is half, and _FP8_ROUNDING_MODE, where it has 8 bits of floating
   * point: they say nothing otherwise, and are -1. */
  int32_t fp16_alternative;
  int32_t deterministic;
  int32_t fp8_rounding;
};

/* The rest of a call of miopenConvolutionForward. Device pointers are on the handle's device. */
struct miopen_bridge_call {
  void *handle;                /* miopenHandle_t */
  double alpha, beta;          /* values of the scalars, 0 for one that is NULL */
  int32_t alpha_set, beta_set; /* 0: the pointer was NULL */
  const void *x, *w;
  void *y;
  void *workspace;
  uint64_t workspace_bytes;
};

/* Where a call goes. */
#define MIOPEN_BRIDGE_NATIVE 0 /* nothing was written or enqueued: MIOpen is to serve the call */
#define MIOPEN_BRIDGE_DONE 1   /* served, successfully or not: return the status */

struct miopen_bridge_answer {
  int32_t route;  /* MIOPEN_BRIDGE_* */
  int32_t status; /* miopenStatus_t, with MIOPEN_BRIDGE_DONE */
};

/* What the process did so far. */
struct miopen_bridge_statistics {
  uint64_t forwarded;   /* calls that hipDNN served */
  uint64_t native;      /* calls of hooked operations that MIOpen served */
  uint64_t failed;      /* calls that were not left to MIOpen and returned an error */
  uint64_t plan_hits;   /* executions with a plan from memory */
  uint64_t plan_builds; /* plans that were built */
  uint64_t plan_loads;  /* plans that an earlier process had kept on disk */
};

struct miopen_bridge_table {
  uint32_t version; /* MIOPEN_BRIDGE_VERSION */
  uint32_t size;    /* of this structure */

  /* After miopenCreate and miopenCreateWithStream have made a handle, and before miopenDestroy ends
   * it. Stream is a hipStream_t, NULL for the default one. Never fail: what cannot be done is said
   * when a call is to be forwarded. */
  void (*handle_created)(void *handle, void *stream);
  void (*handle_destroyed)(void *handle);
  /* After miopenSetStream. */
  void (*stream_set)(void *handle, void *stream);
  /* After miopenEnableProfiling. */
  void (*profiling_set)(void *handle, int32_t enabled);
  /* Milliseconds that the last forwarded call took on the device if it is later than what native,
   * the value MIOpen has for the handle, is of; else native. That MIOpen served something since
   * shows in a value that is another one: of two native operations of equal duration, one before
   * and one after the forwarded call, the second is not noticed unless its function is hooked. */
  float (*kernel_time)(void *handle, float native);

  void (*convolution_forward)(const struct miopen_bridge_call *call,
                              const struct miopen_bridge_convolution *problem,
                              struct miopen_bridge_answer *answer);
  /* MIOpen served a call after MIOPEN_BRIDGE_NATIVE. */
  void (*served_natively)(void *handle);
  /* Calls of miopenConvolutionForward that ended without the library being asked, since it was
   * being opened: those that MIOpen served, and those that failed because the policy is strict.
   * They add to what was told before. */
  void (*unasked)(uint64_t native, uint64_t failed);

  /* The text for a status: with the message of this thread's last forwarded call when that failed
   * with this status, else native. Valid until the process ends, as MIOpen's own are. */
  const char *(*error_text)(int32_t status, const char *native);
  /* hipdnnStatus_t of this thread's last forwarded call, 0 when it succeeded or there was none. */
  int32_t (*last_error)(void);
  void (*statistics)(struct miopen_bridge_statistics *out);
  /* At the process's end, while all libraries are still there: writes the report that was asked
   * for. Called once, by one thread. */
  void (*finish)(void);
};

struct miopen_bridge_host {
  uint32_t version; /* MIOPEN_BRIDGE_VERSION */
  uint32_t size;    /* of this structure */
  /* Paths as the loader has them; valid as long as the process lives. */
  const char *wrapper;
  const char *private_library;
  /* Writes one line to stderr, whole, with the shim's prefix; text has no newline. Any thread. */
  void (*message)(const char *text);
  /* What MIOpen has for the handle's kernel time at this moment, in milliseconds. NULL: it cannot
   * be asked. */
  float (*kernel_time)(void *handle);
};

/* Fills the table, which is valid until the process ends, as the host is. Returns 0, or something
 * else when the two do not fit or nothing can be forwarded here, having said why. Called once. */
int miopen_bridge_open(const struct miopen_bridge_host *host, struct miopen_bridge_table *table);

/* Whether this process is a child of the one that loaded the library, which need not have been the
 * wrapper: hipDNN's plugin has its other half there. Nothing else may be called then. */
int miopen_hipdnn_forked(void);

#ifdef __cplusplus
}
#endif

#endif
