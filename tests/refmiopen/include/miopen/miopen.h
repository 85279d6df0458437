/* MIOpen's C API, as far as the reference library and its clients need it.
 *
 * This header is written for this project. Names, signatures, enumerator numbers and structure
 * layouts equal those of MIOpen 3.5.1, so that a program compiled against either header is the same
 * at the ABI; header_abi_test holds them against a table taken from the real one. Unlike the real
 * header it is valid C as well as C++ and needs no HIP header: hipStream_t is declared here, in the
 * form that an identical declaration by HIP does not conflict with.
 *
 * Every function returns a status, miopenGetErrorString excepted. Handles and descriptors are
 * created by a Create call, belong to the caller and are given back by the matching Destroy call.
 * Where a function takes `const void *alpha`, it points to one float (one double for tensors of
 * doubles) in host memory.
 */
#ifndef MIOPEN_GUARD_MIOPEN_H_
#define MIOPEN_GUARD_MIOPEN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <miopen/config.h>
#include <miopen/export.h>

/* An opaque type and its pointer. C has no empty structure: the GNU extension is what the real
 * header relies on too. */
#define MIOPEN_DECLARE_OBJECT(name)                                                                \
  struct name {};                                                                                  \
  typedef struct name *name##_t;

/* A default argument where the language has them. */
#ifdef __cplusplus
#define MIOPEN_REF_DEFAULT(value) = value
#else
#define MIOPEN_REF_DEFAULT(value)
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ihipStream_t *hipStream_t;
typedef hipStream_t miopenAcceleratorQueue_t;

/* ---- status and handle ---- */

MIOPEN_DECLARE_OBJECT(miopenHandle)

typedef enum {
  miopenStatusSuccess = 0,
  miopenStatusNotInitialized = 1,
  miopenStatusInvalidValue = 2,
  miopenStatusBadParm = 3,
  miopenStatusAllocFailed = 4,
  miopenStatusInternalError = 5,
  miopenStatusNotImplemented = 6,
  miopenStatusUnknownError = 7,
  miopenStatusUnsupportedOp = 8,
  miopenStatusGpuOperationsSkipped = 9,
  miopenStatusVersionMismatch = 10,
} miopenStatus_t;

#ifdef MIOPEN_BETA_API
typedef enum {
  miopenF8RoundingModeStandard = 0,
  miopenF8RoundingModeStochastic = 1,
} miopenF8RoundingMode_t;
#endif

/* The name of a status, in static memory. Any value is accepted. */
MIOPEN_EXPORT const char *miopenGetErrorString(miopenStatus_t error);

/* Device memory is taken through these when miopenSetAllocator was called. Sizes in bytes. */
typedef void *(*miopenAllocatorFunction)(void *context, size_t sizeBytes);
typedef void (*miopenDeallocatorFunction)(void *context, void *memory);

/* Each of the three may be null. */
MIOPEN_EXPORT miopenStatus_t miopenGetVersion(size_t *major, size_t *minor, size_t *patch);

MIOPEN_EXPORT miopenStatus_t miopenCreate(miopenHandle_t *handle);
MIOPEN_EXPORT miopenStatus_t miopenCreateWithStream(miopenHandle_t *handle,
                                                    miopenAcceleratorQueue_t stream);
/* A null handle is accepted and ignored. */
MIOPEN_EXPORT miopenStatus_t miopenDestroy(miopenHandle_t handle);
MIOPEN_EXPORT miopenStatus_t miopenSetStream(miopenHandle_t handle,
                                             miopenAcceleratorQueue_t streamID);
MIOPEN_EXPORT miopenStatus_t miopenGetStream(miopenHandle_t handle,
                                             miopenAcceleratorQueue_t *streamID);
MIOPEN_EXPORT miopenStatus_t miopenSetAllocator(miopenHandle_t handle,
                                                miopenAllocatorFunction allocator,
                                                miopenDeallocatorFunction deallocator,
                                                void *allocatorContext);
/* Milliseconds that the last operation on this handle ran; 0 while profiling is off. */
MIOPEN_EXPORT miopenStatus_t miopenGetKernelTime(miopenHandle_t handle, float *time);
MIOPEN_EXPORT miopenStatus_t miopenEnableProfiling(miopenHandle_t handle, bool enable);

/* ---- descriptors and the values they hold ---- */

MIOPEN_DECLARE_OBJECT(miopenFusionOpDescriptor)
MIOPEN_DECLARE_OBJECT(miopenTensorDescriptor)
MIOPEN_DECLARE_OBJECT(miopenSeqTensorDescriptor)
MIOPEN_DECLARE_OBJECT(miopenConvolutionDescriptor)
MIOPEN_DECLARE_OBJECT(miopenPoolingDescriptor)
MIOPEN_DECLARE_OBJECT(miopenLRNDescriptor)
MIOPEN_DECLARE_OBJECT(miopenActivationDescriptor)
MIOPEN_DECLARE_OBJECT(miopenRNNDescriptor)
MIOPEN_DECLARE_OBJECT(miopenCTCLossDescriptor)
MIOPEN_DECLARE_OBJECT(miopenDropoutDescriptor)
MIOPEN_DECLARE_OBJECT(miopenReduceTensorDescriptor)
MIOPEN_DECLARE_OBJECT(miopenMhaDescriptor)
MIOPEN_DECLARE_OBJECT(miopenSoftmaxDescriptor)

typedef enum {
  miopenHalf = 0,
  miopenFloat = 1,
  miopenInt32 = 2,
  miopenInt8 = 3,
  miopenBFloat16 = 5,
  miopenDouble = 6,
  miopenFloat8_fnuz = 7,
  miopenBFloat8_fnuz = 8,
  miopenInt64 = 9,
} miopenDataType_t;

typedef enum {
  miopenTensorNCHW = 0,
  miopenTensorNHWC = 1,
  miopenTensorCHWN = 2,
  miopenTensorNCHWc4 = 3,
  miopenTensorNCHWc8 = 4,
  miopenTensorCHWNc4 = 5,
  miopenTensorCHWNc8 = 6,
  miopenTensorNCDHW = 7,
  miopenTensorNDHWC = 8,
} miopenTensorLayout_t;

