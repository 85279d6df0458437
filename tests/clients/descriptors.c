/* Calls the part of MIOpen's API that needs no device, and prints every status and every value.
 *
 * The output is the same in every run on the same library, so it can be compared line by line
 * between a stock library and its split. It never depends on a device: what needs a handle is
 * called with the handle when miopenCreate gave one, and with null, which is refused, otherwise.
 * Nothing that is null or invalid is passed where the real library would not survive it.
 *
 * The last line says how many calls were made and how many different functions they reached.
 * Exit status: 0, or 1 when standard output cannot be written.
 */
#define MIOPEN_BETA_API
#include <miopen/miopen.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exported, but declared in no header. The last parameter of the third is a reference in the real
 * library, which is a pointer at the ABI. */
miopenStatus_t miopenHiddenSetConvolutionFindMode(miopenConvolutionDescriptor_t convDesc,
                                                  int findMode);
miopenStatus_t miopenHiddenGetConvolutionFindMode(miopenConvolutionDescriptor_t convDesc,
                                                  int *findMode);
miopenStatus_t miopenGetTensorCastType(miopenTensorDescriptor_t tensorDesc,
                                       miopenDataType_t *cast_type);

enum { MAX_FUNCTIONS = 400 };

static int calls;
static const char *functions[MAX_FUNCTIONS];
static size_t lengths[MAX_FUNCTIONS];
static int function_count;

/* Remembers the function that a call's text begins with. */
static void count(const char *text) {
  const size_t length = strcspn(text, "(");
  ++calls;
  for (int i = 0; i < function_count; ++i)
    if (lengths[i] == length && memcmp(functions[i], text, length) == 0)
      return;
  if (function_count == MAX_FUNCTIONS) {
    fprintf(stderr, "descriptors: more than %d functions: raise MAX_FUNCTIONS\n", MAX_FUNCTIONS);
    exit(1);
  }
  functions[function_count] = text;
  lengths[function_count++] = length;
}

static void report(const char *text, miopenStatus_t status) {
  count(text);
  printf("%d %s\n", (int)status, text);
}

#define CALL(expression) report(#expression, expression)

static void values(const char *what, const int *v, int n) {
  printf("  %s", what);
  for (int i = 0; i < n; ++i)
    printf(" %d", v[i]);
  printf("\n");
}

static void value(const char *what, long v) {
  printf("  %s %ld\n", what, v);
}

static void print_tensor(miopenTensorDescriptor_t t) {
  int size = -1;
  int lens[8] = {0};
  int strides[8] = {0};
  miopenDataType_t type = (miopenDataType_t)-1;
  size_t bytes = 0;
  CALL(miopenGetTensorDescriptorSize(t, &size));
  value("dimensions", size);
  if (size < 0 || size > 8)
    size = 0;
  CALL(miopenGetTensorDescriptor(t, &type, lens, strides));
  value("type", (long)type);
  values("lengths", lens, size);
  values("strides", strides, size);
  CALL(miopenGetTensorNumBytes(t, &bytes));
  value("bytes", (long)bytes);
}

static void print_convolution(miopenConvolutionDescriptor_t c) {
  int spatial = -1;
  int pads[3] = {-9, -9, -9};
  int strides[3] = {-9, -9, -9};
  int dilations[3] = {-9, -9, -9};
  miopenConvolutionMode_t mode = (miopenConvolutionMode_t)-1;
  int groups = -1;
  CALL(miopenGetConvolutionSpatialDim(c, &spatial));
  value("spatial dimensions", spatial);
  if (spatial < 1 || spatial > 3)
    spatial = 1;
  CALL(miopenGetConvolutionNdDescriptor(c, spatial, &spatial, pads, strides, dilations, &mode));
  values("pads", pads, spatial);
  values("strides", strides, spatial);
  values("dilations", dilations, spatial);
  value("mode", (long)mode);
  CALL(miopenGetConvolutionGroupCount(c, &groups));
  value("groups", groups);
}

