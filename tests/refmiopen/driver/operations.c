/* Calls the entry points of the backward convolutions, of activation descriptors, of fusion and of
 * find 2.0 in every wrong way that a library survives, and prints what each answered.
 *
 * Every line is "STATUS CALL"; values that a call gave follow, indented. Nothing printed depends on
 * time or addresses, and no call gets as far as computing, so that the output of a library that
 * computes on the CPU can be compared with that of the real one on a simulated device.
 *
 *   operations [fatal]
 *
 * With the argument it makes the calls that the real library does not survive, instead of the
 * others.
 *
 * Exit status: 0; 1 when there is no handle to be had or the output cannot be written; 2 for a
 * mistake in the command line.
 */
#define MIOPEN_BETA_API
#include <miopen/miopen.h>

#include <stdio.h>
#include <string.h>

static void report(const char *text, miopenStatus_t status) {
  printf("%d %s\n", (int)status, text);
  fflush(stdout); /* so that the last line names the call in front of a crash */
}

#define CALL(expression) report(#expression, expression)

static void value(const char *what, long v) {
  printf("  %s %ld\n", what, v);
}

/* What most calls need: a convolution of 4 channels to 6 by a 3 x 3 filter on 8 x 8, in float. */
static miopenHandle_t h;
static miopenTensorDescriptor_t x, w, y, b, z;
static miopenConvolutionDescriptor_t c;
static float data[4096]; /* larger than any of the tensors */

static void set(miopenTensorDescriptor_t t, miopenDataType_t type, int n, int c, int h, int w) {
  miopenSet4dTensorDescriptor(t, type, n, c, h, w);
}

/* The tensors and the convolution as they are when a section begins. */
static void restore(void) {
  set(x, miopenFloat, 1, 4, 8, 8);
  set(w, miopenFloat, 6, 4, 3, 3);
  set(y, miopenFloat, 1, 6, 6, 6);
  set(z, miopenFloat, 1, 6, 6, 6);
  set(b, miopenFloat, 1, 6, 1, 1);
  miopenInitConvolutionDescriptor(c, miopenConvolution, 0, 0, 1, 1, 1, 1);
  miopenSetConvolutionGroupCount(c, 1);
}

static void activations(void) {
  miopenActivationDescriptor_t a = NULL;
  miopenActivationMode_t mode = miopenActivationRELU;
  double alpha = 0, beta = 0, gamma = 0;
  CALL(miopenCreateActivationDescriptor(NULL));
  CALL(miopenSetActivationDescriptor(NULL, miopenActivationRELU, 0, 0, 0));
  CALL(miopenGetActivationDescriptor(NULL, &mode, &alpha, &beta, &gamma));
  CALL(miopenCreateActivationDescriptor(&a));
  CALL(miopenSetActivationDescriptor(a, (miopenActivationMode_t)99, 1, 2, 3));
  CALL(miopenGetActivationDescriptor(a, &mode, &alpha, &beta, &gamma));
  value("mode", mode);
  value("sum", (long)(alpha + beta + gamma));
  CALL(miopenDestroyActivationDescriptor(a));
  CALL(miopenDestroyActivationDescriptor(NULL));
}

