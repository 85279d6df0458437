/* The hooked part of MIOpen's API, with types of its own as miopen.h has. */
#ifndef HOOKED_H_
#define HOOKED_H_

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct handle *handle_t;
typedef struct tensor *tensor_t;
typedef struct convolution *convolution_t;
typedef struct stream *stream_t;
typedef enum { success = 0, bad_parameter = 3, unknown = 7 } status_t;
typedef enum { half = 0, single = 1, wide = 6 } type_t;
typedef enum { gemm = 0, direct = 1 } algorithm_t;
typedef enum { cross_correlation = 0, transpose = 1 } conv_mode_t;
typedef enum { fp16_alternative = 0, deterministic = 1, fp8_rounding = 2 } attribute_t;

status_t miopenCreate(handle_t *handle);
status_t miopenCreateWithStream(handle_t *handle, stream_t stream);
status_t miopenDestroy(handle_t handle);
status_t miopenSetStream(handle_t handle, stream_t stream);
status_t miopenEnableProfiling(handle_t handle, bool enable);
status_t miopenGetKernelTime(handle_t handle, float *time);
const char *miopenGetErrorString(status_t status);
status_t miopenConvolutionForward(handle_t handle, const void *alpha, const tensor_t x_desc,
                                  const void *x, const tensor_t w_desc, const void *w,
                                  const convolution_t convolution, algorithm_t algorithm,
                                  const void *beta, const tensor_t y_desc, void *y, void *workspace,
                                  size_t workspace_bytes);
status_t miopenGetTensorDescriptorSize(tensor_t tensor, int *rank);
status_t miopenGetTensorDescriptor(tensor_t tensor, type_t *type, int *dims, int *strides);
status_t miopenGetTensorNumBytes(tensor_t tensor, size_t *bytes);
status_t miopenGetConvolutionSpatialDim(convolution_t convolution, int *spatial);
status_t miopenGetConvolutionNdDescriptor(convolution_t convolution, int requested, int *spatial,
                                          int *pads, int *strides, int *dilations,
                                          conv_mode_t *mode);
status_t miopenGetConvolutionGroupCount(convolution_t convolution, int *groups);
status_t miopenGetConvolutionAttribute(const convolution_t convolution, const attribute_t attribute,
                                       int *value);

/* Not of MIOpen: what the tests give to the functions above. */
struct tensor {
  type_t type;
  int rank, dims[8], strides[8];
  size_t bytes;
};
struct convolution {
  int spatial, pads[6], strides[6], dilations[6], groups, attributes[3];
  conv_mode_t mode;
};

#ifdef __cplusplus
}
#endif

#endif