static void versions_and_errors(void) {
  size_t major = 0;
  size_t minor = 0;
  size_t patch = 0;
  CALL(miopenGetVersion(&major, &minor, &patch));
  printf("  %zu.%zu.%zu\n", major, minor, patch);
  CALL(miopenGetVersion(NULL, NULL, NULL));
  CALL(miopenGetVersion(NULL, &minor, NULL));
  for (int i = -1; i <= 12; ++i) {
    count("miopenGetErrorString(");
    printf("  status %d %s\n", i, miopenGetErrorString((miopenStatus_t)i));
  }
}

static miopenHandle_t handles(void) {
  miopenHandle_t handle = NULL;
  miopenAcceleratorQueue_t stream = NULL;
  float time = -1;
  CALL(miopenCreate(NULL));
  CALL(miopenCreate(&handle));
  value("handle", handle != NULL);
  CALL(miopenGetStream(handle, &stream));
  value("stream is null", stream == NULL);
  CALL(miopenSetStream(handle, NULL));
  CALL(miopenSetAllocator(handle, NULL, NULL, NULL));
  CALL(miopenEnableProfiling(handle, true));
  CALL(miopenGetKernelTime(handle, &time));
  CALL(miopenEnableProfiling(handle, false));
  CALL(miopenGetStream(NULL, &stream));
  CALL(miopenSetStream(NULL, NULL));
  CALL(miopenEnableProfiling(NULL, true));
  CALL(miopenGetKernelTime(NULL, &time));
  CALL(miopenDestroy(NULL));
  return handle;
}

