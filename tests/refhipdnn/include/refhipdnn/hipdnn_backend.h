#ifndef REFHIPDNN_HIPDNN_BACKEND_H
#define REFHIPDNN_HIPDNN_BACKEND_H

/*
 * hipDNN's backend C API, as far as tests/refhipdnn implements it. Written from the public header
 * ROCm/rocm-libraries projects/hipdnn/backend/include (the commit is named with each group); the
 * numbers are the ABI, testdata/numbers.tsv holds them a second time, and a test compares.
 *
 * Conventions: a descriptor is created, gets attributes, is finalised, and only then used. Arrays
 * belong to the caller and are copied. Whatever GetAttribute hands out as BACKEND_DESCRIPTOR is a
 * new descriptor, to be destroyed by the caller. A descriptor is used by one thread at a time;
 * handles, and plans once finalised, by any number.
 */

#include <stddef.h>
#include <stdint.h>

/* Clients can pass any number: to C++ too, every one has to be a value of the type. */
#if defined(__cplusplus)
#define REFHIPDNN_INT : int
#else
#define REFHIPDNN_INT
#endif

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct hipdnnHandle *hipdnnHandle_t;
typedef struct HipdnnBackendDescriptor *hipdnnBackendDescriptor_t;
/* A hipStream_t; declared without HIP's headers. */
typedef struct ihipStream_t *hipdnnRefStream_t;

/* Source: HipdnnStatus.h @ 969801db. */
typedef enum REFHIPDNN_INT {
  HIPDNN_STATUS_SUCCESS = 0,
  HIPDNN_STATUS_NOT_INITIALIZED = 1,
  HIPDNN_STATUS_BAD_PARAM = 2,
  HIPDNN_STATUS_BAD_PARAM_NULL_POINTER = 3,
  HIPDNN_STATUS_BAD_PARAM_NOT_FINALIZED = 4,
  HIPDNN_STATUS_BAD_PARAM_OUT_OF_BOUND = 5,
  HIPDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT = 6,
  HIPDNN_STATUS_BAD_PARAM_STREAM_MISMATCH = 7,
  HIPDNN_STATUS_NOT_SUPPORTED = 8,
  HIPDNN_STATUS_INTERNAL_ERROR = 9,
  HIPDNN_STATUS_ALLOC_FAILED = 10,
  HIPDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED = 11,
  HIPDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 12,
  HIPDNN_STATUS_EXECUTION_FAILED = 13,
  HIPDNN_STATUS_PLUGIN_ERROR = 14,
  HIPDNN_STATUS_VERSION_MISMATCH = 15
} hipdnnStatus_t;

/* Source: HipdnnDataType.h @ a4e33964. Not the numbering of the FlatBuffers. */
typedef enum REFHIPDNN_INT {
  HIPDNN_DATA_FLOAT = 0,
  HIPDNN_DATA_DOUBLE = 1,
  HIPDNN_DATA_HALF = 2,
  HIPDNN_DATA_INT8 = 3,
  HIPDNN_DATA_INT32 = 4,
  HIPDNN_DATA_UINT8 = 5,
  HIPDNN_DATA_BFLOAT16 = 6,
  HIPDNN_DATA_FP8_E4M3 = 7,
  HIPDNN_DATA_FP8_E5M2 = 8,
  HIPDNN_DATA_FP8_E8M0 = 9,
  HIPDNN_DATA_FP4_E2M1 = 10,
  HIPDNN_DATA_INT4 = 11,
  HIPDNN_DATA_FP6_E2M3_EXT = 12,
  HIPDNN_DATA_FP6_E3M2_EXT = 13,
  HIPDNN_DATA_INT64 = 14,
  HIPDNN_DATA_BOOLEAN = 15,
  HIPDNN_DATA_FP8_E4M3_FNUZ = 16,
  HIPDNN_DATA_FP8_E5M2_FNUZ = 17
} hipdnnDataType_t;