typedef enum {
  miopenIndexUint8 = 0,
  miopenIndexUint16 = 1,
  miopenIndexUint32 = 2,
  miopenIndexUint64 = 3,
} miopenIndexType_t;

typedef enum {
  miopenTensorOpAdd = 0,
  miopenTensorOpMul = 1,
  miopenTensorOpMin = 2,
  miopenTensorOpMax = 3,
} miopenTensorOp_t;

typedef enum {
  miopenConvolution = 0,
  miopenTranspose = 1,
  miopenGroupConv = 2,
  miopenDepthwise = 3,
} miopenConvolutionMode_t;

typedef enum {
  miopenPaddingDefault = 0,
  miopenPaddingSame = 1,
  miopenPaddingValid = 2,
} miopenPaddingMode_t;

typedef enum {
  miopenPoolingMax = 0,
  miopenPoolingAverage = 1,
  miopenPoolingAverageInclusive = 2,
} miopenPoolingMode_t;

typedef enum {
  miopenPoolingWorkspaceIndexMask = 0,
  miopenPoolingWorkspaceIndexImage = 1,
} miopenPoolingWorkspaceIndexMode_t;

typedef enum {
  miopenBNPerActivation = 0,
  miopenBNSpatial = 1,
} miopenBatchNormMode_t;

typedef enum {
  miopenActivationPASTHRU = 0,
  miopenActivationLOGISTIC = 1,
  miopenActivationTANH = 2,
  miopenActivationRELU = 3,
  miopenActivationSOFTRELU = 4,
  miopenActivationABS = 5,
  miopenActivationPOWER = 6,
  miopenActivationCLIPPEDRELU = 7,
  miopenActivationLEAKYRELU = 8,
  miopenActivationELU = 9,
  miopenActivationCLAMP = 10,
} miopenActivationMode_t;

typedef enum {
  MIOPEN_SOFTMAX_FAST = 0,
  MIOPEN_SOFTMAX_ACCURATE = 1,
  MIOPEN_SOFTMAX_LOG = 2,
} miopenSoftmaxAlgorithm_t;

typedef enum {
  MIOPEN_SOFTMAX_MODE_INSTANCE = 0,
  MIOPEN_SOFTMAX_MODE_CHANNEL = 1,
} miopenSoftmaxMode_t;

typedef enum {
  MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL = 0,
  MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC = 1,
#ifdef MIOPEN_BETA_API
  MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE = 2,
#endif
} miopenConvolutionAttrib_t;

typedef enum {
  miopenConvolutionFindModeNormal = 1,
  miopenConvolutionFindModeFast = 2,
  miopenConvolutionFindModeHybrid = 3,
  miopenConvolutionFindModeDynamicHybrid = 5,
  miopenConvolutionFindModeTrustVerify = 6,
  miopenConvolutionFindModeTrustVerifyFull = 7,
  miopenConvolutionFindModeDefault = miopenConvolutionFindModeDynamicHybrid
} miopenConvolutionFindMode_t;

/* ---- tensors ----
 * Lengths and strides are in elements, ordered as the layout's default form (N, C, D, H, W)
 * whatever the order in memory. All are positive. */

MIOPEN_EXPORT miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t *tensorDesc);
MIOPEN_EXPORT miopenStatus_t miopenSet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t dataType, int n, int c,
                                                         int h, int w);
MIOPEN_EXPORT miopenStatus_t miopenSetNdTensorDescriptorWithLayout(
    miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType,
    miopenTensorLayout_t tensorLayout, const int *lens, int num_lens);
MIOPEN_EXPORT miopenStatus_t miopenSet4dTensorDescriptorEx(miopenTensorDescriptor_t tensorDesc,
                                                           miopenDataType_t dataType, int n, int c,
                                                           int h, int w, int nStride, int cStride,
                                                           int hStride, int wStride);
MIOPEN_EXPORT miopenStatus_t miopenGet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t *dataType, int *n, int *c,
                                                         int *h, int *w, int *nStride, int *cStride,
                                                         int *hStride, int *wStride);
/* Null strides mean packed. */
MIOPEN_EXPORT miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                       miopenDataType_t dataType, int nbDims,
                                                       const int *dimsA, const int *stridesA);
#ifdef MIOPEN_BETA_API
MIOPEN_EXPORT miopenStatus_t miopenSetTensorDescriptorV2(miopenTensorDescriptor_t tensorDesc,
                                                         miopenDataType_t dataType, int nbDims,
                                                         const size_t *dimsA,
                                                         const size_t *stridesA);
MIOPEN_EXPORT miopenStatus_t miopenSetTensorCastType(miopenTensorDescriptor_t tensorDesc,
                                                     miopenDataType_t cast_type);
#endif
/* The number of dimensions. */
MIOPEN_EXPORT miopenStatus_t miopenGetTensorDescriptorSize(miopenTensorDescriptor_t tensorDesc,
                                                           int *size);
/* Each of the three outputs may be null; the arrays hold one int for each dimension. */
MIOPEN_EXPORT miopenStatus_t miopenGetTensorDescriptor(miopenTensorDescriptor_t tensorDesc,
                                                       miopenDataType_t *dataType, int *dimsA,
                                                       int *stridesA);
MIOPEN_EXPORT miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensorDesc);
/* From the first element to the last one, gaps of the strides included. */
MIOPEN_EXPORT miopenStatus_t miopenGetTensorNumBytes(miopenTensorDescriptor_t tensorDesc,
                                                     size_t *numBytes);
MIOPEN_EXPORT miopenStatus_t
miopenCreateSeqTensorDescriptor(miopenSeqTensorDescriptor_t *tensorDesc);
MIOPEN_EXPORT miopenStatus_t
miopenDestroySeqTensorDescriptor(miopenSeqTensorDescriptor_t tensorDesc);