static void tensors(void) {
  miopenTensorDescriptor_t t = NULL;
  miopenDataType_t type = (miopenDataType_t)-1;
  int v[8] = {0};
  CALL(miopenCreateTensorDescriptor(NULL));
  CALL(miopenCreateTensorDescriptor(&t));
  CALL(miopenSet4dTensorDescriptor(t, miopenFloat, 2, 3, 5, 7));
  print_tensor(t);
  CALL(miopenGet4dTensorDescriptor(t, &type, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6],
                                   &v[7]));
  value("type", (long)type);
  values("4d", v, 8);
  CALL(miopenSet4dTensorDescriptorEx(t, miopenHalf, 2, 3, 5, 7, 1000, 1, 21, 3));
  print_tensor(t);
  CALL(miopenGet4dTensorDescriptor(t, &type, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6],
                                   &v[7]));
  values("4d", v, 8);

  static const miopenDataType_t types[] = {miopenHalf,        miopenFloat,    miopenInt32,
                                           miopenInt8,        miopenBFloat16, miopenDouble,
                                           miopenFloat8_fnuz, miopenInt64,    miopenBFloat8_fnuz};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    size_t bytes = 0;
    CALL(miopenSet4dTensorDescriptor(t, types[i], 1, 2, 3, 4));
    CALL(miopenGetTensorNumBytes(t, &bytes));
    value("bytes", (long)bytes);
  }

  static const int dims5[] = {2, 8, 3, 5, 7};
  static const int strides3[] = {40, 13, 2};
  static const int layouts4[] = {miopenTensorNCHW,   miopenTensorNHWC,   miopenTensorCHWN,
                                 miopenTensorNCHWc4, miopenTensorNCHWc8, miopenTensorCHWNc4,
                                 miopenTensorCHWNc8};
  for (size_t i = 0; i < sizeof layouts4 / sizeof *layouts4; ++i) {
    value("layout", layouts4[i]);
    CALL(miopenSetNdTensorDescriptorWithLayout(t, miopenHalf, (miopenTensorLayout_t)layouts4[i],
                                               dims5, 4));
    print_tensor(t);
  }
  CALL(miopenSetNdTensorDescriptorWithLayout(t, miopenFloat, miopenTensorNCDHW, dims5, 5));
  print_tensor(t);
  CALL(miopenSetNdTensorDescriptorWithLayout(t, miopenFloat, miopenTensorNDHWC, dims5, 5));
  print_tensor(t);
  CALL(miopenSetNdTensorDescriptorWithLayout(t, miopenFloat, miopenTensorNHWC, dims5, 5));
  CALL(miopenSetNdTensorDescriptorWithLayout(t, miopenFloat, miopenTensorNCDHW, dims5, 4));
  CALL(miopenSetNdTensorDescriptorWithLayout(t, miopenFloat, (miopenTensorLayout_t)77, dims5, 4));
  CALL(miopenSetNdTensorDescriptorWithLayout(t, miopenFloat, miopenTensorNCHW, NULL, 4));
  CALL(miopenSetNdTensorDescriptorWithLayout(t, miopenFloat, miopenTensorNCHW, dims5, 0));

  for (int n = 1; n <= 5; ++n) {
    CALL(miopenSetTensorDescriptor(t, miopenFloat, n, dims5, NULL));
    print_tensor(t);
  }
  CALL(miopenGet4dTensorDescriptor(t, &type, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6],
                                   &v[7]));
  values("first four of five", v, 8);
  CALL(miopenSetTensorDescriptor(t, miopenFloat, 3, dims5, strides3));
  print_tensor(t);
  CALL(miopenSetTensorDescriptor(t, miopenFloat, 0, dims5, NULL));
  CALL(miopenSetTensorDescriptor(t, miopenFloat, -1, dims5, NULL));
  CALL(miopenSetTensorDescriptor(t, miopenFloat, 3, NULL, strides3));
  CALL(miopenSetTensorDescriptor(t, (miopenDataType_t)4, 3, dims5, NULL));
  CALL(miopenSetTensorDescriptor(t, (miopenDataType_t)99, 3, dims5, NULL));
  static const int zero_length[] = {2, 0, 3};
  static const int negative_length[] = {2, -4, 3};
  static const int zero_stride[] = {6, 0, 1};
  CALL(miopenSetTensorDescriptor(t, miopenFloat, 3, zero_length, NULL));
  CALL(miopenSetTensorDescriptor(t, miopenFloat, 3, negative_length, NULL));
  CALL(miopenSetTensorDescriptor(t, miopenFloat, 3, dims5, zero_stride));
  CALL(miopenSet4dTensorDescriptor(t, miopenFloat, 1, 0, 1, 1));
  CALL(miopenSet4dTensorDescriptor(t, miopenFloat, 1, 1, 1, -1));
  CALL(miopenSet4dTensorDescriptorEx(t, miopenFloat, 1, 2, 3, 4, 24, 12, 0, 1));
  print_tensor(t); /* the failed calls left it as it was */

  static const size_t dims4[] = {2, 3, 4, 5};
  static const size_t strides4[] = {600, 200, 50, 10};
  CALL(miopenSetTensorDescriptorV2(t, miopenBFloat16, 4, dims4, NULL));
  print_tensor(t);
  CALL(miopenSetTensorDescriptorV2(t, miopenBFloat16, 4, dims4, strides4));
  print_tensor(t);
  CALL(miopenGetTensorCastType(t, &type));
  value("cast type", (long)type);
  CALL(miopenSetTensorCastType(t, miopenFloat8_fnuz));
  CALL(miopenGetTensorCastType(t, &type));
  value("cast type", (long)type);
  CALL(miopenGetTensorDescriptor(t, NULL, NULL, NULL));
  CALL(miopenGetTensorDescriptor(NULL, &type, v, v));
  CALL(miopenGetTensorDescriptorSize(NULL, v));
  CALL(miopenGetTensorDescriptorSize(t, NULL));
  CALL(miopenGetTensorNumBytes(t, NULL));
  CALL(miopenSet4dTensorDescriptor(NULL, miopenFloat, 1, 1, 1, 1));
  CALL(miopenDestroyTensorDescriptor(t));
  CALL(miopenDestroyTensorDescriptor(NULL));

  miopenSeqTensorDescriptor_t sequence = NULL;
  CALL(miopenCreateSeqTensorDescriptor(&sequence));
  CALL(miopenDestroySeqTensorDescriptor(sequence));
}