/* Source: HipdnnBackendAttributeType.h @ 8378a562. */
typedef enum REFHIPDNN_INT {
  HIPDNN_TYPE_HANDLE = 0,
  HIPDNN_TYPE_DATA_TYPE = 1,
  HIPDNN_TYPE_BOOLEAN = 2,
  HIPDNN_TYPE_INT64 = 3,
  HIPDNN_TYPE_FLOAT = 4,
  HIPDNN_TYPE_DOUBLE = 5,
  HIPDNN_TYPE_VOID_PTR = 6,
  HIPDNN_TYPE_HEUR_MODE = 7,
  HIPDNN_TYPE_KNOB_TYPE = 8,
  HIPDNN_TYPE_NAN_PROPOGATION = 9,
  HIPDNN_TYPE_NUMERICAL_NOTE = 10,
  HIPDNN_TYPE_LAYOUT_TYPE = 11,
  HIPDNN_TYPE_ATTRIB_NAME = 12,
  HIPDNN_TYPE_BACKEND_DESCRIPTOR = 13,
  HIPDNN_TYPE_GENSTATS_MODE = 14,
  HIPDNN_TYPE_BN_FINALIZE_STATS_MODE = 15,
  HIPDNN_TYPE_BEHAVIOR_NOTE = 16,
  HIPDNN_TYPE_TENSOR_REORDERING_MODE = 17,
  HIPDNN_TYPE_INT32 = 18,
  HIPDNN_TYPE_CHAR = 19,
  HIPDNN_TYPE_SIGNAL_MODE = 20,
  HIPDNN_TYPE_FRACTION = 21,
  HIPDNN_TYPE_NORM_FWD_PHASE = 22,
  HIPDNN_TYPE_RNG_DISTRIBUTION = 23,
  HIPDNN_TYPE_CONVOLUTION_MODE = 24,
  HIPDNN_TYPE_POINTWISE_MODE = 25,
  HIPDNN_TYPE_DIAGONAL_ALIGNMENT = 26,
  HIPDNN_TYPE_ATTENTION_IMPLEMENTATION = 27,
  HIPDNN_TYPE_REDUCTION_OPERATOR_TYPE = 28,
  HIPDNN_TYPE_FLATBUFFER_DATA_STRUCT_EXT = 10000,
  HIPDNN_TYPE_OPERATION_TYPE_EXT = 10001
} hipdnnBackendAttributeType_t;

/*
 * Source: HipdnnBackendDescriptorType.h @ f0c57afb. Early-2026 snapshots (@ 0aba1071) numbered the
 * operations from 17 on otherwise: 18 was backward data, and there was no pointwise.
 */
typedef enum REFHIPDNN_INT {
  HIPDNN_BACKEND_INVALID_TYPE_EXT = 0,
  HIPDNN_BACKEND_ENGINE_DESCRIPTOR = 1,
  HIPDNN_BACKEND_ENGINECFG_DESCRIPTOR = 2,
  HIPDNN_BACKEND_ENGINEHEUR_DESCRIPTOR = 3,
  HIPDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR = 4,
  HIPDNN_BACKEND_INTERMEDIATE_INFO_DESCRIPTOR = 5,
  HIPDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR = 6,
  HIPDNN_BACKEND_KNOB_INFO_DESCRIPTOR = 7,
  HIPDNN_BACKEND_LAYOUT_INFO_DESCRIPTOR = 8,
  HIPDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR = 9,
  HIPDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR = 10,
  HIPDNN_BACKEND_VARIANT_PACK_DESCRIPTOR = 11,
  HIPDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR = 12,
  HIPDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR = 13,
  HIPDNN_BACKEND_TENSOR_DESCRIPTOR = 14,
  HIPDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR = 15,
  HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR = 16,
  HIPDNN_BACKEND_OPERATION_BATCHNORM_INFERENCE_DESCRIPTOR_EXT = 17,
  HIPDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR = 18,
  HIPDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR = 19
} hipdnnBackendDescriptorType_t;

/* The same in early 2026, where it differed. Source: HipdnnBackendDescriptorType.h @ 0aba1071. */
enum { HIPDNN_EARLY_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR = 18 };

/* Source: HipdnnConvolutionMode.h @ 969801db. */
typedef enum REFHIPDNN_INT {
  HIPDNN_CONVOLUTION_MODE_CONVOLUTION = 0,
  HIPDNN_CONVOLUTION_MODE_CROSS_CORRELATION = 1
} hipdnnConvolutionMode_t;

/* Source: HipdnnBackendHeuristicType.h @ 969801db. */
typedef enum REFHIPDNN_INT { HIPDNN_HEUR_MODE_FALLBACK = 0 } hipdnnBackendHeurMode_t;

