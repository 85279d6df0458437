// Entry points for convolution descriptors.
#include <miopen/miopen.h>

#include <algorithm>
#include <vector>

#include "convolution.hpp"
#include "errors.hpp"

using miopen::ConvolutionDescriptor;
using miopen::deref;
using miopen::Throw;
using miopen::Try;

namespace {

std::vector<int> Values(const int *values, int count) {
  return std::vector<int>(&deref(values), values + count);
}

const ConvolutionDescriptor &TwoDimensional(miopenConvolutionDescriptor_t convDesc) {
  const ConvolutionDescriptor &conv = deref(convDesc);
  if (conv.SpatialDimensions() != 2)
    Throw(miopenStatusUnknownError, "this function is for two spatial dimensions only");
  return conv;
}

} // namespace

extern "C" {

MIOPEN_EXPORT miopenStatus_t
miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t *convDesc) {
  return Try(__func__, [&] {
    auto &created = deref(convDesc); // first: an assignment would allocate before it looks at this
    created = new ConvolutionDescriptor();
  });
}

MIOPEN_EXPORT miopenStatus_t
miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc) {
  return Try(__func__, [&] { delete static_cast<ConvolutionDescriptor *>(convDesc); });
}

MIOPEN_EXPORT miopenStatus_t miopenInitConvolutionNdDescriptor(
    miopenConvolutionDescriptor_t convDesc, int spatialDim, const int *padA, const int *strideA,
    const int *dilationA, miopenConvolutionMode_t c_mode) {
  return Try(__func__, [&] {
    if (spatialDim < 1)
      Throw(miopenStatusBadParm, "a convolution has at least one spatial dimension");
    deref(convDesc) =
        ConvolutionDescriptor(c_mode, Values(padA, spatialDim), Values(strideA, spatialDim),
                              Values(dilationA, spatialDim));
  });
}

// Through the exported name, like the real library's internal callers.
MIOPEN_EXPORT miopenStatus_t miopenInitConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc,
                                                             miopenConvolutionMode_t c_mode,
                                                             int pad_h, int pad_w, int stride_h,
                                                             int stride_w, int dilation_h,
                                                             int dilation_w) {
  miopen::LogEntry(__func__);
  const int pads[] = {pad_h, pad_w};
  const int strides[] = {stride_h, stride_w};
  const int dilations[] = {dilation_h, dilation_w};
  return miopenInitConvolutionNdDescriptor(convDesc, 2, pads, strides, dilations, c_mode);
}

MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionSpatialDim(miopenConvolutionDescriptor_t convDesc,
                                                            int *spatialDim) {
  return Try(__func__,
             [&] { deref(spatialDim) = static_cast<int>(deref(convDesc).SpatialDimensions()); });
}

MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc,
                                                            miopenConvolutionMode_t *c_mode,
                                                            int *pad_h, int *pad_w, int *stride_h,
                                                            int *stride_w, int *dilation_h,
                                                            int *dilation_w) {
  return Try(__func__, [&] {
    const ConvolutionDescriptor &conv = TwoDimensional(convDesc);
    deref(c_mode) = conv.Mode();
    deref(pad_h) = conv.Pads()[0];
    deref(pad_w) = conv.Pads()[1];
    deref(stride_h) = conv.Strides()[0];
    deref(stride_w) = conv.Strides()[1];
    deref(dilation_h) = conv.Dilations()[0];
    deref(dilation_w) = conv.Dilations()[1];
  });
}

MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionNdDescriptor(
    miopenConvolutionDescriptor_t convDesc, int requestedSpatialDim, int *spatialDim, int *padA,
    int *strideA, int *dilationA, miopenConvolutionMode_t *c_mode) {
  return Try(__func__, [&] {
    const ConvolutionDescriptor &conv = deref(convDesc);
    if (requestedSpatialDim > static_cast<int>(conv.SpatialDimensions()))
      Throw(miopenStatusUnknownError, "the convolution has fewer spatial dimensions");
    if (spatialDim != nullptr)
      *spatialDim = static_cast<int>(conv.SpatialDimensions());
    std::copy_n(conv.Pads().begin(), requestedSpatialDim, &deref(padA));
    std::copy_n(conv.Strides().begin(), requestedSpatialDim, &deref(strideA));
    std::copy_n(conv.Dilations().begin(), requestedSpatialDim, &deref(dilationA));
    if (c_mode != nullptr)
      *c_mode = conv.Mode();
  });
}

MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc,
                                                            int *groupCount) {
  return Try(__func__, [&] { deref(groupCount) = deref(convDesc).GroupCount(); });
}

MIOPEN_EXPORT miopenStatus_t miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc,
                                                            int groupCount) {
  return Try(__func__, [&] { deref(convDesc).SetGroupCount(groupCount); });
}

MIOPEN_EXPORT miopenStatus_t
miopenSetTransposeConvOutputPadding(miopenConvolutionDescriptor_t convDesc, int adj_h, int adj_w) {
  return Try(__func__, [&] { deref(convDesc).SetTransposeOutputPads({adj_h, adj_w}); });
}

MIOPEN_EXPORT miopenStatus_t miopenSetTransposeConvNdOutputPadding(
    miopenConvolutionDescriptor_t convDesc, int spatialDim, const int *adjA) {
  return Try(__func__, [&] {
    ConvolutionDescriptor &conv = deref(convDesc);
    if (spatialDim != static_cast<int>(conv.SpatialDimensions()))
      Throw(miopenStatusUnknownError, "the number of spatial dimensions does not match");
    conv.SetTransposeOutputPads(Values(adjA, spatialDim));
  });
}

MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionNdForwardOutputDim(
    miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t inputTensorDesc,
    const miopenTensorDescriptor_t filterDesc, int *nDim, int *outputTensorDimA) {
  return Try(__func__, [&] {
    const std::vector<std::size_t> lengths =
        deref(convDesc).ForwardOutputLengths(deref(inputTensorDesc), deref(filterDesc));
    deref(nDim) = static_cast<int>(lengths.size());
    std::transform(lengths.begin(), lengths.end(), &deref(outputTensorDimA),
                   [](std::size_t v) { return static_cast<int>(v); });
  });
}

MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionForwardOutputDim(
    miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t inputTensorDesc,
    const miopenTensorDescriptor_t filterDesc, int *n, int *c, int *h, int *w) {
  return Try(__func__, [&] {
    const std::vector<std::size_t> lengths =
        TwoDimensional(convDesc).ForwardOutputLengths(deref(inputTensorDesc), deref(filterDesc));
    int *const out[] = {n, c, h, w};
    for (std::size_t i = 0; i < 4; ++i)
      deref(out[i]) = static_cast<int>(lengths[i]);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc,
                                                           const miopenConvolutionAttrib_t attr,
                                                           int value) {
  return Try(__func__, [&] { deref(convDesc).SetAttribute(attr, value); });
}

MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc,
                                                           const miopenConvolutionAttrib_t attr,
                                                           int *value) {
  return Try(__func__, [&] { deref(value) = deref(convDesc).Attribute(attr); });
}

MIOPEN_EXPORT miopenStatus_t miopenSetConvolutionFindMode(miopenConvolutionDescriptor_t convDesc,
                                                          miopenConvolutionFindMode_t findMode) {
  return Try(__func__, [&] {
    // 4 is the number of a mode that was withdrawn.
    if (findMode < miopenConvolutionFindModeNormal ||
        findMode > miopenConvolutionFindModeTrustVerifyFull || findMode == 4)
      Throw(miopenStatusBadParm, "unknown find mode");
    deref(convDesc).SetFindMode(findMode);
  });
}

MIOPEN_EXPORT miopenStatus_t miopenGetConvolutionFindMode(
    const miopenConvolutionDescriptor_t convDesc, miopenConvolutionFindMode_t *findMode) {
  return Try(__func__, [&] {
    deref(findMode) = static_cast<miopenConvolutionFindMode_t>(deref(convDesc).FindMode());
  });
}

// The next two are exported and used by clients, but declared in no header.

MIOPEN_EXPORT miopenStatus_t
miopenHiddenSetConvolutionFindMode(miopenConvolutionDescriptor_t convDesc, int findMode) {
  return Try(__func__, [&] { deref(convDesc).SetFindMode(findMode); });
}

MIOPEN_EXPORT miopenStatus_t
miopenHiddenGetConvolutionFindMode(miopenConvolutionDescriptor_t convDesc, int *findMode) {
  return Try(__func__, [&] { deref(findMode) = deref(convDesc).FindMode(); });
}

} // extern "C"
