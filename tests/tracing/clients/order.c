/* One convolution, as MIOpenDriver runs it, with lines of its own on stderr between the calls.
 * Prints the sum of the output. */
#include <miopen/miopen.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 2, C = 3, H = 8, W = 9, K = 4, R = 3, S = 3 };

static void check(miopenStatus_t status, int line) {
  if (status != miopenStatusSuccess) {
    fprintf(stderr, "order.c:%d: status %d\n", line, (int)status);
    exit(1);
  }
}

#define CALL(expression) check(expression, __LINE__)

static float x[N * C * H * W], w[K * C * R * S], y[N * K * H * W];

int main(void) {
  miopenHandle_t handle;
  miopenTensorDescriptor_t xd, wd, yd;
  miopenConvolutionDescriptor_t conv;
  for (size_t i = 0; i < sizeof x / sizeof *x; ++i)
    x[i] = (float)(i % 5);
  for (size_t i = 0; i < sizeof w / sizeof *w; ++i)
    w[i] = (float)(i % 3);

  fprintf(stderr, "order: begins\n");
  CALL(miopenCreate(&handle));
  CALL(miopenEnableProfiling(handle, true));
  CALL(miopenCreateTensorDescriptor(&xd));
  CALL(miopenCreateTensorDescriptor(&wd));
  CALL(miopenCreateTensorDescriptor(&yd));
  CALL(miopenCreateConvolutionDescriptor(&conv));
  CALL(miopenSet4dTensorDescriptor(xd, miopenFloat, N, C, H, W));
  CALL(miopenSet4dTensorDescriptor(wd, miopenFloat, K, C, R, S));
  CALL(miopenInitConvolutionDescriptor(conv, miopenConvolution, 1, 1, 1, 1, 1, 1));
  int n, k, h, v;
  CALL(miopenGetConvolutionForwardOutputDim(conv, xd, wd, &n, &k, &h, &v));
  CALL(miopenSet4dTensorDescriptor(yd, miopenFloat, n, k, h, v));
  size_t bytes = 0;
  CALL(miopenConvolutionForwardGetWorkSpaceSize(handle, wd, xd, conv, yd, &bytes));
  void *workspace = malloc(bytes != 0 ? bytes : 1);
  fprintf(stderr, "[MIOPEN_HIPDNN_WRAPPER] is not at the head of a call here\norder: unfinished");
  int found = 0;
  miopenConvAlgoPerf_t perf;
  CALL(miopenFindConvolutionForwardAlgorithm(handle, xd, x, wd, w, conv, yd, y, 1, &found, &perf,
                                             workspace, bytes, false));
  const float alpha = 1, beta = 0;
  CALL(miopenConvolutionForward(handle, &alpha, xd, x, wd, w, conv, perf.fwd_algo, &beta, yd, y,
                                workspace, bytes));
  float time;
  CALL(miopenGetKernelTime(handle, &time));
  CALL(miopenDestroyTensorDescriptor(yd));
  CALL(miopenDestroyTensorDescriptor(wd));
  CALL(miopenDestroyTensorDescriptor(xd));
  CALL(miopenDestroyConvolutionDescriptor(conv));
  CALL(miopenDestroy(handle));
  double sum = 0;
  for (size_t i = 0; i < sizeof y / sizeof *y; ++i)
    sum += (double)y[i] * (double)(i % 7);
  printf("%.1f\n", sum);
  free(workspace);
  return 0;
}
