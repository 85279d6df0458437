/* A MIOpen that says on standard output what it is asked for. */
#include "hooked.h"

#include <stdio.h>
#include <string.h>

static char the_handle;

status_t miopenCreate(handle_t *handle) {
  *handle = (handle_t)&the_handle;
  return puts("native create") < 0;
}

status_t miopenCreateWithStream(handle_t *handle, stream_t stream) {
  *handle = (handle_t)&the_handle;
  return printf("native create with stream %p\n", (void *)stream) < 0;
}

status_t miopenDestroy(handle_t handle) {
  return handle == (handle_t)&the_handle ? puts("native destroy") < 0 : bad_parameter;
}

status_t miopenSetStream(handle_t handle, stream_t stream) {
  (void)handle;
  return printf("native stream %p\n", (void *)stream) < 0;
}

status_t miopenEnableProfiling(handle_t handle, bool enable) {
  (void)handle;
  return printf("native profiling %d\n", enable) < 0;
}

status_t miopenGetKernelTime(handle_t handle, float *time) {
  (void)handle;
  *time = 0.25f;
  return success;
}

const char *miopenGetErrorString(status_t status) {
  return status == unknown ? "native text of 7" : "native text";
}

status_t miopenConvolutionForward(handle_t handle, const void *alpha, const tensor_t x_desc,
                                  const void *x, const tensor_t w_desc, const void *w,
                                  const convolution_t convolution, algorithm_t algorithm,
                                  const void *beta, const tensor_t y_desc, void *y, void *workspace,
                                  size_t workspace_bytes) {
  (void)handle, (void)alpha, (void)beta, (void)x_desc, (void)w_desc, (void)y_desc,
      (void)convolution;
  printf("native convolution %p %p %p algorithm %d workspace %p %zu\n", x, w, y, algorithm,
         workspace, workspace_bytes);
  return unknown;
}

status_t miopenGetTensorDescriptorSize(tensor_t tensor, int *rank) {
  *rank = tensor->rank;
  return tensor->rank < 0 ? bad_parameter : success;
}

status_t miopenGetTensorDescriptor(tensor_t tensor, type_t *type, int *dims, int *strides) {
  *type = tensor->type;
  memcpy(dims, tensor->dims, (size_t)tensor->rank * sizeof *dims);
  memcpy(strides, tensor->strides, (size_t)tensor->rank * sizeof *strides);
  return success;
}

status_t miopenGetTensorNumBytes(tensor_t tensor, size_t *bytes) {
  *bytes = tensor->bytes;
  return success;
}

#ifndef WITHOUT_SPATIAL_DIM
status_t miopenGetConvolutionSpatialDim(convolution_t convolution, int *spatial) {
  *spatial = convolution->spatial;
  return success;
}
#endif

status_t miopenGetConvolutionNdDescriptor(convolution_t convolution, int requested, int *spatial,
                                          int *pads, int *strides, int *dilations,
                                          conv_mode_t *mode) {
  if (requested > convolution->spatial)
    return unknown;
  *spatial = convolution->spatial;
  memcpy(pads, convolution->pads, (size_t)requested * sizeof *pads);
  memcpy(strides, convolution->strides, (size_t)requested * sizeof *strides);
  memcpy(dilations, convolution->dilations, (size_t)requested * sizeof *dilations);
  *mode = convolution->mode;
  return success;
}

status_t miopenGetConvolutionGroupCount(convolution_t convolution, int *groups) {
  *groups = convolution->groups;
  return success;
}

status_t miopenGetConvolutionAttribute(const convolution_t convolution, const attribute_t attribute,
                                       int *value) {
  *value = convolution->attributes[attribute];
  return success;
}