/* Source: HipdnnPointwiseMode.h @ 8b7455ae; the modes that the engines here compute. */
typedef enum REFHIPDNN_INT {
  HIPDNN_POINTWISE_ADD = 2,
  HIPDNN_POINTWISE_IDENTITY = 23,
  HIPDNN_POINTWISE_MUL = 30,
  HIPDNN_POINTWISE_RELU_FWD = 34,
  HIPDNN_POINTWISE_SUB = 42,
  HIPDNN_POINTWISE_TANH_FWD = 47 /* the last one */
} hipdnnPointwiseMode_t;

/* Source: HipdnnBackendCallbackTypes.h @ 0f778817. */
typedef enum REFHIPDNN_INT {
  HIPDNN_SEV_INFO = 0,
  HIPDNN_SEV_WARN = 1,
  HIPDNN_SEV_ERROR = 2,
  HIPDNN_SEV_FATAL = 3,
  HIPDNN_SEV_OFF = 4
} hipdnnSeverity_t;
typedef enum REFHIPDNN_INT {
  HIPDNN_LOG_CALLBACK_MODE_SYNC = 0,
  HIPDNN_LOG_CALLBACK_MODE_ASYNC = 1
} hipdnnLogCallbackMode_t;
typedef void (*hipdnnCallback_t)(hipdnnSeverity_t, const char *);
typedef void *hipdnnUserLogCallbackHandle_t;
typedef void (*hipdnnUserLogCallback_t)(hipdnnUserLogCallbackHandle_t, hipdnnSeverity_t,
                                        const char *);

/* Source: HipdnnBackendPluginLoadingMode.h, HipdnnBackendPluginUnloadingMode.h @ 969801db. */
typedef enum REFHIPDNN_INT {
  HIPDNN_PLUGIN_LOADING_ADDITIVE = 0,
  HIPDNN_PLUGIN_LOADING_ABSOLUTE = 1
} hipdnnPluginLoadingMode_ext_t;
typedef enum REFHIPDNN_INT {
  HIPDNN_PLUGIN_UNLOADING_LAZY = 0,
  HIPDNN_PLUGIN_UNLOADING_EAGER = 1
} hipdnnPluginUnloadingMode_ext_t;

/* Flags of hipdnnBackendGetSerializedBinaryContents_ext. Source: hipdnn_backend.h @ 969801db. */
enum { HIPDNN_SERIALIZED_CONTENT_GRAPH = 1, HIPDNN_SERIALIZED_CONTENT_EXECUTION_PLAN = 2 };