static void output_dims(miopenConvolutionDescriptor_t c, int n, const int *x_lens,
                        const int *w_lens) {
  miopenTensorDescriptor_t x = NULL;
  miopenTensorDescriptor_t w = NULL;
  int count_out = -1;
  int out[8] = {0};
  CALL(miopenCreateTensorDescriptor(&x));
  CALL(miopenCreateTensorDescriptor(&w));
  CALL(miopenSetTensorDescriptor(x, miopenFloat, n, x_lens, NULL));
  CALL(miopenSetTensorDescriptor(w, miopenFloat, n, w_lens, NULL));
  CALL(miopenGetConvolutionNdForwardOutputDim(c, x, w, &count_out, out));
  value("dimensions", count_out);
  values("output", out, count_out < 0 || count_out > 8 ? 0 : count_out);
  if (n == 4) {
    CALL(miopenGetConvolutionForwardOutputDim(c, x, w, &out[0], &out[1], &out[2], &out[3]));
    values("output", out, 4);
  }
  CALL(miopenDestroyTensorDescriptor(x));
  CALL(miopenDestroyTensorDescriptor(w));
}

static void convolutions(void) {
  miopenConvolutionDescriptor_t c = NULL;
  int v[8] = {0};
  miopenConvolutionMode_t mode = (miopenConvolutionMode_t)-1;
  miopenConvolutionFindMode_t find_mode = (miopenConvolutionFindMode_t)-1;
  CALL(miopenCreateConvolutionDescriptor(NULL));
  CALL(miopenCreateConvolutionDescriptor(&c));
  print_convolution(c);
  CALL(miopenInitConvolutionDescriptor(c, miopenConvolution, 1, 2, 3, 4, 5, 6));
  print_convolution(c);
  CALL(miopenGetConvolutionDescriptor(c, &mode, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]));
  value("mode", (long)mode);
  values("2d", v, 6);
  CALL(miopenInitConvolutionDescriptor(c, miopenGroupConv, 0, 0, 1, 1, 1, 1));
  print_convolution(c);
  CALL(miopenInitConvolutionDescriptor(c, miopenDepthwise, 0, 0, 1, 1, 1, 1));
  print_convolution(c);
  CALL(miopenInitConvolutionDescriptor(c, miopenTranspose, 0, 0, 2, 2, 1, 1));
  print_convolution(c);
  CALL(miopenSetTransposeConvOutputPadding(c, 1, 1));
  static const int adjust2[] = {0, 1};
  CALL(miopenSetTransposeConvNdOutputPadding(c, 2, adjust2));
  CALL(miopenSetTransposeConvNdOutputPadding(c, 3, adjust2));
  static const int transposed_x[] = {2, 6, 5, 5};
  static const int transposed_w[] = {6, 4, 3, 3};
  output_dims(c, 4, transposed_x, transposed_w);
  CALL(miopenInitConvolutionDescriptor(c, (miopenConvolutionMode_t)9, 0, 0, 1, 1, 1, 1));
  CALL(miopenInitConvolutionDescriptor(c, miopenConvolution, -1, 0, 1, 1, 1, 1));
  CALL(miopenInitConvolutionDescriptor(c, miopenConvolution, 0, 0, 0, 1, 1, 1));
  CALL(miopenInitConvolutionDescriptor(c, miopenConvolution, 0, 0, 1, 1, 1, 0));
  print_convolution(c); /* the failed calls left it as it was */

  static const int pads3[] = {1, 0, 2};
  static const int strides3[] = {1, 2, 1};
  static const int dilations3[] = {1, 2, 3};
  for (int n = 1; n <= 3; ++n) {
    CALL(miopenInitConvolutionNdDescriptor(c, n, pads3, strides3, dilations3, miopenConvolution));
    print_convolution(c);
  }
  CALL(miopenGetConvolutionDescriptor(c, &mode, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]));
  CALL(miopenGetConvolutionNdDescriptor(c, 4, &v[0], v, v, v, &mode));
  CALL(miopenSetTransposeConvOutputPadding(c, 1, 1));
  static const int x3[] = {2, 4, 7, 9, 11};
  static const int w3[] = {6, 4, 3, 3, 2};
  static const int w3_mismatched[] = {6, 3, 3, 3, 2};
  output_dims(c, 5, x3, w3);
  output_dims(c, 5, x3, w3_mismatched);

  CALL(miopenInitConvolutionDescriptor(c, miopenConvolution, 1, 1, 2, 2, 1, 1));
  CALL(miopenSetConvolutionGroupCount(c, 2));
  print_convolution(c);
  static const int grouped_x[] = {1, 4, 8, 9};
  static const int grouped_w[] = {6, 2, 3, 3};
  static const int too_large_w[] = {6, 2, 30, 30};
  output_dims(c, 4, grouped_x, grouped_w);
  output_dims(c, 4, grouped_x, too_large_w);
  for (int groups = -1; groups <= 4; ++groups) {
    CALL(miopenSetConvolutionGroupCount(c, groups));
    output_dims(c, 4, grouped_x, grouped_w);
  }
  CALL(miopenSetConvolutionGroupCount(NULL, 2));
  CALL(miopenGetConvolutionGroupCount(c, NULL));

  CALL(miopenGetConvolutionFindMode(c, &find_mode));
  value("find mode", (long)find_mode);
  for (int i = 0; i <= 8; ++i) {
    CALL(miopenSetConvolutionFindMode(c, (miopenConvolutionFindMode_t)i));
    CALL(miopenGetConvolutionFindMode(c, &find_mode));
    value("find mode", (long)find_mode);
  }
  CALL(miopenHiddenSetConvolutionFindMode(c, 2));
  CALL(miopenHiddenGetConvolutionFindMode(c, v));
  value("find mode", v[0]);
  for (int attribute = 0; attribute <= 3; ++attribute) {
    CALL(miopenGetConvolutionAttribute(c, (miopenConvolutionAttrib_t)attribute, v));
    value("attribute", v[0]);
    for (int i = -2; i <= 2; ++i) {
      CALL(miopenSetConvolutionAttribute(c, (miopenConvolutionAttrib_t)attribute, i));
      CALL(miopenGetConvolutionAttribute(c, (miopenConvolutionAttrib_t)attribute, v));
      value("attribute", v[0]);
    }
  }
  CALL(miopenDestroyConvolutionDescriptor(c));
  CALL(miopenDestroyConvolutionDescriptor(NULL));
}