MIOPEN_EXPORT miopenStatus_t miopenOpTensor(miopenHandle_t handle, miopenTensorOp_t tensorOp,
                                            const void *alpha1,
                                            const miopenTensorDescriptor_t aDesc, const void *A,
                                            const void *alpha2,
                                            const miopenTensorDescriptor_t bDesc, const void *B,
                                            const void *beta, const miopenTensorDescriptor_t cDesc,
                                            void *C);
MIOPEN_EXPORT miopenStatus_t miopenSetTensor(miopenHandle_t handle,
                                             const miopenTensorDescriptor_t yDesc, void *y,
                                             const void *alpha);
MIOPEN_EXPORT miopenStatus_t miopenScaleTensor(miopenHandle_t handle,
                                               const miopenTensorDescriptor_t yDesc, void *y,
                                               const void *alpha);
MIOPEN_EXPORT miopenStatus_t miopenTransformTensor(miopenHandle_t handle, const void *alpha,
                                                   const miopenTensorDescriptor_t xDesc,
                                                   const void *x, const void *beta,
                                                   const miopenTensorDescriptor_t yDesc, void *y);

/* ---- convolution descriptor ---- */

MIOPEN_EXPORT miopenStatus_t
miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t *convDesc);
MIOPEN_EXPORT miopenStatus_t miopenInitConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc,
                                                             miopenConvolutionMode_t c_mode,
                                                             int pad_h, int pad_w, int stride_h,
                                                             int stride_w, int dilation_h,
                                                             int dilation_w);
/* The arrays hold spatialDim ints. */
MIOPEN_EXPORT miopenStatus_t miopenInitConvolutionNdDescriptor(
    miopenConvolutionDescriptor_t convDesc, int spatialDim, const int *padA, const int *strideA,
    const int *dilationA, miopenConvolutionMode_t c_mode);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionSpatialDim(miopenConvolutionDescriptor_t convDesc,
                                                            int *spatialDim);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc,
                                                            miopenConvolutionMode_t *c_mode,
                                                            int *pad_h, int *pad_w, int *stride_h,
                                                            int *stride_w, int *dilation_h,
                                                            int *dilation_w);
/* Writes requestedSpatialDim ints to each array. */
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionNdDescriptor(
    miopenConvolutionDescriptor_t convDesc, int requestedSpatialDim, int *spatialDim, int *padA,
    int *strideA, int *dilationA, miopenConvolutionMode_t *c_mode);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc,
                                                            int *groupCount);
MIOPEN_EXPORT miopenStatus_t miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc,
                                                            int groupCount);
MIOPEN_EXPORT miopenStatus_t
miopenSetTransposeConvOutputPadding(miopenConvolutionDescriptor_t convDesc, int adj_h, int adj_w);
MIOPEN_EXPORT miopenStatus_t miopenSetTransposeConvNdOutputPadding(
    miopenConvolutionDescriptor_t convDesc, int spatialDim, const int *adjA);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionForwardOutputDim(
    miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t inputTensorDesc,
    const miopenTensorDescriptor_t filterDesc, int *n, int *c, int *h, int *w);
/* The array must hold as many ints as the input tensor has dimensions. */
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionNdForwardOutputDim(
    miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t inputTensorDesc,
    const miopenTensorDescriptor_t filterDesc, int *nDim, int *outputTensorDimA);
MIOPEN_EXPORT miopenStatus_t
miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc);
MIOPEN_EXPORT miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc,
                                                           const miopenConvolutionAttrib_t attr,
                                                           int value);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc,
                                                           const miopenConvolutionAttrib_t attr,
                                                           int *value);
MIOPEN_EXPORT miopenStatus_t miopenSetConvolutionFindMode(miopenConvolutionDescriptor_t convDesc,
                                                          miopenConvolutionFindMode_t findMode);
MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionFindMode(
    const miopenConvolutionDescriptor_t convDesc, miopenConvolutionFindMode_t *findMode);

/* ---- convolution ---- */

typedef enum {
  miopenConvolutionFwdAlgoGEMM = 0,
  miopenConvolutionFwdAlgoDirect = 1,
  miopenConvolutionFwdAlgoFFT = 2,
  miopenConvolutionFwdAlgoWinograd = 3,
  miopenConvolutionFwdAlgoImplicitGEMM = 5,
} miopenConvFwdAlgorithm_t;

typedef enum {
  miopenConvolutionBwdWeightsAlgoGEMM = 0,
  miopenConvolutionBwdWeightsAlgoDirect = 1,
  miopenConvolutionBwdWeightsAlgoWinograd = 3,
  miopenConvolutionBwdWeightsAlgoImplicitGEMM = 5,
} miopenConvBwdWeightsAlgorithm_t;

typedef enum {
  miopenConvolutionBwdDataAlgoGEMM = 0,
  miopenConvolutionBwdDataAlgoDirect = 1,
  miopenConvolutionBwdDataAlgoFFT = 2,
  miopenConvolutionBwdDataAlgoWinograd = 3,
  miopenTransposeBwdDataAlgoGEMM = 4,
  miopenConvolutionBwdDataAlgoImplicitGEMM = 5,
} miopenConvBwdDataAlgorithm_t;

typedef enum {
  miopenConvolutionAlgoGEMM = 0,
  miopenConvolutionAlgoDirect = 1,
  miopenConvolutionAlgoFFT = 2,
  miopenConvolutionAlgoWinograd = 3,
  miopenConvolutionAlgoImplicitGEMM = 5,
} miopenConvAlgorithm_t;

/* One algorithm that a find call measured: milliseconds, and workspace bytes. */
typedef struct {
  union {
    miopenConvFwdAlgorithm_t fwd_algo;
    miopenConvBwdWeightsAlgorithm_t bwd_weights_algo;
    miopenConvBwdDataAlgorithm_t bwd_data_algo;
  };
  float time;
  size_t memory;
} miopenConvAlgoPerf_t;