/* Source: HipdnnBackendAttributeName.h @ 969801db. */
typedef enum REFHIPDNN_INT {
  HIPDNN_ATTR_ENGINEHEUR_MODE = 100,
  HIPDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH = 101,
  HIPDNN_ATTR_ENGINEHEUR_RESULTS = 102,
  HIPDNN_ATTR_ENGINEHEUR_FIND_FIRST_EXT = 105,
  HIPDNN_ATTR_ENGINECFG_ENGINE = 200,
  HIPDNN_ATTR_ENGINECFG_INTERMEDIATE_INFO = 201,
  HIPDNN_ATTR_ENGINECFG_KNOB_CHOICES = 202,
  HIPDNN_ATTR_ENGINECFG_WORKSPACE_SIZE = 203,
  HIPDNN_ATTR_EXECUTION_PLAN_HANDLE = 300,
  HIPDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG = 301,
  HIPDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE = 302,
  HIPDNN_ATTR_EXECUTION_PLAN_TENSOR_UIDS_EXT = 308,
  HIPDNN_ATTR_EXECUTION_PLAN_ENGINE_GLOBAL_INDEX_EXT = 309,
  HIPDNN_ATTR_EXECUTION_PLAN_IS_OVERRIDE_SHAPE_ENABLED_EXT = 310,
  HIPDNN_ATTR_KNOB_CHOICE_KNOB_TYPE = 500,
  HIPDNN_ATTR_KNOB_CHOICE_KNOB_VALUE = 501,
  HIPDNN_ATTR_OPERATIONGRAPH_HANDLE = 600,
  HIPDNN_ATTR_OPERATIONGRAPH_OPS = 601,
  HIPDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT = 602,
  HIPDNN_ATTR_OPERATIONGRAPH_COMPUTE_DATA_TYPE_EXT = 604,
  HIPDNN_ATTR_OPERATIONGRAPH_INTERMEDIATE_DATA_TYPE_EXT = 605,
  HIPDNN_ATTR_OPERATIONGRAPH_IO_DATA_TYPE_EXT = 606,
  HIPDNN_ATTR_OPERATIONGRAPH_PREFERRED_ENGINE_ID_EXT = 607,
  HIPDNN_ATTR_OPERATIONGRAPH_NAME_EXT = 608,
  HIPDNN_ATTR_OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED_EXT = 609,
  HIPDNN_ATTR_VARIANT_PACK_UNIQUE_IDS = 700,
  HIPDNN_ATTR_VARIANT_PACK_DATA_POINTERS = 701,
  HIPDNN_ATTR_VARIANT_PACK_INTERMEDIATES = 702,
  HIPDNN_ATTR_VARIANT_PACK_WORKSPACE = 703,
  HIPDNN_ATTR_KNOB_INFO_TYPE = 900,
  HIPDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE = 901,
  HIPDNN_ATTR_KNOB_INFO_MINIMUM_VALUE = 902,
  HIPDNN_ATTR_KNOB_INFO_STRIDE = 903,
  HIPDNN_ATTR_KNOB_INFO_DESCRIPTION = 904,
  HIPDNN_ATTR_KNOB_INFO_DEFAULT_VALUE = 905,
  HIPDNN_ATTR_KNOB_INFO_DEPRECATED = 906,
  HIPDNN_ATTR_KNOB_INFO_DEFAULT_VALUE_TYPE = 910,
  HIPDNN_ATTR_ENGINE_OPERATION_GRAPH = 1000,
  HIPDNN_ATTR_ENGINE_GLOBAL_INDEX = 1001,
  HIPDNN_ATTR_ENGINE_KNOB_INFO = 1002,
  HIPDNN_ATTR_ENGINE_BEHAVIOR_NOTE = 1005,
  HIPDNN_ATTR_ENGINE_NAME_EXT = 1008,
  HIPDNN_ATTR_TENSOR_UNIQUE_ID = 1300,
  HIPDNN_ATTR_TENSOR_NAME_EXT = 1301,
  HIPDNN_ATTR_TENSOR_DATA_TYPE = 1302,
  HIPDNN_ATTR_TENSOR_DIMENSIONS = 1303,
  HIPDNN_ATTR_TENSOR_STRIDES = 1304,
  HIPDNN_ATTR_TENSOR_IS_VIRTUAL = 1305,
  HIPDNN_ATTR_TENSOR_VALUE_EXT = 1306,
  HIPDNN_ATTR_TENSOR_IS_BY_VALUE = 1307,
  HIPDNN_ATTR_TENSOR_BYTE_ALIGNMENT = 1309,
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
  HIPDNN_ATTR_OPERATION_POINTWISE_IN_0_EXT = 2200,
  HIPDNN_ATTR_OPERATION_POINTWISE_OUT_0_EXT = 2201,
  HIPDNN_ATTR_OPERATION_POINTWISE_IN_1_EXT = 2202,
  HIPDNN_ATTR_OPERATION_POINTWISE_IN_2_EXT = 2203,
  HIPDNN_ATTR_POINTWISE_MODE = 2300,
  HIPDNN_ATTR_POINTWISE_RELU_LOWER_CLIP = 2301,
  HIPDNN_ATTR_POINTWISE_RELU_UPPER_CLIP = 2302,
  HIPDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE = 2303,
  HIPDNN_ATTR_POINTWISE_MATH_PREC = 2307
} hipdnnBackendAttributeName_t;

/* Source of the prototypes: hipdnn_backend.h @ 969801db. */

/* Handles. SetStream does not wait; work already enqueued stays on the old stream. */
hipdnnStatus_t hipdnnCreate(hipdnnHandle_t *handle);
hipdnnStatus_t hipdnnDestroy(hipdnnHandle_t handle);
hipdnnStatus_t hipdnnSetStream(hipdnnHandle_t handle, hipdnnRefStream_t stream);
hipdnnStatus_t hipdnnGetStream(hipdnnHandle_t handle, hipdnnRefStream_t *stream);

/* Descriptors. */
hipdnnStatus_t hipdnnBackendCreateDescriptor(hipdnnBackendDescriptorType_t type,
                                             hipdnnBackendDescriptor_t *descriptor);
hipdnnStatus_t hipdnnBackendDestroyDescriptor(hipdnnBackendDescriptor_t descriptor);
hipdnnStatus_t hipdnnBackendFinalize(hipdnnBackendDescriptor_t descriptor);
hipdnnStatus_t hipdnnBackendSetAttribute(hipdnnBackendDescriptor_t descriptor,
                                         hipdnnBackendAttributeName_t name,
                                         hipdnnBackendAttributeType_t type, int64_t count,
                                         const void *elements);
