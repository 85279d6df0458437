/* What this package needs of hipDNN's backend API, redeclared: its own headers need C++.
 *
 * Facts of ROCm/rocm-libraries, projects/hipdnn/backend/include at commits 969801db (functions,
 * attributes) and f0c57afb (descriptor types); data types and the convolution's modes are in
 * package graph. Names are hipDNN's, so that a test can hold the numbers against a table of them.
 *
 * Handles and descriptors are pointers to structures that only the library knows. Functions return
 * hipdnnStatus_t unless they say otherwise. */
#ifndef HIPDNNBRIDGE_HIPDNN_API_H_
#define HIPDNNBRIDGE_HIPDNN_API_H_

#include <stddef.h>
#include <stdint.h>

/* hipdnnStatus_t, hipdnn_backend.h; the others are in package graph. */
enum {
  HIPDNN_STATUS_SUCCESS = 0,
  HIPDNN_STATUS_NOT_SUPPORTED = 8,
  HIPDNN_STATUS_INTERNAL_ERROR = 9,
};

/* hipdnnBackendDescriptorType_t, HipdnnBackendDescriptorType.h. */
enum {
  HIPDNN_BACKEND_ENGINE_DESCRIPTOR = 1,
  HIPDNN_BACKEND_ENGINECFG_DESCRIPTOR = 2,
  HIPDNN_BACKEND_ENGINEHEUR_DESCRIPTOR = 3,
  HIPDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR = 4,
  HIPDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR = 10,
  HIPDNN_BACKEND_VARIANT_PACK_DESCRIPTOR = 11,
  HIPDNN_BACKEND_TENSOR_DESCRIPTOR = 14,
  HIPDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR = 15,
  HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR = 16,
  HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR = 19,
  /* Commit 0aba1071, early 2026, had no numbers in the source and no pointwise operation, so that
   * what comes after it was one less. */
  HIPDNN_EARLY_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR = 18,
};

/* hipdnnBackendAttributeType_t, HipdnnBackendAttributeType.h. */
enum {
  HIPDNN_TYPE_HANDLE = 0,
  HIPDNN_TYPE_DATA_TYPE = 1,
  HIPDNN_TYPE_BOOLEAN = 2, /* C's bool */
  HIPDNN_TYPE_INT64 = 3,
  HIPDNN_TYPE_VOID_PTR = 6,
  HIPDNN_TYPE_HEUR_MODE = 7,
  HIPDNN_TYPE_BACKEND_DESCRIPTOR = 13,
  HIPDNN_TYPE_CONVOLUTION_MODE = 24,
};

/* hipdnnBackendAttributeName_t, HipdnnBackendAttributeName.h. */
enum {
  HIPDNN_ATTR_ENGINEHEUR_MODE = 100,
  HIPDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH = 101,
  HIPDNN_ATTR_ENGINEHEUR_RESULTS = 102,
  HIPDNN_ATTR_ENGINECFG_ENGINE = 200,
  HIPDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG = 301,
  HIPDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE = 302,
  HIPDNN_ATTR_OPERATIONGRAPH_HANDLE = 600,
  HIPDNN_ATTR_OPERATIONGRAPH_OPS = 601,
  HIPDNN_ATTR_OPERATIONGRAPH_COMPUTE_DATA_TYPE_EXT = 604,
  HIPDNN_ATTR_OPERATIONGRAPH_PREFERRED_ENGINE_ID_EXT = 607,
  HIPDNN_ATTR_VARIANT_PACK_UNIQUE_IDS = 700,
  HIPDNN_ATTR_VARIANT_PACK_DATA_POINTERS = 701,
  HIPDNN_ATTR_VARIANT_PACK_WORKSPACE = 703,
  HIPDNN_ATTR_ENGINE_OPERATION_GRAPH = 1000,
  HIPDNN_ATTR_ENGINE_GLOBAL_INDEX = 1001,
  HIPDNN_ATTR_TENSOR_UNIQUE_ID = 1300,
  HIPDNN_ATTR_TENSOR_DATA_TYPE = 1302,
  HIPDNN_ATTR_TENSOR_DIMENSIONS = 1303,
  HIPDNN_ATTR_TENSOR_STRIDES = 1304,
  HIPDNN_ATTR_TENSOR_IS_VIRTUAL = 1305,
  HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W = 1400,
  HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X = 1401,
  HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y = 1402,
  HIPDNN_ATTR_CONVOLUTION_COMP_TYPE = 1500,
  HIPDNN_ATTR_CONVOLUTION_CONV_MODE = 1501,
  HIPDNN_ATTR_CONVOLUTION_DILATIONS = 1502,
  HIPDNN_ATTR_CONVOLUTION_FILTER_STRIDES = 1503,
  HIPDNN_ATTR_CONVOLUTION_POST_PADDINGS = 1504,
  HIPDNN_ATTR_CONVOLUTION_PRE_PADDINGS = 1505,
  HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X = 1600,
  HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY = 1601,
  HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW = 1602,
  HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY = 1700,
  HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W = 1701,
  HIPDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX = 1702,
};

/* hipdnnBackendHeurMode_t. */
enum {
  HIPDNN_HEUR_MODE_FALLBACK = 0,
};

/* hipdnnPluginLoadingMode_ext_t, HipdnnBackendPluginLoadingMode.h. */
enum {
  HIPDNN_PLUGIN_LOADING_ADDITIVE = 0,
};

/* hipdnnSeverity_t, hipdnnLogCallbackMode_t; HipdnnBackendCallbackTypes.h. */
enum {
  HIPDNN_SEV_WARN = 1,
  HIPDNN_LOG_CALLBACK_MODE_SYNC = 0,
};

typedef void (*hipdnn_log_callback)(void *user, int severity, const char *text);

/* The library's functions; those of the second group may be NULL. */
struct hipdnn_functions {
  const char *(*version_string)(void);
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*set_stream)(void *handle, void *stream);
  int (*create_descriptor)(int type, void **descriptor);
  int (*destroy_descriptor)(void *descriptor);
  int (*finalize)(void *descriptor);
  int (*set_attribute)(void *descriptor, int name, int type, int64_t count, const void *elements);
  int (*get_attribute)(void *descriptor, int name, int type, int64_t requested, int64_t *count,
                       void *elements);
  int (*execute)(void *handle, void *plan, void *variant_pack);
  /* The thread's last error, which is cleared. Writes a NUL in any case. */
  void (*get_last_error_string)(char *text, size_t size);

  const char *(*get_error_string)(int status);
  /* Bytes NULL: writes the size. */
  int (*serialize_plan)(void *plan, size_t requested, size_t *size, uint8_t *bytes);
  int (*deserialize_plan)(void *handle, void **plan, const uint8_t *bytes, size_t size);
  int (*set_user_log_callback)(hipdnn_log_callback callback, int lowest, int mode, void *user);
  /* For handles that are made later. In the additive mode the paths, of files or folders, come on
   * top of hipDNN's own and of what was added before (EnginePluginResourceManager.cpp). */
  int (*set_engine_plugin_paths)(size_t count, const char *const *paths, int mode);
  /* Paths NULL: writes how many there are and the size of the longest, its NUL included. Otherwise
   * each path is a buffer of that size. */
  int (*get_loaded_engine_plugin_paths)(void *handle, size_t *count, char **paths, size_t *longest);
};

#endif