/* What runs on a device is called without a handle: each has to refuse it. */
static void refusals(void) {
  miopenTensorDescriptor_t x = NULL;
  miopenTensorDescriptor_t w = NULL;
  miopenTensorDescriptor_t y = NULL;
  miopenConvolutionDescriptor_t c = NULL;
  size_t size = 0;
  int returned = 0;
  miopenConvAlgoPerf_t perf;
  miopenConvSolution_t solution;
  const float one = 1;
  const float zero = 0;
  float buffer[16] = {0};
  CALL(miopenCreateTensorDescriptor(&x));
  CALL(miopenCreateTensorDescriptor(&w));
  CALL(miopenCreateTensorDescriptor(&y));
  CALL(miopenCreateConvolutionDescriptor(&c));
  CALL(miopenSet4dTensorDescriptor(x, miopenFloat, 1, 1, 4, 4));
  CALL(miopenSet4dTensorDescriptor(w, miopenFloat, 1, 1, 1, 1));
  CALL(miopenSet4dTensorDescriptor(y, miopenFloat, 1, 1, 4, 4));
  CALL(miopenConvolutionForwardGetWorkSpaceSize(NULL, w, x, c, y, &size));
  CALL(miopenConvolutionForwardGetSolutionCount(NULL, w, x, c, y, &size));
  CALL(miopenConvolutionForwardGetSolution(NULL, w, x, c, y, 1, &size, &solution));
  CALL(miopenConvolutionForwardGetSolutionWorkspaceSize(NULL, w, x, c, y, 85, &size));
  CALL(miopenConvolutionForwardCompileSolution(NULL, w, x, c, y, 85));
  CALL(miopenConvolutionForwardImmediate(NULL, w, buffer, x, buffer, c, y, buffer, NULL, 0, 85));
  CALL(miopenFindConvolutionForwardAlgorithm(NULL, x, buffer, w, buffer, c, y, buffer, 1, &returned,
                                             &perf, NULL, 0, false));
  CALL(miopenConvolutionForward(NULL, &one, x, buffer, w, buffer, c, miopenConvolutionFwdAlgoDirect,
                                &zero, y, buffer, NULL, 0));
  CALL(miopenConvolutionBackwardDataGetWorkSpaceSize(NULL, y, w, c, x, &size));
  CALL(miopenConvolutionBackwardDataGetSolutionCount(NULL, y, w, c, x, &size));
  CALL(miopenConvolutionBackwardWeightsGetWorkSpaceSize(NULL, y, x, c, w, &size));
  CALL(miopenConvolutionBackwardWeightsGetSolutionCount(NULL, y, x, c, w, &size));
  CALL(miopenConvolutionBackwardBias(NULL, &one, y, buffer, &zero, w, buffer));
  CALL(miopenOpTensor(NULL, miopenTensorOpAdd, &one, x, buffer, &one, x, buffer, &zero, y, buffer));
  CALL(miopenSetTensor(NULL, y, buffer, &one));
  CALL(miopenScaleTensor(NULL, y, buffer, &one));
  CALL(miopenTransformTensor(NULL, &one, x, buffer, &zero, y, buffer));
  CALL(miopenSoftmaxForward(NULL, &one, x, buffer, &zero, y, buffer));
  CALL(miopenDestroyConvolutionDescriptor(c));
  CALL(miopenDestroyTensorDescriptor(x));
  CALL(miopenDestroyTensorDescriptor(w));
  CALL(miopenDestroyTensorDescriptor(y));
}