/* One solution of immediate mode. A negative time is an estimate of the order only. */
typedef struct {
  float time;
  size_t workspace_size;
  uint64_t solution_id;
  miopenConvAlgorithm_t algorithm;
} miopenConvSolution_t;

MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolutionCount(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, size_t *solutionCount);
/* Fastest first. Writes at most maxSolutionCount solutions and their number. */
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, const size_t maxSolutionCount, size_t *solutionCount,
    miopenConvSolution_t *solutions);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetSolutionWorkspaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, const uint64_t solution_id, size_t *workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardCompileSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, const uint64_t solution_id);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardImmediate(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, void *y,
    void *workSpace, size_t workSpaceSize, const uint64_t solution_id);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardGetWorkSpaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t yDesc, size_t *workSpaceSize);
/* Runs the candidates, so y is overwritten; makes the found algorithms callable by
 * miopenConvolutionForward on this handle. */
MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionForwardAlgorithm(
    miopenHandle_t handle, const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, void *y,
    const int requestAlgoCount, int *returnedAlgoCount, miopenConvAlgoPerf_t *perfResults,
    void *workSpace, size_t workSpaceSize, bool exhaustiveSearch);
/* y = alpha * conv(x, w) + beta * y. Fails with miopenStatusUnknownError unless this algorithm was
 * found or compiled for this problem on this handle. */
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForward(
    miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, miopenConvFwdAlgorithm_t algo, const void *beta,
    const miopenTensorDescriptor_t yDesc, void *y, void *workSpace, size_t workSpaceSize);