hipdnnStatus_t hipdnnBackendGetAttribute(hipdnnBackendDescriptor_t descriptor,
                                         hipdnnBackendAttributeName_t name,
                                         hipdnnBackendAttributeType_t type, int64_t requested,
                                         int64_t *count, void *elements);

/* Enqueues on the handle's stream; the variant pack may be destroyed afterwards, buffers may not.
 */
hipdnnStatus_t hipdnnBackendExecute(hipdnnHandle_t handle, hipdnnBackendDescriptor_t plan,
                                    hipdnnBackendDescriptor_t variant_pack);

/* Errors. The text is the calling thread's, and reading it clears it; peeking does not. */
const char *hipdnnGetErrorString(hipdnnStatus_t status);
void hipdnnGetLastErrorString(char *message, size_t size);
void hipdnnPeekLastErrorString_ext(char *message, size_t size);

/* Serialised graphs and plans: sizes first (a null buffer), then contents. */
hipdnnStatus_t hipdnnBackendCreateAndDeserializeGraph_ext(hipdnnBackendDescriptor_t *descriptor,
                                                          const uint8_t *bytes, size_t size);
hipdnnStatus_t hipdnnBackendGetSerializedBinaryGraph_ext(hipdnnBackendDescriptor_t descriptor,
                                                         size_t requested, size_t *size,
                                                         uint8_t *bytes);
hipdnnStatus_t hipdnnBackendGetSerializedExecutionPlan_ext(hipdnnBackendDescriptor_t descriptor,
                                                           size_t requested, size_t *size,
                                                           uint8_t *bytes);
hipdnnStatus_t
hipdnnBackendCreateAndDeserializeExecutionPlan_ext(hipdnnHandle_t handle,
                                                   hipdnnBackendDescriptor_t *descriptor,
                                                   const uint8_t *bytes, size_t size);
hipdnnStatus_t hipdnnBackendGetSerializedBinaryGraphAndPlan_ext(hipdnnBackendDescriptor_t graph,
                                                                hipdnnBackendDescriptor_t plan,
                                                                size_t requested, size_t *size,
                                                                uint8_t *bytes);
hipdnnStatus_t hipdnnBackendGetSerializedBinaryContents_ext(const uint8_t *bytes, size_t size,
                                                            int *flags);

/* Log. A callback without a user handle is refused; SEV_OFF removes the one of that user handle. */
void hipdnnLoggingCallback_ext(hipdnnSeverity_t severity, const char *message);
hipdnnStatus_t hipdnnSetUserLogCallback_ext(hipdnnUserLogCallback_t callback,
                                            hipdnnSeverity_t least, hipdnnLogCallbackMode_t mode,
                                            hipdnnUserLogCallbackHandle_t user);
hipdnnStatus_t hipdnnBackendSetGlobalLogLevel_ext(hipdnnSeverity_t level);
hipdnnStatus_t hipdnnBackendGetGlobalLogLevel_ext(hipdnnSeverity_t *level);

/* Engines and plugins. */
hipdnnStatus_t hipdnnSetEnginePluginPaths_ext(size_t count, const char *const *paths,
                                              hipdnnPluginLoadingMode_ext_t mode);
hipdnnStatus_t hipdnnSetPluginUnloadMode_ext(hipdnnPluginUnloadingMode_ext_t mode);
hipdnnStatus_t hipdnnGetLoadedEnginePluginPaths_ext(hipdnnHandle_t handle, size_t *count,
                                                    char **paths, size_t *longest);
hipdnnStatus_t hipdnnGetEngineCount_ext(hipdnnHandle_t handle, size_t *count);
hipdnnStatus_t hipdnnGetEngineInfo_ext(hipdnnHandle_t handle, size_t index, int64_t *id, char *name,
                                       size_t *name_size, char *plugin, size_t *plugin_size,
                                       char *version, size_t *version_size, char *type,
                                       size_t *type_size);
hipdnnStatus_t hipdnnGetEngineIdByName_ext(hipdnnHandle_t handle, const char *name, int64_t *id);

/* "MAJOR.MINOR.PATCH.TWEAK"; the string lives as long as the library. */
hipdnnStatus_t hipdnnGetVersion_ext(const char **version);
const char *hipdnnVersionString_ext(void);

#if defined(__cplusplus)
}
#endif
#endif