static void poolings(void) {
  miopenPoolingDescriptor_t p = NULL;
  miopenTensorDescriptor_t x = NULL;
  miopenPoolingMode_t mode = (miopenPoolingMode_t)-1;
  miopenIndexType_t index = (miopenIndexType_t)-1;
  miopenPoolingWorkspaceIndexMode_t index_mode = (miopenPoolingWorkspaceIndexMode_t)-1;
  int v[16] = {0};
  size_t bytes = 0;
  CALL(miopenCreatePoolingDescriptor(&p));
  CALL(miopenSet2dPoolingDescriptor(p, miopenPoolingMax, 3, 2, 1, 0, 2, 1));
  CALL(miopenGet2dPoolingDescriptor(p, &mode, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]));
  value("mode", (long)mode);
  values("2d", v, 6);
  CALL(miopenSetPoolingIndexType(p, miopenIndexUint32));
  CALL(miopenGetPoolingIndexType(p, &index));
  value("index type", (long)index);
  CALL(miopenSetPoolingWorkSpaceIndexMode(p, miopenPoolingWorkspaceIndexImage));
  CALL(miopenGetPoolingWorkSpaceIndexMode(p, &index_mode));
  value("index mode", (long)index_mode);
  CALL(miopenCreateTensorDescriptor(&x));
  CALL(miopenSet4dTensorDescriptor(x, miopenFloat, 2, 3, 8, 9));
  CALL(miopenGetPoolingForwardOutputDim(p, x, &v[0], &v[1], &v[2], &v[3]));
  values("output", v, 4);
  CALL(miopenGetPoolingNdForwardOutputDim(p, x, 4, v));
  values("output", v, 4);
  CALL(miopenPoolingGetWorkSpaceSizeV2(p, x, &bytes));
  value("workspace", (long)bytes);
  static const int window[] = {2, 3, 4};
  static const int pads[] = {0, 1, 1};
  static const int strides[] = {1, 2, 3};
  CALL(miopenSetNdPoolingDescriptor(p, miopenPoolingAverage, 3, window, pads, strides));
  CALL(miopenGetNdPoolingDescriptor(p, 3, &mode, &v[0], &v[1], &v[4], &v[7]));
  value("mode", (long)mode);
  values("nd", v, 10);
  CALL(miopenDestroyTensorDescriptor(x));
  CALL(miopenDestroyPoolingDescriptor(p));
}