/* y = alpha * (y + b) + beta * y */
MIOPEN_EXPORT miopenStatus_t miopenConvolutionForwardBias(miopenHandle_t handle, const void *alpha,
                                                          const miopenTensorDescriptor_t bDesc,
                                                          const void *b, const void *beta,
                                                          const miopenTensorDescriptor_t yDesc,
                                                          void *y);

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetSolutionCount(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dxDesc, size_t *solutionCount);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dxDesc, const size_t maxSolutionCount, size_t *solutionCount,
    miopenConvSolution_t *solutions);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetSolutionWorkspaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dxDesc, const uint64_t solution_id, size_t *workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataCompileSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dxDesc, const uint64_t solution_id);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataImmediate(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, void *dx,
    void *workSpace, size_t workSpaceSize, const uint64_t solution_id);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetWorkSpaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t wDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dxDesc, size_t *workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionBackwardDataAlgorithm(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, void *dx,
    const int requestAlgoCount, int *returnedAlgoCount, miopenConvAlgoPerf_t *perfResults,
    void *workSpace, size_t workSpaceSize, bool exhaustiveSearch);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardData(
    miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, miopenConvBwdDataAlgorithm_t algo,
    const void *beta, const miopenTensorDescriptor_t dxDesc, void *dx, void *workSpace,
    size_t workSpaceSize);

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionCount(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dwDesc, size_t *solutionCount);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dwDesc, const size_t maxSolutionCount, size_t *solutionCount,
    miopenConvSolution_t *solutions);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dwDesc, const uint64_t solution_id, size_t *workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsCompileSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dwDesc, const uint64_t solution_id);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsImmediate(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, void *dw,
    void *workSpace, size_t workSpaceSize, const uint64_t solution_id);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetWorkSpaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
    const miopenTensorDescriptor_t xDesc, const miopenConvolutionDescriptor_t convDesc,
    const miopenTensorDescriptor_t dwDesc, size_t *workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionBackwardWeightsAlgorithm(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, void *dw,
    const int requestAlgoCount, int *returnedAlgoCount, miopenConvAlgoPerf_t *perfResults,
    void *workSpace, size_t workSpaceSize, bool exhaustiveSearch);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeights(
    miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t dyDesc, const void *dy,
    const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenConvolutionDescriptor_t convDesc, miopenConvBwdWeightsAlgorithm_t algo,
    const void *beta, const miopenTensorDescriptor_t dwDesc, void *dw, void *workSpace,
    size_t workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardBias(miopenHandle_t handle, const void *alpha,
                                                           const miopenTensorDescriptor_t dyDesc,
                                                           const void *dy, const void *beta,
                                                           const miopenTensorDescriptor_t dbDesc,
                                                           void *db);

/* ---- pooling ---- */

MIOPEN_EXPORT miopenStatus_t miopenCreatePoolingDescriptor(miopenPoolingDescriptor_t *poolDesc);
MIOPEN_EXPORT miopenStatus_t miopenSetPoolingIndexType(miopenPoolingDescriptor_t poolDesc,
                                                       miopenIndexType_t index_type);
MIOPEN_EXPORT miopenStatus_t miopenGetPoolingIndexType(miopenPoolingDescriptor_t poolDesc,
                                                       miopenIndexType_t *index_type);
MIOPEN_EXPORT miopenStatus_t miopenSetPoolingWorkSpaceIndexMode(
    miopenPoolingDescriptor_t poolDesc, miopenPoolingWorkspaceIndexMode_t workspace_index);
MIOPEN_EXPORT miopenStatus_t miopenGetPoolingWorkSpaceIndexMode(
    miopenPoolingDescriptor_t poolDesc, miopenPoolingWorkspaceIndexMode_t *workspace_index);
MIOPEN_EXPORT miopenStatus_t miopenSet2dPoolingDescriptor(miopenPoolingDescriptor_t poolDesc,
                                                          miopenPoolingMode_t mode,
                                                          int windowHeight, int windowWidth,
                                                          int pad_h, int pad_w, int stride_h,
                                                          int stride_w);
MIOPEN_EXPORT miopenStatus_t miopenGet2dPoolingDescriptor(const miopenPoolingDescriptor_t poolDesc,
                                                          miopenPoolingMode_t *mode,
                                                          int *windowHeight, int *windowWidth,
                                                          int *pad_h, int *pad_w, int *stride_h,
                                                          int *stride_w);
MIOPEN_EXPORT miopenStatus_t miopenGetPoolingForwardOutputDim(
    const miopenPoolingDescriptor_t poolDesc, const miopenTensorDescriptor_t tensorDesc, int *n,
    int *c, int *h, int *w);
MIOPEN_EXPORT miopenStatus_t miopenSetNdPoolingDescriptor(miopenPoolingDescriptor_t poolDesc,
                                                          const miopenPoolingMode_t mode,
                                                          int nbDims, const int *windowDimA,
                                                          const int *padA, const int *stridesA);
MIOPEN_EXPORT miopenStatus_t miopenGetNdPoolingDescriptor(const miopenPoolingDescriptor_t poolDesc,
                                                          int nbDimsRequested,
                                                          miopenPoolingMode_t *mode, int *nbDims,
                                                          int *windowDimA, int *padA,
                                                          int *stridesA);
MIOPEN_EXPORT miopenStatus_t miopenGetPoolingNdForwardOutputDim(
    const miopenPoolingDescriptor_t poolDesc, const miopenTensorDescriptor_t tensorDesc, int dims,
    int *tensorDimArr);
MIOPEN_EXPORT miopenStatus_t miopenPoolingGetWorkSpaceSize(const miopenTensorDescriptor_t yDesc,
                                                           size_t *workSpaceSize);
MIOPEN_EXPORT miopenStatus_t
miopenPoolingGetWorkSpaceSizeV2(const miopenPoolingDescriptor_t poolDesc,
                                const miopenTensorDescriptor_t yDesc, size_t *workSpaceSize);
MIOPEN_EXPORT miopenStatus_t
miopenPoolingForward(miopenHandle_t handle, const miopenPoolingDescriptor_t poolDesc,
                     const void *alpha, const miopenTensorDescriptor_t xDesc, const void *x,
                     const void *beta, const miopenTensorDescriptor_t yDesc, void *y,
                     bool do_backward, void *workSpace, size_t workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenPoolingBackward(
    miopenHandle_t handle, const miopenPoolingDescriptor_t poolDesc, const void *alpha,
    const miopenTensorDescriptor_t yDesc, const void *y, const miopenTensorDescriptor_t dyDesc,
    const void *dy, const miopenTensorDescriptor_t xDesc, const void *x, const void *beta,
    const miopenTensorDescriptor_t dxDesc, void *dx, void *workSpace);
MIOPEN_EXPORT miopenStatus_t miopenDestroyPoolingDescriptor(miopenPoolingDescriptor_t poolDesc);

/* ---- batch normalisation ---- */

MIOPEN_EXPORT miopenStatus_t miopenDeriveBNTensorDescriptor(miopenTensorDescriptor_t derivedBnDesc,
                                                            const miopenTensorDescriptor_t xDesc,
                                                            miopenBatchNormMode_t bn_mode);
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationForwardTraining(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta,
    const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t yDesc,
    void *y, const miopenTensorDescriptor_t bnScaleBiasMeanVarDesc, void *bnScale, void *bnBias,
    double expAvgFactor, void *resultRunningMean, void *resultRunningVariance, double epsilon,
    void *resultSaveMean, void *resultSaveInvVariance);
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationForwardTraining_V2(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta,
    const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t yDesc,
    void *y, const miopenTensorDescriptor_t scaleDesc, const miopenTensorDescriptor_t biasVarDesc,
    const miopenTensorDescriptor_t savedMeanDesc, const miopenTensorDescriptor_t savedVarDesc,
    void *bnScale, void *bnBias, double expAvgFactor, void *resultRunningMean,
    void *resultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance);
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationForwardInference(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta,
    const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t yDesc,
    void *y, const miopenTensorDescriptor_t bnScaleBiasMeanVarDesc, void *bnScale, void *bnBias,
    void *estimatedMean, void *estimatedVariance, double epsilon);
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationForwardInference_V2(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta,
    const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t yDesc,
    void *y, const miopenTensorDescriptor_t scaleDesc, const miopenTensorDescriptor_t biasDesc,
    const miopenTensorDescriptor_t estMeanDesc, const miopenTensorDescriptor_t estVarianceDesc,
    void *bnScale, void *bnBias, void *estimatedMean, void *estimatedVariance, double epsilon);
MIOPEN_EXPORT miopenStatus_t miopenBatchNormalizationBackward(
    miopenHandle_t handle, miopenBatchNormMode_t bn_mode, const void *alphaDataDiff,
    const void *betaDataDiff, const void *alphaParamDiff, const void *betaParamDiff,
    const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t dyDesc,
    const void *dy, const miopenTensorDescriptor_t dxDesc, void *dx,
    const miopenTensorDescriptor_t bnScaleBiasDiffDesc, const void *bnScale,
    void *resultBnScaleDiff, void *resultBnBiasDiff, double epsilon, const void *savedMean,
    const void *savedInvVariance);

/* ---- activation and softmax ---- */

MIOPEN_EXPORT miopenStatus_t
miopenCreateActivationDescriptor(miopenActivationDescriptor_t *activDesc);
MIOPEN_EXPORT miopenStatus_t miopenSetActivationDescriptor(
    const miopenActivationDescriptor_t activDesc, miopenActivationMode_t mode, double activAlpha,
    double activBeta, double activGamma);
MIOPEN_EXPORT miopenStatus_t miopenGetActivationDescriptor(
    const miopenActivationDescriptor_t activDesc, miopenActivationMode_t *mode, double *activAlpha,
    double *activBeta, double *activGamma);
MIOPEN_EXPORT miopenStatus_t miopenActivationForward(miopenHandle_t handle,
                                                     const miopenActivationDescriptor_t activDesc,
                                                     const void *alpha,
                                                     const miopenTensorDescriptor_t xDesc,
                                                     const void *x, const void *beta,
                                                     const miopenTensorDescriptor_t yDesc, void *y);
MIOPEN_EXPORT miopenStatus_t miopenActivationBackward(
    miopenHandle_t handle, const miopenActivationDescriptor_t activDesc, const void *alpha,
    const miopenTensorDescriptor_t yDesc, const void *y, const miopenTensorDescriptor_t dyDesc,
    const void *dy, const miopenTensorDescriptor_t xDesc, const void *x, const void *beta,
    const miopenTensorDescriptor_t dxDesc, void *dx);
MIOPEN_EXPORT miopenStatus_t
miopenDestroyActivationDescriptor(miopenActivationDescriptor_t activDesc);

MIOPEN_EXPORT miopenStatus_t miopenSoftmaxForward(miopenHandle_t handle, const void *alpha,
                                                  const miopenTensorDescriptor_t xDesc,
                                                  const void *x, const void *beta,
                                                  const miopenTensorDescriptor_t yDesc, void *y);
MIOPEN_EXPORT miopenStatus_t miopenSoftmaxBackward(miopenHandle_t handle, const void *alpha,
                                                   const miopenTensorDescriptor_t yDesc,
                                                   const void *y,
                                                   const miopenTensorDescriptor_t dyDesc,
                                                   const void *dy, const void *beta,
                                                   const miopenTensorDescriptor_t dxDesc, void *dx);
MIOPEN_EXPORT miopenStatus_t miopenSoftmaxForward_V2(miopenHandle_t handle, const void *alpha,
                                                     const miopenTensorDescriptor_t xDesc,
                                                     const void *x, const void *beta,
                                                     const miopenTensorDescriptor_t yDesc, void *y,
                                                     miopenSoftmaxAlgorithm_t algorithm,
                                                     miopenSoftmaxMode_t mode);
MIOPEN_EXPORT miopenStatus_t miopenSoftmaxBackward_V2(
    miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t yDesc, const void *y,
    const miopenTensorDescriptor_t dyDesc, const void *dy, const void *beta,
    const miopenTensorDescriptor_t dxDesc, void *dx, miopenSoftmaxAlgorithm_t algorithm,
    miopenSoftmaxMode_t mode);
MIOPEN_EXPORT miopenStatus_t miopenCreateSoftmaxDescriptor(miopenSoftmaxDescriptor_t *softmaxDesc);
MIOPEN_EXPORT miopenStatus_t miopenSetSoftmaxDescriptor(miopenSoftmaxDescriptor_t softmaxDesc,
                                                        float alpha, float beta,
                                                        miopenSoftmaxAlgorithm_t algorithm,
                                                        miopenSoftmaxMode_t mode);
MIOPEN_EXPORT miopenStatus_t miopenGetSoftmaxDescriptor(const miopenSoftmaxDescriptor_t softmaxDesc,
                                                        float *alpha, float *beta,
                                                        miopenSoftmaxAlgorithm_t *algorithm,
                                                        miopenSoftmaxMode_t *mode);

/* ---- fusion ---- */

MIOPEN_DECLARE_OBJECT(miopenFusionPlanDescriptor)
MIOPEN_DECLARE_OBJECT(miopenOperatorDescriptor)
MIOPEN_DECLARE_OBJECT(miopenOperatorArgs)

typedef enum {
  miopenVerticalFusion = 0,
  miopenHorizontalFusion = 1,
} miopenFusionDirection_t;

MIOPEN_EXPORT miopenStatus_t miopenCreateFusionPlan(miopenFusionPlanDescriptor_t *fusePlanDesc,
                                                    const miopenFusionDirection_t fuseDirection,
                                                    const miopenTensorDescriptor_t inputDesc);
MIOPEN_EXPORT miopenStatus_t miopenDestroyFusionPlan(miopenFusionPlanDescriptor_t fusePlanDesc);
/* Chooses the kernel; miopenStatusUnsupportedOp when there is none for the plan. */
MIOPEN_EXPORT miopenStatus_t miopenCompileFusionPlan(miopenHandle_t handle,
                                                     miopenFusionPlanDescriptor_t fusePlanDesc);
/* Operations are numbered in the order in which they were added. They belong to the plan. */
MIOPEN_EXPORT miopenStatus_t miopenFusionPlanGetOp(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                   const int op_idx,
                                                   miopenFusionOpDescriptor_t *op);
MIOPEN_EXPORT miopenStatus_t
miopenFusionPlanGetWorkSpaceSize(miopenHandle_t handle, miopenFusionPlanDescriptor_t fusePlanDesc,
                                 size_t *workSpaceSize, miopenConvFwdAlgorithm_t algo);
MIOPEN_EXPORT miopenStatus_t miopenFusionPlanConvolutionGetAlgo(
    miopenFusionPlanDescriptor_t fusePlanDesc, const int requestAlgoCount, int *returnedAlgoCount,
    miopenConvFwdAlgorithm_t *returnedAlgos);
MIOPEN_EXPORT miopenStatus_t miopenFusionPlanConvolutionSetAlgo(
    miopenFusionPlanDescriptor_t fusePlanDesc, miopenConvFwdAlgorithm_t algo);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpConvForward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                       miopenFusionOpDescriptor_t *convOp,
                                                       miopenConvolutionDescriptor_t convDesc,
                                                       const miopenTensorDescriptor_t wDesc);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpActivationForward(
    miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t *activFwdOp,
    miopenActivationMode_t mode);
MIOPEN_EXPORT miopenStatus_t miopenCreateOpBiasForward(miopenFusionPlanDescriptor_t fusePlanDesc,
                                                       miopenFusionOpDescriptor_t *biasOp,
                                                       const miopenTensorDescriptor_t bDesc);
MIOPEN_EXPORT miopenStatus_t miopenCreateOperatorArgs(miopenOperatorArgs_t *args);
MIOPEN_EXPORT miopenStatus_t miopenDestroyOperatorArgs(miopenOperatorArgs_t args);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsConvForward(miopenOperatorArgs_t args,
                                                        const miopenFusionOpDescriptor_t convOp,
                                                        const void *alpha, const void *beta,
                                                        const void *w);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsActivForward(
    miopenOperatorArgs_t args, const miopenFusionOpDescriptor_t activFwdOp, const void *alpha,
    const void *beta, double activAlpha, double activBeta, double activGamma);
MIOPEN_EXPORT miopenStatus_t miopenSetOpArgsBiasForward(miopenOperatorArgs_t args,
                                                        const miopenFusionOpDescriptor_t biasOp,
                                                        const void *alpha, const void *beta,
                                                        const void *bias);
MIOPEN_EXPORT miopenStatus_t miopenExecuteFusionPlan(
    const miopenHandle_t handle, const miopenFusionPlanDescriptor_t fusePlanDesc,
    const miopenTensorDescriptor_t inputDesc, const void *input,
    const miopenTensorDescriptor_t outputDesc, void *output, miopenOperatorArgs_t args);
MIOPEN_EXPORT miopenStatus_t miopenExecuteFusionPlan_v2(
    const miopenHandle_t handle, const miopenFusionPlanDescriptor_t fusePlanDesc,
    const miopenTensorDescriptor_t inputDesc, const void *input,
    const miopenTensorDescriptor_t outputDesc, void *output, miopenOperatorArgs_t args,
    void *workspace, size_t workspaceSize);
/* y = relu(alpha1 * conv(x, w) + alpha2 * z + bias); alpha1 and alpha2 are floats. */
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBiasActivationForward(
    miopenHandle_t handle, const void *alpha1, const miopenTensorDescriptor_t xDesc, const void *x,
    const miopenTensorDescriptor_t wDesc, const void *w,
    const miopenConvolutionDescriptor_t convDesc, miopenConvFwdAlgorithm_t algo, void *workspace,
    size_t workspaceSizeInBytes, const void *alpha2, const miopenTensorDescriptor_t zDesc,
    const void *z, const miopenTensorDescriptor_t biasDesc, const void *bias,
    const miopenActivationDescriptor_t activationDesc, const miopenTensorDescriptor_t yDesc,
    void *y);

/* ---- find 2.0 ---- */

MIOPEN_DECLARE_OBJECT(miopenProblem)

typedef enum {
  miopenProblemDirectionForward = 0,
  miopenProblemDirectionBackward = 1,
  miopenProblemDirectionBackwardWeights = 2,
#ifdef MIOPEN_BETA_API
  miopenProblemDirectionInference = 4,
#endif
} miopenProblemDirection_t;

typedef enum {
  miopenTensorArgumentIdInvalid = 0,
  miopenTensorConvolutionX = 1,
  miopenTensorConvolutionW = 2,
  miopenTensorConvolutionY = 3,
  miopenTensorMhaK = 4,
  miopenTensorMhaQ = 5,
  miopenTensorMhaV = 6,
  miopenTensorMhaDescaleK = 7,
  miopenTensorMhaDescaleQ = 8,
  miopenTensorMhaDescaleV = 9,
  miopenTensorMhaDescaleS = 10,
  miopenTensorMhaScaleS = 11,
  miopenTensorMhaScaleO = 12,
  miopenTensorMhaDropoutProbability = 13,
  miopenTensorMhaDropoutSeed = 14,
  miopenTensorMhaDropoutOffset = 15,
  miopenTensorMhaO = 16,
  miopenTensorMhaAmaxO = 17,
  miopenTensorMhaAmaxS = 18,
  miopenTensorMhaM = 19,
  miopenTensorMhaZInv = 20,
  miopenTensorMhaDO = 21,
  miopenTensorMhaDescaleO = 22,
  miopenTensorMhaDescaleDO = 23,
  miopenTensorMhaDescaleDS = 24,
  miopenTensorMhaScaleDS = 25,
  miopenTensorMhaScaleDQ = 26,
  miopenTensorMhaScaleDK = 27,
  miopenTensorMhaScaleDV = 28,
  miopenTensorMhaDQ = 29,
  miopenTensorMhaDK = 30,
  miopenTensorMhaDV = 31,
  miopenTensorMhaAmaxDQ = 32,
  miopenTensorMhaAmaxDK = 33,
  miopenTensorMhaAmaxDV = 34,
  miopenTensorMhaAmaxDS = 35,
  miopenTensorMhaBias = 36,
#ifdef MIOPEN_BETA_API
  miopenTensorActivationX = 37,
  miopenTensorActivationY = 38,
  miopenTensorActivationDX = 39,
  miopenTensorActivationDY = 40,
  miopenTensorBiasX = 41,
  miopenTensorBiasY = 42,
  miopenTensorBias = 43,
  miopenTensorSoftmaxX = 44,
  miopenTensorSoftmaxY = 45,
  miopenTensorSoftmaxDX = 46,
  miopenTensorSoftmaxDY = 47,
  miopenTensorBatchnormX = 48,
  miopenTensorBatchnormY = 49,
  miopenTensorBatchnormRunningMean = 50,
  miopenTensorBatchnormRunningVariance = 51,
  miopenTensorBatchnormSavedMean = 52,
  miopenTensorBatchnormSavedVariance = 53,
  miopenTensorBatchnormScale = 54,
  miopenTensorBatchnormScaleDiff = 55,
  miopenTensorBatchnormEstimatedMean = 56,
  miopenTensorBatchnormEstimatedVariance = 57,
  miopenTensorBatchnormBias = 58,
  miopenTensorBatchnormBiasDiff = 59,
  miopenTensorBatchnormDX = 60,
  miopenTensorBatchnormDY = 61,
#endif
  miopenTensorArgumentIsScalar = 1U << 31,
  miopenTensorMhaMask = miopenTensorArgumentIsScalar | 1,
#ifdef MIOPEN_BETA_API
  miopenScalarBatchnormExpAvgFactor = miopenTensorArgumentIsScalar | 2,
  miopenScalarBatchnormEpsilon = miopenTensorArgumentIsScalar | 3,
#endif
} miopenTensorArgumentId_t;

typedef enum {
  miopenFindResultsOrderByTime = 0,
  miopenFindResultsOrderByWorkspaceSize = 1,
} miopenFindResultsOrder_t;

MIOPEN_EXPORT miopenStatus_t miopenCreateConvProblem(miopenProblem_t *problem,
                                                     miopenConvolutionDescriptor_t operatorDesc,
                                                     miopenProblemDirection_t direction);
MIOPEN_EXPORT miopenStatus_t miopenDestroyProblem(miopenProblem_t problem);
MIOPEN_EXPORT miopenStatus_t
miopenSetProblemTensorDescriptor(miopenProblem_t problem, miopenTensorArgumentId_t id,
                                 const miopenTensorDescriptor_t descriptor);

MIOPEN_DECLARE_OBJECT(miopenFindOptions)

MIOPEN_EXPORT miopenStatus_t miopenCreateFindOptions(miopenFindOptions_t *options);
MIOPEN_EXPORT miopenStatus_t miopenDestroyFindOptions(miopenFindOptions_t options);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionTuning(miopenFindOptions_t options, int value);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionResultsOrder(miopenFindOptions_t options,
                                                             miopenFindResultsOrder_t value);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionWorkspaceLimit(miopenFindOptions_t options,
                                                               size_t value);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionPreallocatedWorkspace(miopenFindOptions_t options,
                                                                      void *buffer, size_t size);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionPreallocatedTensor(miopenFindOptions_t options,
                                                                   miopenTensorArgumentId_t id,
                                                                   void *buffer);
MIOPEN_EXPORT miopenStatus_t miopenSetFindOptionAttachBinaries(miopenFindOptions_t options,
                                                               unsigned attach);

MIOPEN_DECLARE_OBJECT(miopenSolution)

MIOPEN_EXPORT miopenStatus_t miopenFindSolutions(miopenHandle_t handle, miopenProblem_t problem,
                                                 miopenFindOptions_t options,
                                                 miopenSolution_t *solutions, size_t *numSolutions,
                                                 size_t maxSolutions);

/* The descriptor may be null when the problem's own is meant. */
struct miopenTensorArgument_t {
  miopenTensorArgumentId_t id;
  miopenTensorDescriptor_t *descriptor;
  void *buffer;
};
typedef struct miopenTensorArgument_t miopenTensorArgument_t;

MIOPEN_EXPORT miopenStatus_t miopenRunSolution(miopenHandle_t handle, miopenSolution_t solution,
                                               size_t nInputs,
                                               const miopenTensorArgument_t *tensors,
                                               void *workspace, size_t workspaceSize);
MIOPEN_EXPORT miopenStatus_t miopenDestroySolution(miopenSolution_t solution);
MIOPEN_EXPORT miopenStatus_t miopenLoadSolution(miopenSolution_t *solution, const char *data,
                                                size_t size);
MIOPEN_EXPORT miopenStatus_t miopenSaveSolution(miopenSolution_t solution, char *data);
MIOPEN_EXPORT miopenStatus_t miopenGetSolutionSize(miopenSolution_t solution, size_t *size);
MIOPEN_EXPORT miopenStatus_t miopenGetSolutionWorkspaceSize(miopenSolution_t solution,
                                                            size_t *workspaceSize);
MIOPEN_EXPORT miopenStatus_t miopenGetSolutionTime(miopenSolution_t solution, float *time);
MIOPEN_EXPORT miopenStatus_t miopenGetSolutionSolverId(miopenSolution_t solution,
                                                       uint64_t *solverId);
MIOPEN_EXPORT miopenStatus_t miopenGetSolverIdConvAlgorithm(uint64_t solverId,
                                                            miopenConvAlgorithm_t *result);

#ifdef MIOPEN_BETA_API
MIOPEN_EXPORT miopenStatus_t
miopenCreateActivationProblem(miopenProblem_t *problem, miopenActivationDescriptor_t operatorDesc,
                              miopenProblemDirection_t direction);
MIOPEN_EXPORT miopenStatus_t miopenFuseProblems(miopenProblem_t problem1, miopenProblem_t problem2);
MIOPEN_EXPORT miopenStatus_t miopenCreateBiasProblem(miopenProblem_t *problem,
                                                     miopenProblemDirection_t direction);
MIOPEN_EXPORT miopenStatus_t miopenCreateSoftmaxProblem(miopenProblem_t *problem,
                                                        miopenSoftmaxDescriptor_t operatorDesc,
                                                        miopenProblemDirection_t direction);
#endif

/* ---- further beta functions ---- */

#ifdef MIOPEN_BETA_API
MIOPEN_EXPORT miopenStatus_t miopenGLUForward(miopenHandle_t handle,
                                              const miopenTensorDescriptor_t inputDesc,
                                              const void *input,
                                              const miopenTensorDescriptor_t outputDesc,
                                              void *output, const uint32_t dim);
MIOPEN_EXPORT miopenStatus_t
miopenKthvalueForward(miopenHandle_t handle, miopenTensorDescriptor_t inputDesc, const void *input,
                      miopenTensorDescriptor_t outputDesc, void *output,
                      miopenTensorDescriptor_t indicesDesc, size_t *indices, size_t k,
                      int32_t dim MIOPEN_REF_DEFAULT(-1), bool keepDim MIOPEN_REF_DEFAULT(false));
#endif

/* ---- tuning (since 3.5) ---- */

typedef enum {
  miopenTuningPolicyNone = 1,
  miopenTuningPolicyDbUpdate = 2,
  miopenTuningPolicySearch = 3,
  miopenTuningPolicySearchDbUpdate = 4,
  miopenTuningPolicyDbClean = 5,
} miopenTuningPolicy_t;

MIOPEN_EXPORT miopenStatus_t miopenSetTuningPolicy(miopenHandle_t handle,
                                                   miopenTuningPolicy_t newValue);
MIOPEN_EXPORT miopenStatus_t miopenGetTuningPolicy(miopenHandle_t handle,
                                                   miopenTuningPolicy_t *value);

#ifdef __cplusplus
}
#endif

#endif /* MIOPEN_GUARD_MIOPEN_H_ */