static void backward_data(void) {
  const float one = 1, zero = 0;
  size_t n = 99;
  int found = 99;
  miopenConvSolution_t solution;
  miopenConvAlgoPerf_t perf;
  memset(&solution, 0, sizeof solution);
  restore();
  CALL(miopenConvolutionBackwardDataGetSolutionCount(NULL, y, w, c, x, &n));
  CALL(miopenConvolutionBackwardDataGetSolutionCount(h, NULL, w, c, x, &n));
  CALL(miopenConvolutionBackwardDataGetSolutionCount(h, y, NULL, c, x, &n));
  CALL(miopenConvolutionBackwardDataGetSolutionCount(h, y, w, NULL, x, &n));
  CALL(miopenConvolutionBackwardDataGetSolutionCount(h, y, w, c, NULL, &n));
  CALL(miopenConvolutionBackwardDataGetSolution(NULL, y, w, c, x, 1, &n, &solution));
  CALL(miopenConvolutionBackwardDataGetSolution(h, NULL, w, c, x, 1, &n, &solution));
  CALL(miopenConvolutionBackwardDataGetSolution(h, y, NULL, c, x, 1, &n, &solution));
  CALL(miopenConvolutionBackwardDataGetSolution(h, y, w, NULL, x, 1, &n, &solution));
  CALL(miopenConvolutionBackwardDataGetSolution(h, y, w, c, NULL, 1, &n, &solution));
  CALL(miopenConvolutionBackwardDataGetSolution(h, y, w, c, x, 1, NULL, &solution));
  CALL(miopenConvolutionBackwardDataGetSolution(h, y, w, c, x, 1, &n, NULL));
  CALL(miopenConvolutionBackwardDataGetSolutionWorkspaceSize(NULL, y, w, c, x, 86, &n));
  CALL(miopenConvolutionBackwardDataGetSolutionWorkspaceSize(h, NULL, w, c, x, 86, &n));
  CALL(miopenConvolutionBackwardDataGetSolutionWorkspaceSize(h, y, NULL, c, x, 86, &n));
  CALL(miopenConvolutionBackwardDataGetSolutionWorkspaceSize(h, y, w, NULL, x, 86, &n));
  CALL(miopenConvolutionBackwardDataGetSolutionWorkspaceSize(h, y, w, c, NULL, 86, &n));
  CALL(miopenConvolutionBackwardDataGetSolutionWorkspaceSize(h, y, w, c, x, 0, &n));
  CALL(miopenConvolutionBackwardDataGetSolutionWorkspaceSize(h, y, w, c, x, 9999, &n));
  CALL(miopenConvolutionBackwardDataGetSolutionWorkspaceSize(h, y, w, c, x, 86, &n));
  value("bytes", (long)n);
  CALL(miopenConvolutionBackwardDataCompileSolution(NULL, y, w, c, x, 86));
  CALL(miopenConvolutionBackwardDataCompileSolution(h, NULL, w, c, x, 86));
  CALL(miopenConvolutionBackwardDataCompileSolution(h, y, NULL, c, x, 86));
  CALL(miopenConvolutionBackwardDataCompileSolution(h, y, w, NULL, x, 86));
  CALL(miopenConvolutionBackwardDataCompileSolution(h, y, w, c, NULL, 86));
  CALL(miopenConvolutionBackwardDataCompileSolution(h, y, w, c, x, 0));
  CALL(miopenConvolutionBackwardDataCompileSolution(h, y, w, c, x, 9999));
  CALL(miopenConvolutionBackwardDataGetWorkSpaceSize(NULL, y, w, c, x, &n));
  CALL(miopenConvolutionBackwardDataGetWorkSpaceSize(h, NULL, w, c, x, &n));
  CALL(miopenConvolutionBackwardDataGetWorkSpaceSize(h, y, NULL, c, x, &n));
  CALL(miopenConvolutionBackwardDataGetWorkSpaceSize(h, y, w, NULL, x, &n));
  CALL(miopenConvolutionBackwardDataGetWorkSpaceSize(h, y, w, c, NULL, &n));
  CALL(miopenConvolutionBackwardDataImmediate(NULL, y, data, w, data, c, x, data, NULL, 0, 86));
  CALL(miopenConvolutionBackwardDataImmediate(h, y, NULL, w, data, c, x, data, NULL, 0, 86));
  CALL(miopenConvolutionBackwardDataImmediate(h, y, data, w, NULL, c, x, data, NULL, 0, 86));
  CALL(miopenConvolutionBackwardDataImmediate(h, y, data, w, data, c, x, NULL, NULL, 0, 86));
  CALL(miopenFindConvolutionBackwardDataAlgorithm(NULL, y, data, w, data, c, x, data, 1, &found,
                                                  &perf, NULL, 0, false));
  CALL(miopenFindConvolutionBackwardDataAlgorithm(h, y, NULL, w, data, c, x, data, 1, &found, &perf,
                                                  NULL, 0, false));
  CALL(miopenFindConvolutionBackwardDataAlgorithm(h, y, data, w, NULL, c, x, data, 1, &found, &perf,
                                                  NULL, 0, false));
  CALL(miopenFindConvolutionBackwardDataAlgorithm(h, y, data, w, data, c, x, NULL, 1, &found, &perf,
                                                  NULL, 0, false));
  CALL(miopenFindConvolutionBackwardDataAlgorithm(h, y, data, w, data, c, x, data, 1, NULL, &perf,
                                                  NULL, 0, false));
  CALL(miopenFindConvolutionBackwardDataAlgorithm(h, y, data, w, data, c, x, data, 1, &found, NULL,
                                                  NULL, 0, false));
  CALL(miopenFindConvolutionBackwardDataAlgorithm(h, y, data, w, data, c, x, data, 0, &found, &perf,
                                                  NULL, 0, false));
  CALL(miopenConvolutionBackwardData(NULL, &one, y, data, w, data, c,
                                     miopenConvolutionBwdDataAlgoDirect, &zero, x, data, NULL, 0));
  CALL(miopenConvolutionBackwardData(h, &one, y, NULL, w, data, c,
                                     miopenConvolutionBwdDataAlgoDirect, &zero, x, data, NULL, 0));
  CALL(miopenConvolutionBackwardData(h, &one, y, data, w, NULL, c,
                                     miopenConvolutionBwdDataAlgoDirect, &zero, x, data, NULL, 0));
  CALL(miopenConvolutionBackwardData(h, &one, y, data, w, data, c,
                                     miopenConvolutionBwdDataAlgoDirect, &zero, x, NULL, NULL, 0));
  /* Nothing was found or compiled. */
  CALL(miopenConvolutionBackwardData(h, &one, y, data, w, data, c,
                                     miopenConvolutionBwdDataAlgoDirect, &zero, x, data, NULL, 0));
  CALL(miopenConvolutionBackwardData(h, &one, y, data, w, data, c, (miopenConvBwdDataAlgorithm_t)77,
                                     &zero, x, data, NULL, 0));
  /* Tensors that do not fit together. */
  set(y, miopenHalf, 1, 6, 6, 6);
  CALL(miopenConvolutionBackwardData(h, &one, y, data, w, data, c,
                                     miopenConvolutionBwdDataAlgoDirect, &zero, x, data, NULL, 0));
  restore();
  set(y, miopenFloat, 1, 5, 6, 6);
  CALL(miopenConvolutionBackwardData(h, &one, y, data, w, data, c,
                                     miopenConvolutionBwdDataAlgoDirect, &zero, x, data, NULL, 0));
  restore();
  miopenSetTensorDescriptor(y, miopenFloat, 3, (const int[]){1, 6, 6}, NULL);
  CALL(miopenConvolutionBackwardData(h, &one, y, data, w, data, c,
                                     miopenConvolutionBwdDataAlgoDirect, &zero, x, data, NULL, 0));
}