static void activations_and_softmax(void) {
  miopenActivationDescriptor_t a = NULL;
  miopenActivationMode_t mode = (miopenActivationMode_t)-1;
  double alpha = 0;
  double beta = 0;
  double gamma = 0;
  CALL(miopenCreateActivationDescriptor(&a));
  for (int i = 0; i <= 10; ++i) {
    CALL(miopenSetActivationDescriptor(a, (miopenActivationMode_t)i, 0.5, 1.5, 2.5));
    CALL(miopenGetActivationDescriptor(a, &mode, &alpha, &beta, &gamma));
    printf("  activation %d %g %g %g\n", (int)mode, alpha, beta, gamma);
  }
  CALL(miopenDestroyActivationDescriptor(a));

  miopenSoftmaxDescriptor_t s = NULL;
  float scale = 0;
  float shift = 0;
  miopenSoftmaxAlgorithm_t algorithm = (miopenSoftmaxAlgorithm_t)-1;
  miopenSoftmaxMode_t softmax_mode = (miopenSoftmaxMode_t)-1;
  CALL(miopenCreateSoftmaxDescriptor(&s));
  CALL(
      miopenSetSoftmaxDescriptor(s, 0.25f, 0.75f, MIOPEN_SOFTMAX_LOG, MIOPEN_SOFTMAX_MODE_CHANNEL));
  CALL(miopenGetSoftmaxDescriptor(s, &scale, &shift, &algorithm, &softmax_mode));
  printf("  softmax %g %g %d %d\n", (double)scale, (double)shift, (int)algorithm,
         (int)softmax_mode);

  miopenTensorDescriptor_t x = NULL;
  miopenTensorDescriptor_t bn = NULL;
  CALL(miopenCreateTensorDescriptor(&x));
  CALL(miopenCreateTensorDescriptor(&bn));
  CALL(miopenSet4dTensorDescriptor(x, miopenHalf, 2, 3, 4, 5));
  CALL(miopenDeriveBNTensorDescriptor(bn, x, miopenBNSpatial));
  print_tensor(bn);
  CALL(miopenDeriveBNTensorDescriptor(bn, x, miopenBNPerActivation));
  print_tensor(bn);
  CALL(miopenDestroyTensorDescriptor(x));
  CALL(miopenDestroyTensorDescriptor(bn));
}

static void fusion_plans(void) {
  miopenTensorDescriptor_t x = NULL;
  miopenTensorDescriptor_t w = NULL;
  miopenTensorDescriptor_t b = NULL;
  miopenConvolutionDescriptor_t c = NULL;
  miopenFusionPlanDescriptor_t plan = NULL;
  miopenFusionOpDescriptor_t op = NULL;
  miopenOperatorArgs_t args = NULL;
  CALL(miopenCreateTensorDescriptor(&x));
  CALL(miopenCreateTensorDescriptor(&w));
  CALL(miopenCreateTensorDescriptor(&b));
  CALL(miopenCreateConvolutionDescriptor(&c));
  CALL(miopenSet4dTensorDescriptor(x, miopenFloat, 1, 4, 8, 8));
  CALL(miopenSet4dTensorDescriptor(w, miopenFloat, 6, 4, 3, 3));
  CALL(miopenSet4dTensorDescriptor(b, miopenFloat, 1, 6, 1, 1));
  CALL(miopenCreateFusionPlan(&plan, miopenVerticalFusion, x));
  if (plan != NULL) {
    CALL(miopenCreateOpConvForward(plan, &op, c, w));
    CALL(miopenCreateOpBiasForward(plan, &op, b));
    CALL(miopenCreateOpActivationForward(plan, &op, miopenActivationRELU));
    CALL(miopenCompileFusionPlan(NULL, plan));
    CALL(miopenDestroyFusionPlan(plan));
  }
  CALL(miopenCreateOperatorArgs(&args));
  CALL(miopenDestroyOperatorArgs(args));
  CALL(miopenDestroyConvolutionDescriptor(c));
  CALL(miopenDestroyTensorDescriptor(x));
  CALL(miopenDestroyTensorDescriptor(w));
  CALL(miopenDestroyTensorDescriptor(b));
}

static void problems(void) {
  miopenTensorDescriptor_t x = NULL;
  miopenConvolutionDescriptor_t c = NULL;
  miopenProblem_t problem = NULL;
  miopenFindOptions_t options = NULL;
  miopenSolution_t solution = NULL;
  size_t found = 0;
  CALL(miopenCreateTensorDescriptor(&x));
  CALL(miopenSet4dTensorDescriptor(x, miopenFloat, 1, 4, 8, 8));
  CALL(miopenCreateConvolutionDescriptor(&c));
  CALL(miopenCreateConvProblem(NULL, c, miopenProblemDirectionForward));
  CALL(miopenCreateConvProblem(&problem, c, miopenProblemDirectionForward));
  CALL(miopenSetProblemTensorDescriptor(problem, miopenTensorConvolutionX, x));
  CALL(miopenSetProblemTensorDescriptor(problem, miopenTensorConvolutionW, x));
  CALL(miopenSetProblemTensorDescriptor(problem, miopenTensorConvolutionY, x));
  CALL(miopenCreateFindOptions(&options));
  CALL(miopenSetFindOptionTuning(options, 0));
  CALL(miopenSetFindOptionResultsOrder(options, miopenFindResultsOrderByWorkspaceSize));
  CALL(miopenSetFindOptionWorkspaceLimit(options, 1 << 20));
  CALL(miopenSetFindOptionPreallocatedWorkspace(options, NULL, 0));
  CALL(miopenSetFindOptionAttachBinaries(options, 0));
  CALL(miopenFindSolutions(NULL, problem, options, &solution, &found, 1));
  CALL(miopenDestroyFindOptions(options));
  CALL(miopenDestroyProblem(problem));
  CALL(miopenDestroyConvolutionDescriptor(c));
  CALL(miopenDestroyTensorDescriptor(x));
}

static void tuning(miopenHandle_t handle) {
  miopenTuningPolicy_t policy = (miopenTuningPolicy_t)-1;
  CALL(miopenSetTuningPolicy(NULL, miopenTuningPolicyNone));
  CALL(miopenGetTuningPolicy(NULL, &policy));
  CALL(miopenSetTuningPolicy(handle, miopenTuningPolicySearch));
  CALL(miopenGetTuningPolicy(handle, &policy));
  value("policy", (long)policy);
}

int main(void) {
  printf("[versions and errors]\n");
  versions_and_errors();
  printf("[handles]\n");
  miopenHandle_t handle = handles();
  printf("[tensors]\n");
  tensors();
  printf("[convolutions]\n");
  convolutions();
  printf("[refusals]\n");
  refusals();
  printf("[pooling]\n");
  poolings();
  printf("[activation, softmax, batch normalisation]\n");
  activations_and_softmax();
  printf("[fusion plans]\n");
  fusion_plans();
  printf("[problems]\n");
  problems();
  printf("[tuning]\n");
  tuning(handle);
  CALL(miopenDestroy(handle));
  printf("[total]\n");
  printf("%d calls of %d functions\n", calls, function_count);
  return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