static void backward_weights(void) {
  const float one = 1, zero = 0;
  size_t n = 99;
  int found = 99;
  miopenConvSolution_t solution;
  miopenConvAlgoPerf_t perf;
  memset(&solution, 0, sizeof solution);
  restore();
  CALL(miopenConvolutionBackwardWeightsGetSolutionCount(NULL, y, x, c, w, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolutionCount(h, NULL, x, c, w, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolutionCount(h, y, NULL, c, w, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolutionCount(h, y, x, NULL, w, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolutionCount(h, y, x, c, NULL, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolution(NULL, y, x, c, w, 1, &n, &solution));
  CALL(miopenConvolutionBackwardWeightsGetSolution(h, NULL, x, c, w, 1, &n, &solution));
  CALL(miopenConvolutionBackwardWeightsGetSolution(h, y, NULL, c, w, 1, &n, &solution));
  CALL(miopenConvolutionBackwardWeightsGetSolution(h, y, x, NULL, w, 1, &n, &solution));
  CALL(miopenConvolutionBackwardWeightsGetSolution(h, y, x, c, NULL, 1, &n, &solution));
  CALL(miopenConvolutionBackwardWeightsGetSolution(h, y, x, c, w, 1, NULL, &solution));
  CALL(miopenConvolutionBackwardWeightsGetSolution(h, y, x, c, w, 1, &n, NULL));
  CALL(miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(NULL, y, x, c, w, 87, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(h, NULL, x, c, w, 87, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(h, y, NULL, c, w, 87, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(h, y, x, NULL, w, 87, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(h, y, x, c, NULL, 87, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(h, y, x, c, w, 0, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(h, y, x, c, w, 9999, &n));
  CALL(miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(h, y, x, c, w, 87, &n));
  value("bytes", (long)n);
  CALL(miopenConvolutionBackwardWeightsCompileSolution(NULL, y, x, c, w, 87));
  CALL(miopenConvolutionBackwardWeightsCompileSolution(h, NULL, x, c, w, 87));
  CALL(miopenConvolutionBackwardWeightsCompileSolution(h, y, NULL, c, w, 87));
  CALL(miopenConvolutionBackwardWeightsCompileSolution(h, y, x, NULL, w, 87));
  CALL(miopenConvolutionBackwardWeightsCompileSolution(h, y, x, c, NULL, 87));
  CALL(miopenConvolutionBackwardWeightsCompileSolution(h, y, x, c, w, 0));
  CALL(miopenConvolutionBackwardWeightsCompileSolution(h, y, x, c, w, 9999));
  CALL(miopenConvolutionBackwardWeightsGetWorkSpaceSize(NULL, y, x, c, w, &n));
  CALL(miopenConvolutionBackwardWeightsGetWorkSpaceSize(h, NULL, x, c, w, &n));
  CALL(miopenConvolutionBackwardWeightsGetWorkSpaceSize(h, y, NULL, c, w, &n));
  CALL(miopenConvolutionBackwardWeightsGetWorkSpaceSize(h, y, x, NULL, w, &n));
  CALL(miopenConvolutionBackwardWeightsGetWorkSpaceSize(h, y, x, c, NULL, &n));
  CALL(miopenConvolutionBackwardWeightsImmediate(NULL, y, data, x, data, c, w, data, NULL, 0, 87));
  CALL(miopenConvolutionBackwardWeightsImmediate(h, y, NULL, x, data, c, w, data, NULL, 0, 87));
  CALL(miopenConvolutionBackwardWeightsImmediate(h, y, data, x, NULL, c, w, data, NULL, 0, 87));
  CALL(miopenConvolutionBackwardWeightsImmediate(h, y, data, x, data, c, w, NULL, NULL, 0, 87));
  CALL(miopenFindConvolutionBackwardWeightsAlgorithm(NULL, y, data, x, data, c, w, data, 1, &found,
                                                     &perf, NULL, 0, false));
  CALL(miopenFindConvolutionBackwardWeightsAlgorithm(h, y, NULL, x, data, c, w, data, 1, &found,
                                                     &perf, NULL, 0, false));
  CALL(miopenFindConvolutionBackwardWeightsAlgorithm(h, y, data, x, NULL, c, w, data, 1, &found,
                                                     &perf, NULL, 0, false));
  CALL(miopenFindConvolutionBackwardWeightsAlgorithm(h, y, data, x, data, c, w, NULL, 1, &found,
                                                     &perf, NULL, 0, false));
  CALL(miopenFindConvolutionBackwardWeightsAlgorithm(h, y, data, x, data, c, w, data, 1, NULL,
                                                     &perf, NULL, 0, false));
  CALL(miopenFindConvolutionBackwardWeightsAlgorithm(h, y, data, x, data, c, w, data, 1, &found,
                                                     NULL, NULL, 0, false));
  CALL(miopenFindConvolutionBackwardWeightsAlgorithm(h, y, data, x, data, c, w, data, 0, &found,
                                                     &perf, NULL, 0, false));
  CALL(miopenConvolutionBackwardWeights(NULL, &one, y, data, x, data, c,
                                        miopenConvolutionBwdWeightsAlgoDirect, &zero, w, data, NULL,
                                        0));
  CALL(miopenConvolutionBackwardWeights(h, &one, y, NULL, x, data, c,
                                        miopenConvolutionBwdWeightsAlgoDirect, &zero, w, data, NULL,
                                        0));
  CALL(miopenConvolutionBackwardWeights(h, &one, y, data, x, NULL, c,
                                        miopenConvolutionBwdWeightsAlgoDirect, &zero, w, data, NULL,
                                        0));
  CALL(miopenConvolutionBackwardWeights(h, &one, y, data, x, data, c,
                                        miopenConvolutionBwdWeightsAlgoDirect, &zero, w, NULL, NULL,
                                        0));
  CALL(miopenConvolutionBackwardWeights(h, &one, y, data, x, data, c,
                                        miopenConvolutionBwdWeightsAlgoDirect, &zero, w, data, NULL,
                                        0));
  CALL(miopenConvolutionBackwardWeights(
      h, &one, y, data, x, data, c, (miopenConvBwdWeightsAlgorithm_t)77, &zero, w, data, NULL, 0));
  set(y, miopenHalf, 1, 6, 6, 6);
  CALL(miopenConvolutionBackwardWeights(h, &one, y, data, x, data, c,
                                        miopenConvolutionBwdWeightsAlgoDirect, &zero, w, data, NULL,
                                        0));
  restore();
  miopenSetTensorDescriptor(y, miopenFloat, 3, (const int[]){1, 6, 6}, NULL);
  CALL(miopenConvolutionBackwardWeights(h, &one, y, data, x, data, c,
                                        miopenConvolutionBwdWeightsAlgoDirect, &zero, w, data, NULL,
                                        0));
  /* Integers have no gradient. */
  restore();
  set(x, miopenInt8, 1, 4, 8, 8);
  set(w, miopenInt8, 6, 4, 3, 3);
  set(y, miopenInt8, 1, 6, 6, 6);
  CALL(miopenConvolutionBackwardWeights(h, &one, y, data, x, data, c,
                                        miopenConvolutionBwdWeightsAlgoDirect, &zero, w, data, NULL,
                                        0));
  CALL(miopenFindConvolutionBackwardWeightsAlgorithm(h, y, data, x, data, c, w, data, 1, &found,
                                                     &perf, NULL, 0, false));
}

static void bias(void) {
  const float one = 1, zero = 0;
  restore();
  CALL(miopenConvolutionForwardBias(NULL, &one, b, data, &zero, y, data));
  CALL(miopenConvolutionForwardBias(h, &one, b, NULL, &zero, y, data));
  CALL(miopenConvolutionForwardBias(h, &one, b, data, &zero, y, NULL));
  set(b, miopenHalf, 1, 6, 1, 1);
  CALL(miopenConvolutionForwardBias(h, &one, b, data, &zero, y, data));
  set(b, miopenFloat, 1, 5, 1, 1);
  CALL(miopenConvolutionForwardBias(h, &one, b, data, &zero, y, data));
  miopenSetTensorDescriptor(b, miopenFloat, 3, (const int[]){1, 6, 1}, NULL);
  CALL(miopenConvolutionForwardBias(h, &one, b, data, &zero, y, data));
  set(b, miopenBFloat16, 1, 6, 1, 1);
  set(y, miopenBFloat16, 1, 6, 6, 6);
  CALL(miopenConvolutionForwardBias(h, &one, b, data, &zero, y, data));
}

static void fusion(void) {
  const float one = 1, zero = 0;
  size_t n = 99;
  int count = 99;
  miopenConvFwdAlgorithm_t algorithms[4];
  miopenFusionPlanDescriptor_t plan = NULL;
  miopenFusionOpDescriptor_t conv = NULL, bias_op = NULL, activation = NULL, op = NULL;
  miopenOperatorArgs_t args = NULL;
  restore();
  CALL(miopenCreateFusionPlan(NULL, miopenVerticalFusion, x));
  CALL(miopenCreateFusionPlan(&plan, miopenVerticalFusion, NULL));
  CALL(miopenDestroyFusionPlan(NULL));
  CALL(miopenCreateFusionPlan(&plan, miopenHorizontalFusion, x));
  CALL(miopenDestroyFusionPlan(plan));
  CALL(miopenCreateFusionPlan(&plan, miopenVerticalFusion, x));
  CALL(miopenFusionPlanGetOp(NULL, 0, &op));
  CALL(miopenFusionPlanGetOp(plan, 0, &op));
  CALL(miopenCreateOpConvForward(NULL, &conv, c, w));
  CALL(miopenCreateOpConvForward(plan, NULL, c, w));
  CALL(miopenCreateOpConvForward(plan, &conv, NULL, w));
  CALL(miopenCreateOpConvForward(plan, &conv, c, NULL));
  CALL(miopenCreateOpConvForward(plan, &conv, c, w));
  CALL(miopenFusionPlanGetOp(plan, 0, &op));
  value("same", op == conv);
  CALL(miopenFusionPlanGetOp(plan, 1, &op));
  CALL(miopenFusionPlanGetOp(plan, -1, &op));
  CALL(miopenCreateOpBiasForward(NULL, &bias_op, b));
  CALL(miopenCreateOpBiasForward(plan, NULL, b));
  CALL(miopenCreateOpBiasForward(plan, &bias_op, NULL));
  CALL(miopenCreateOpBiasForward(plan, &bias_op, b));
  CALL(miopenCreateOpActivationForward(NULL, &activation, miopenActivationRELU));
  CALL(miopenCreateOpActivationForward(plan, NULL, miopenActivationRELU));
  CALL(miopenCreateOpActivationForward(plan, &activation, miopenActivationRELU));
  CALL(miopenFusionPlanGetOp(plan, 2, &op));
  value("same", op == activation);
  CALL(miopenFusionPlanConvolutionGetAlgo(NULL, 4, &count, algorithms));
  CALL(miopenFusionPlanConvolutionGetAlgo(plan, 4, NULL, algorithms));
  CALL(miopenFusionPlanConvolutionGetAlgo(plan, 4, &count, algorithms));
  value("count", count);
  for (int i = 0; i < count && i < 4; ++i)
    value("algorithm", algorithms[i]);
  CALL(miopenFusionPlanConvolutionGetAlgo(plan, 1, &count, algorithms));
  value("count", count);
  CALL(miopenFusionPlanConvolutionSetAlgo(NULL, miopenConvolutionFwdAlgoDirect));
  CALL(miopenFusionPlanConvolutionSetAlgo(plan, miopenConvolutionFwdAlgoFFT));
  CALL(miopenFusionPlanConvolutionSetAlgo(plan, miopenConvolutionFwdAlgoDirect));
  CALL(miopenFusionPlanGetWorkSpaceSize(NULL, plan, &n, miopenConvolutionFwdAlgoDirect));
  CALL(miopenFusionPlanGetWorkSpaceSize(h, NULL, &n, miopenConvolutionFwdAlgoDirect));
  CALL(miopenFusionPlanGetWorkSpaceSize(h, plan, NULL, miopenConvolutionFwdAlgoDirect));
  CALL(miopenFusionPlanGetWorkSpaceSize(h, plan, &n, miopenConvolutionFwdAlgoDirect));
  value("bytes", (long)n);
  CALL(miopenCompileFusionPlan(NULL, plan));
  CALL(miopenCompileFusionPlan(h, NULL));
  CALL(miopenCreateOperatorArgs(NULL));
  CALL(miopenDestroyOperatorArgs(NULL));
  CALL(miopenCreateOperatorArgs(&args));
  CALL(miopenSetOpArgsConvForward(NULL, conv, &one, &zero, data));
  CALL(miopenSetOpArgsConvForward(args, NULL, &one, &zero, data));
  CALL(miopenSetOpArgsConvForward(args, bias_op, &one, &zero, data));
  CALL(miopenSetOpArgsConvForward(args, conv, NULL, NULL, data));
  CALL(miopenSetOpArgsConvForward(args, conv, &one, &zero, NULL));
  CALL(miopenSetOpArgsConvForward(args, conv, &one, &zero, data));
  CALL(miopenSetOpArgsBiasForward(NULL, bias_op, &one, &zero, data));
  CALL(miopenSetOpArgsBiasForward(args, NULL, &one, &zero, data));
  CALL(miopenSetOpArgsBiasForward(args, activation, &one, &zero, data));
  CALL(miopenSetOpArgsBiasForward(args, bias_op, NULL, NULL, NULL));
  CALL(miopenSetOpArgsBiasForward(args, bias_op, &one, &zero, data));
  CALL(miopenSetOpArgsActivForward(NULL, activation, &one, &zero, 0, 0, 0));
  CALL(miopenSetOpArgsActivForward(args, NULL, &one, &zero, 0, 0, 0));
  CALL(miopenSetOpArgsActivForward(args, conv, &one, &zero, 0, 0, 0));
  CALL(miopenSetOpArgsActivForward(args, activation, NULL, NULL, 0, 0, 0));
  /* The plan was not compiled. */
  CALL(miopenExecuteFusionPlan(h, plan, x, data, y, data, args));
  CALL(miopenExecuteFusionPlan_v2(h, plan, x, data, y, data, args, NULL, 0));
  CALL(miopenExecuteFusionPlan_v2(h, plan, x, data, y, data, args, NULL, 1));
  CALL(miopenExecuteFusionPlan(NULL, plan, x, data, y, data, args));
  CALL(miopenExecuteFusionPlan(h, NULL, x, data, y, data, args));
  CALL(miopenExecuteFusionPlan(h, plan, NULL, data, y, data, args));
  CALL(miopenExecuteFusionPlan(h, plan, x, data, NULL, data, args));
  CALL(miopenExecuteFusionPlan(h, plan, x, data, y, data, NULL));
  CALL(miopenExecuteFusionPlan(h, plan, x, data, x, data, args));
  CALL(miopenExecuteFusionPlan(h, plan, y, data, y, data, args));
  CALL(miopenDestroyOperatorArgs(args));
  CALL(miopenDestroyFusionPlan(plan));

  /* A filter that does not fit the input. */
  set(w, miopenFloat, 6, 3, 3, 3);
  CALL(miopenCreateFusionPlan(&plan, miopenVerticalFusion, x));
  CALL(miopenCreateOpConvForward(plan, &conv, c, w));
  CALL(miopenFusionPlanGetOp(plan, 0, &op));
  CALL(miopenDestroyFusionPlan(plan));
}

/* Sequences of operations that no solver fuses. */
static void unsupported(void) {
  size_t n = 99;
  miopenFusionPlanDescriptor_t plan = NULL;
  miopenFusionOpDescriptor_t op = NULL;
  restore();
  printf("  bias first\n");
  CALL(miopenCreateFusionPlan(&plan, miopenVerticalFusion, y));
  CALL(miopenCreateOpBiasForward(plan, &op, b));
  CALL(miopenCreateOpActivationForward(plan, &op, miopenActivationRELU));
  CALL(miopenCompileFusionPlan(h, plan));
  CALL(miopenDestroyFusionPlan(plan));

  printf("  activation before bias\n");
  CALL(miopenCreateFusionPlan(&plan, miopenVerticalFusion, x));
  CALL(miopenCreateOpConvForward(plan, &op, c, w));
  CALL(miopenCreateOpActivationForward(plan, &op, miopenActivationRELU));
  CALL(miopenCreateOpBiasForward(plan, &op, b));
  CALL(miopenCompileFusionPlan(h, plan));
  CALL(miopenDestroyFusionPlan(plan));

  printf("  double\n");
  set(x, miopenDouble, 1, 4, 8, 8);
  set(w, miopenDouble, 6, 4, 3, 3);
  set(b, miopenDouble, 1, 6, 1, 1);
  CALL(miopenCreateFusionPlan(&plan, miopenVerticalFusion, x));
  CALL(miopenCreateOpConvForward(plan, &op, c, w));
  CALL(miopenCreateOpBiasForward(plan, &op, b));
  CALL(miopenCreateOpActivationForward(plan, &op, miopenActivationRELU));
  CALL(miopenFusionPlanGetWorkSpaceSize(h, plan, &n, miopenConvolutionFwdAlgoDirect));
  CALL(miopenCompileFusionPlan(h, plan));
  CALL(miopenDestroyFusionPlan(plan));

  printf("  no operation\n");
  CALL(miopenCreateFusionPlan(&plan, miopenVerticalFusion, x));
  CALL(miopenCompileFusionPlan(h, plan));
  CALL(miopenDestroyFusionPlan(plan));
}

static void find2(void) {
  size_t n = 99;
  uint64_t id = 0;
  float time = 0;
  miopenProblem_t problem = NULL;
  miopenFindOptions_t options = NULL;
  miopenSolution_t solution = NULL;
  restore();
  CALL(miopenCreateConvProblem(NULL, c, miopenProblemDirectionBackward));
  CALL(miopenDestroyProblem(NULL));
  CALL(miopenCreateFindOptions(NULL));
  CALL(miopenDestroyFindOptions(NULL));
  CALL(miopenSetFindOptionTuning(NULL, 1));
  CALL(miopenSetFindOptionResultsOrder(NULL, miopenFindResultsOrderByTime));
  CALL(miopenSetFindOptionWorkspaceLimit(NULL, 1));
  CALL(miopenSetFindOptionPreallocatedWorkspace(NULL, data, 1));
  CALL(miopenSetFindOptionPreallocatedTensor(NULL, miopenTensorConvolutionX, data));
  CALL(miopenSetFindOptionAttachBinaries(NULL, 1));
  CALL(miopenCreateFindOptions(&options));
  CALL(miopenCreateConvProblem(&problem, c, miopenProblemDirectionBackward));
  CALL(miopenSetProblemTensorDescriptor(NULL, miopenTensorConvolutionX, x));
  CALL(miopenSetProblemTensorDescriptor(problem, miopenTensorConvolutionX, NULL));
  CALL(miopenFindSolutions(h, problem, options, &solution, &n, 1));
  CALL(miopenSetProblemTensorDescriptor(problem, miopenTensorConvolutionX, x));
  CALL(miopenSetProblemTensorDescriptor(problem, miopenTensorConvolutionX, x));
  CALL(miopenSetProblemTensorDescriptor(problem, miopenTensorConvolutionW, w));
  CALL(miopenFindSolutions(h, problem, options, &solution, &n, 1));
  CALL(miopenSetProblemTensorDescriptor(problem, miopenTensorMhaK, y));
  CALL(miopenFindSolutions(h, problem, options, &solution, &n, 1));
  CALL(miopenFindSolutions(NULL, problem, options, &solution, &n, 1));
  CALL(miopenFindSolutions(h, NULL, options, &solution, &n, 1));
  CALL(miopenGetSolutionSolverId(NULL, &id));
  CALL(miopenGetSolutionWorkspaceSize(NULL, &n));
  CALL(miopenGetSolutionTime(NULL, &time));
  CALL(miopenRunSolution(h, NULL, 0, NULL, NULL, 0));
  CALL(miopenDestroySolution(NULL));
  CALL(miopenDestroyProblem(problem));
  CALL(miopenDestroyFindOptions(options));
}

static void bias_activation(void) {
  const float one = 1;
  miopenActivationDescriptor_t relu = NULL, tanh = NULL;
  restore();
  CALL(miopenCreateActivationDescriptor(&relu));
  CALL(miopenCreateActivationDescriptor(&tanh));
  CALL(miopenSetActivationDescriptor(relu, miopenActivationRELU, 0, 0, 0));
  CALL(miopenSetActivationDescriptor(tanh, miopenActivationTANH, 1, 1, 0));
#define FUSED(h, x, w, c, z, b, a, y)                                                              \
  CALL(miopenConvolutionBiasActivationForward(h, &one, x, data, w, data, c,                        \
                                              miopenConvolutionFwdAlgoDirect, NULL, 0, &one, z,    \
                                              data, b, data, a, y, data))
  FUSED(NULL, x, w, c, z, b, relu, y);
  FUSED(h, NULL, w, c, z, b, relu, y);
  FUSED(h, x, NULL, c, z, b, relu, y);
  FUSED(h, x, w, NULL, z, b, relu, y);
  FUSED(h, x, w, c, NULL, b, relu, y);
  FUSED(h, x, w, c, z, NULL, relu, y);
  FUSED(h, x, w, c, z, b, NULL, y);
  FUSED(h, x, w, c, z, b, relu, NULL);
  FUSED(h, x, w, c, z, b, tanh, y);
  /* Only channels-last tensors have a kernel. */
  FUSED(h, x, w, c, z, b, relu, y);
  CALL(miopenDestroyActivationDescriptor(relu));
  CALL(miopenDestroyActivationDescriptor(tanh));
}

/* Calls for which the real library reads through a null pointer or runs a kernel on one. */
static void fatal(void) {
  const float one = 1, zero = 0;
  miopenFusionPlanDescriptor_t plan = NULL;
  miopenFusionOpDescriptor_t conv = NULL, bias_op = NULL;
  miopenOperatorArgs_t args = NULL, others = NULL;
  miopenProblem_t problem = NULL;
  restore();
  CALL(miopenConvolutionForwardImmediate(h, w, data, x, data, c, y, data, NULL, 0, 0));
  CALL(miopenConvolutionBackwardDataImmediate(h, y, data, w, data, c, x, data, NULL, 0, 0));
  CALL(miopenConvolutionBackwardWeightsImmediate(h, y, data, x, data, c, w, data, NULL, 0, 0));
  CALL(miopenConvolutionForwardBias(h, &one, NULL, data, &zero, y, data));
  CALL(miopenConvolutionForwardBias(h, &one, b, data, &zero, NULL, data));
  CALL(miopenCreateConvProblem(&problem, NULL, miopenProblemDirectionForward));
  CALL(miopenCreateConvProblem(&problem, c, (miopenProblemDirection_t)3));

  CALL(miopenCreateFusionPlan(&plan, miopenVerticalFusion, x));
  CALL(miopenCreateOpConvForward(plan, &conv, c, w));
  CALL(miopenCreateOpBiasForward(plan, &bias_op, b));
  CALL(miopenCompileFusionPlan(h, plan));
  CALL(miopenCreateOperatorArgs(&args));
  CALL(miopenExecuteFusionPlan(h, plan, x, data, y, data, args));
  CALL(miopenSetOpArgsConvForward(args, conv, &one, &zero, data));
  CALL(miopenExecuteFusionPlan(h, plan, x, data, y, data, args));
  CALL(miopenSetOpArgsBiasForward(args, bias_op, NULL, NULL, NULL));
  CALL(miopenExecuteFusionPlan(h, plan, x, data, y, data, args));
  CALL(miopenSetOpArgsBiasForward(args, bias_op, NULL, NULL, data));
  CALL(miopenExecuteFusionPlan(h, plan, x, NULL, y, data, args));
  CALL(miopenExecuteFusionPlan(h, plan, x, data, y, NULL, args));
  CALL(miopenExecuteFusionPlan(h, plan, x, data, y, data, args));
  CALL(miopenSetOpArgsConvForward(args, conv, &one, &zero, NULL));
  CALL(miopenExecuteFusionPlan(h, plan, x, data, y, data, args));
  /* Changed after it was compiled. */
  CALL(miopenSetOpArgsConvForward(args, conv, &one, &zero, data));
  CALL(miopenCreateOpActivationForward(plan, &conv, miopenActivationRELU));
  CALL(miopenExecuteFusionPlan(h, plan, x, data, y, data, args));
  CALL(miopenDestroyOperatorArgs(args));
  CALL(miopenDestroyFusionPlan(plan));

  /* The arguments of another plan, in which another operation has the number. */
  CALL(miopenCreateFusionPlan(&plan, miopenVerticalFusion, y));
  CALL(miopenCreateOpBiasForward(plan, &bias_op, b));
  CALL(miopenCreateOperatorArgs(&others));
  CALL(miopenSetOpArgsBiasForward(others, bias_op, NULL, NULL, data));
  CALL(miopenDestroyFusionPlan(plan));
  CALL(miopenCreateFusionPlan(&plan, miopenVerticalFusion, x));
  CALL(miopenCreateOpConvForward(plan, &conv, c, w));
  CALL(miopenCompileFusionPlan(h, plan));
  CALL(miopenExecuteFusionPlan(h, plan, x, data, y, data, others));
  CALL(miopenDestroyOperatorArgs(others));
  CALL(miopenDestroyFusionPlan(plan));
}

int main(int argc, char **argv) {
  const int only_fatal = argc == 2 && strcmp(argv[1], "fatal") == 0;
  if (argc != 1 && !only_fatal) {
    fprintf(stderr, "usage: operations [fatal]\n");
    return 2;
  }
  if (miopenCreate(&h) != miopenStatusSuccess) {
    fprintf(stderr, "operations: miopenCreate gave no handle\n");
    return 1;
  }
  miopenCreateTensorDescriptor(&x);
  miopenCreateTensorDescriptor(&w);
  miopenCreateTensorDescriptor(&y);
  miopenCreateTensorDescriptor(&z);
  miopenCreateTensorDescriptor(&b);
  miopenCreateConvolutionDescriptor(&c);
  if (only_fatal) {
    fatal();
  } else {
    printf("[activation descriptors]\n");
    activations();
    printf("[backward data]\n");
    backward_data();
    printf("[backward weights]\n");
    backward_weights();
    printf("[bias]\n");
    bias();
    printf("[fusion plans]\n");
    fusion();
    printf("[unsupported fusions]\n");
    unsupported();
    printf("[convolution, bias and activation]\n");
    bias_activation();
    printf("[find 2.0]\n");
    find2();
  }
  miopenDestroyConvolutionDescriptor(c);
  miopenDestroyTensorDescriptor(b);
  miopenDestroyTensorDescriptor(z);
  miopenDestroyTensorDescriptor(y);
  miopenDestroyTensorDescriptor(w);
  miopenDestroyTensorDescriptor(x);
  miopenDestroy(h);
  return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
