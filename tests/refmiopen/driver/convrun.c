/* Runs convolutions through MIOpen's C API, as an application would, and prints what came out.
 * Host pointers are passed as device pointers, so it is for libraries that compute on the CPU.
 *
 *   convrun [--threads N] < cases > results
 *
 * One word or list per field, lists separated by commas without blanks, buffers in hexadecimal:
 *
 *   case NAME
 *   x TYPE LENGTHS STRIDES HEX       TYPE: half bfloat16 float double int8 int32 float8_fnuz
 *                                    bfloat8_fnuz
 *   w TYPE LENGTHS STRIDES HEX
 *   y TYPE LENGTHS STRIDES HEX       what y holds before the call, gaps included
 *   conv PADS STRIDES DILATIONS GROUPS
 *   transpose OUTPUTPADS             the mode is miopenTranspose, with these paddings of the output
 *   rounding NUMBER                  the attribute of 8-bit floating types; the library's default
 *                                    when the line is missing
 *   scale ALPHA BETA
 *   direction NAME                   forward (when the line is missing), data or weights: what is
 *                                    computed, y, x or w, from the two others
 *   deterministic 0|1                the attribute; 0 when the line is missing
 *   bias TYPE LENGTHS STRIDES HEX    what a fused convolution adds to each channel
 *   add SCALE TYPE LENGTHS STRIDES HEX   what it adds to each element
 *   activation NAME ALPHA BETA       NAME: identity relu clippedrelu leakyrelu clamp tanh
 *   run ROUTE ALGORITHM WORKSPACE    completes the case
 *
 * ROUTE is how the algorithm is made ready: find, compile, immediate (one call, alpha and beta do
 * not apply), find2 (miopenFindSolutions and miopenRunSolution, likewise), assume (not at all: an
 * earlier case may have done it), unprepared (not at all, on a handle of its own) or alone (not at
 * all, and nothing is asked about solutions and workspace, of which there is none). Fused
 * convolutions have the routes plan (a fusion plan of the convolution and what is given of bias and
 * activation) and fused (miopenConvolutionBiasActivationForward), and there is bias, which is
 * miopenConvolutionForwardBias on y alone. ALGORITHM is gemm, direct, fft,
 * winograd or implicitgemm; WORKSPACE is full, short (one byte less than full) or none.
 *
 * For every case the results are, in this order and as far as it got:
 *
 *   case NAME
 *   output LENGTHS                   by miopenGetConvolutionNdForwardOutputDim
 *   workspace BYTES                  by the direction's GetWorkSpaceSize, or by
 *                                    miopenFusionPlanGetWorkSpaceSize once the plan is compiled
 *   solution ID ALGORITHM BYTES      each solution of immediate mode
 *   found ALGORITHM BYTES            each result of the find call, with the routes find and find2
 *   timed 0|1                        whether miopenGetKernelTime was above zero afterwards
 *   y HEX                            the whole buffer of what is computed, gaps included
 *   status NUMBER FUNCTION           the last call that was made; 0 when all went well
 *
 * Nothing printed depends on time, addresses or the environment. With --threads every thread runs
 * all cases on one shared handle, and the results are printed once, if those of all threads are the
 * same.
 *
 * Exit status: 0, whatever the statuses of the library; 1 when threads differ or the output cannot
 * be written; 2 for a mistake in the input or the command line.
 */
#define MIOPEN_BETA_API /* for the rounding of 8-bit floating types */
#include <miopen/miopen.h>

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* New in 3.5: a program linked against an earlier library has to live without it. */
extern __typeof__(miopenExecuteFusionPlan_v2) miopenExecuteFusionPlan_v2 __attribute__((weak));

enum { MAX_DIMS = 5, MAX_SOLUTIONS = 16, MAX_THREADS = 64 };

/* The tensors of a convolution, and at the same time the direction that computes each. */
enum role { Y, X, W, ROLES };

struct tensor {
  miopenDataType_t type;
  int dims;
  int lengths[MAX_DIMS];
  int strides[MAX_DIMS];
  unsigned char *data;
  size_t bytes;
};

struct conv_case {
  char name[96];
  struct tensor tensors[ROLES];
  struct tensor bias, add; /* without data: none */
  float add_scale;
  int activation; /* -1: none */
  double activation_alpha, activation_beta;
  enum role computed;
  int deterministic;
  int spatial;
  int pads[MAX_DIMS];
  int strides[MAX_DIMS];
  int dilations[MAX_DIMS];
  int groups;
  int transposed;
  int output_pads[MAX_DIMS];
  int rounding; /* -1: the default */
  double alpha, beta;
  char route[16];
  int algorithm;
  char workspace[16];
};

struct name {
  const char *text;
  int value;
};

static const struct name types[] = {{"half", miopenHalf},
                                    {"float", miopenFloat},
                                    {"bfloat16", miopenBFloat16},
                                    {"double", miopenDouble},
                                    {"int8", miopenInt8},
                                    {"int32", miopenInt32},
                                    {"float8_fnuz", miopenFloat8_fnuz},
                                    {"bfloat8_fnuz", miopenBFloat8_fnuz},
                                    {NULL, 0}};

static const struct name algorithms[] = {{"gemm", miopenConvolutionFwdAlgoGEMM},
                                         {"direct", miopenConvolutionFwdAlgoDirect},
                                         {"fft", miopenConvolutionFwdAlgoFFT},
                                         {"winograd", miopenConvolutionFwdAlgoWinograd},
                                         {"implicitgemm", miopenConvolutionFwdAlgoImplicitGEMM},
                                         {NULL, 0}};

static const struct name directions[] = {{"forward", Y}, {"data", X}, {"weights", W}, {NULL, 0}};

static const struct name activations[] = {{"identity", miopenActivationPASTHRU},
                                          {"relu", miopenActivationRELU},
                                          {"clippedrelu", miopenActivationCLIPPEDRELU},
                                          {"leakyrelu", miopenActivationLEAKYRELU},
                                          {"clamp", miopenActivationCLAMP},
                                          {"tanh", miopenActivationTANH},
                                          {NULL, 0}};

static const char *const routes[] = {"find",   "compile",    "immediate", "find2",
                                     "assume", "unprepared", "alone",     "plan",
                                     "fused",  "bias",       NULL};
static const char *const workspaces[] = {"full", "short", "none", NULL};

/* ---- reading ---- */

static long line_number;

static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "convrun: line %ld: ", line_number);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(2);
}

static void *allocate(size_t bytes) {
  /* Never of size 0, and exact otherwise, so that a memory checker sees every overrun. */
  void *p = malloc(bytes == 0 ? 1 : bytes);
  if (p == NULL)
    fail("out of memory");
  return p;
}

static char *word(const char *what) {
  char *w = strtok(NULL, " \n");
  if (w == NULL)
    fail("%s is missing", what);
  return w;
}

static int lookup(const struct name *names, const char *text) {
  for (; names->text != NULL; ++names)
    if (strcmp(names->text, text) == 0)
      return names->value;
  fail("unknown word %s", text);
  return 0;
}

static const char *name_of(const struct name *names, int value) {
  for (; names->text != NULL; ++names)
    if (names->value == value)
      return names->text;
  return "unknown";
}

static void copy_word(char *to, size_t size, const char *what) {
  const char *w = word(what);
  if (strlen(w) >= size)
    fail("%s is too long", what);
  strcpy(to, w);
}

static void check_word(const char *const *allowed, const char *text) {
  for (; *allowed != NULL; ++allowed)
    if (strcmp(*allowed, text) == 0)
      return;
  fail("unknown word %s", text);
}

static int list(const char *what, int *out) {
  char *p = word(what);
  for (int n = 0; n < MAX_DIMS; ++n) {
    char *end;
    errno = 0;
    const long v = strtol(p, &end, 10);
    if (end == p || errno != 0 || v < -2147483647L || v > 2147483647L)
      fail("%s: a number is wrong", what);
    out[n] = (int)v;
    if (*end == '\0')
      return n + 1;
    if (*end != ',')
      fail("%s: a comma is missing", what);
    p = end + 1;
  }
  fail("%s: more than %d numbers", what, MAX_DIMS);
  return 0;
}

static int nibble(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  fail("a buffer holds something that is not a lower-case hexadecimal digit");
  return 0;
}

static void read_tensor(struct tensor *t) {
  t->type = (miopenDataType_t)lookup(types, word("the type"));
  t->dims = list("lengths", t->lengths);
  if (list("strides", t->strides) != t->dims)
    fail("lengths and strides differ in number");
  const char *hex = word("the buffer");
  const size_t digits = strlen(hex);
  if (digits % 2 != 0)
    fail("half a byte at the end of the buffer");
  t->bytes = digits / 2;
  t->data = allocate(t->bytes);
  for (size_t i = 0; i < t->bytes; ++i)
    t->data[i] = (unsigned char)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
}

static double number(const char *what) {
  const char *w = word(what);
  char *end;
  const double v = strtod(w, &end);
  if (end == w || *end != '\0')
    fail("%s is not a number", what);
  return v;
}

/* Reads the next case. Returns 0 at the end of the input. */
static int read_case(struct conv_case *c) {
  static char *line;
  static size_t size;
  memset(c, 0, sizeof *c);
  c->activation = -1;
  c->rounding = -1;
  while (getline(&line, &size, stdin) > 0) {
    ++line_number;
    const char *key = strtok(line, " \n");
    if (key == NULL || key[0] == '#')
      continue;
    if (strcmp(key, "case") == 0) {
      copy_word(c->name, sizeof c->name, "the name");
    } else if (strcmp(key, "x") == 0) {
      read_tensor(&c->tensors[X]);
    } else if (strcmp(key, "w") == 0) {
      read_tensor(&c->tensors[W]);
    } else if (strcmp(key, "y") == 0) {
      read_tensor(&c->tensors[Y]);
    } else if (strcmp(key, "bias") == 0) {
      read_tensor(&c->bias);
    } else if (strcmp(key, "add") == 0) {
      c->add_scale = (float)number("the scale");
      read_tensor(&c->add);
    } else if (strcmp(key, "activation") == 0) {
      c->activation = lookup(activations, word("the activation"));
      c->activation_alpha = number("the activation's alpha");
      c->activation_beta = number("the activation's beta");
    } else if (strcmp(key, "direction") == 0) {
      c->computed = (enum role)lookup(directions, word("the direction"));
    } else if (strcmp(key, "deterministic") == 0) {
      c->deterministic = number("deterministic") != 0;
    } else if (strcmp(key, "conv") == 0) {
      int groups[MAX_DIMS];
      c->spatial = list("pads", c->pads);
      if (list("strides", c->strides) != c->spatial ||
          list("dilations", c->dilations) != c->spatial)
        fail("pads, strides and dilations differ in number");
      list("groups", groups);
      c->groups = groups[0];
    } else if (strcmp(key, "transpose") == 0) {
      c->transposed = 1;
      if (list("output pads", c->output_pads) != c->spatial)
        fail("pads and output pads differ in number");
    } else if (strcmp(key, "rounding") == 0) {
      c->rounding = (int)number("the rounding");
    } else if (strcmp(key, "scale") == 0) {
      c->alpha = number("alpha");
      c->beta = number("beta");
    } else if (strcmp(key, "run") == 0) {
      copy_word(c->route, sizeof c->route, "the route");
      check_word(routes, c->route);
      c->algorithm = lookup(algorithms, word("the algorithm"));
      copy_word(c->workspace, sizeof c->workspace, "the workspace");
      check_word(workspaces, c->workspace);
      if (c->name[0] == '\0' || c->tensors[X].data == NULL || c->tensors[W].data == NULL ||
          c->tensors[Y].data == NULL || c->spatial == 0)
        fail("the case is run before it is complete");
      return 1;
    } else {
      fail("unknown line %s", key);
    }
  }
  if (c->name[0] != '\0')
    fail("the input ends inside case %s", c->name);
  return 0;
}

/* ---- running ---- */

/* The entry points of one direction. Its first two tensors are in one order for immediate mode and
 * in another for find and the classic call; their types are the same but for the algorithms. */
struct family {
  enum role immediate[2], classic[2];
  miopenProblemDirection_t direction;
  const char *get_workspace_name, *count_name, *solutions_name, *solution_workspace_name,
      *compile_name, *immediate_name, *find_name, *run_name;
  __typeof__(miopenConvolutionForwardGetWorkSpaceSize) *get_workspace;
  __typeof__(miopenConvolutionForwardGetSolutionCount) *count;
  __typeof__(miopenConvolutionForwardGetSolution) *solutions;
  __typeof__(miopenConvolutionForwardGetSolutionWorkspaceSize) *solution_workspace;
  __typeof__(miopenConvolutionForwardCompileSolution) *compile;
  __typeof__(miopenConvolutionForwardImmediate) *run_immediate;
  __typeof__(miopenFindConvolutionForwardAlgorithm) *find;
};

#define FAMILY(base, find_function)                                                                \
  .get_workspace_name = #base "GetWorkSpaceSize", .get_workspace = base##GetWorkSpaceSize,         \
  .count_name = #base "GetSolutionCount", .count = base##GetSolutionCount,                         \
  .solutions_name = #base "GetSolution", .solutions = base##GetSolution,                           \
  .solution_workspace_name = #base "GetSolutionWorkspaceSize",                                     \
  .solution_workspace = base##GetSolutionWorkspaceSize, .compile_name = #base "CompileSolution",   \
  .compile = base##CompileSolution, .immediate_name = #base "Immediate",                           \
  .run_immediate = base##Immediate, .find_name = #find_function, .find = find_function,            \
  .run_name = #base

static const struct family families[ROLES] = {
    [Y] = {{W, X},
           {X, W},
           miopenProblemDirectionForward,
           FAMILY(miopenConvolutionForward, miopenFindConvolutionForwardAlgorithm)},
    [X] = {{Y, W},
           {Y, W},
           miopenProblemDirectionBackward,
           FAMILY(miopenConvolutionBackwardData, miopenFindConvolutionBackwardDataAlgorithm)},
    [W] = {{Y, X},
           {Y, X},
           miopenProblemDirectionBackwardWeights,
           FAMILY(miopenConvolutionBackwardWeights, miopenFindConvolutionBackwardWeightsAlgorithm)},
};

/* What a case needs while it runs. */
struct run {
  FILE *out;
  const struct family *family;
  miopenHandle_t handle;
  miopenTensorDescriptor_t tensors[ROLES];
  miopenConvolutionDescriptor_t conv;
  unsigned char *data[ROLES]; /* the case's, but for what is computed: that is a copy */
  void *workspace;
  size_t workspace_bytes;
  const char *last; /* the last function that was called */
  miopenStatus_t status;
};

/* Calls a function of the library unless an earlier one failed. */
#define STEP_NAMED(name, function, ...)                                                            \
  do {                                                                                             \
    if (r->status == miopenStatusSuccess) {                                                        \
      r->last = name;                                                                              \
      r->status = function(__VA_ARGS__);                                                           \
    }                                                                                              \
  } while (0)

#define STEP(function, ...) STEP_NAMED(#function, function, __VA_ARGS__)

static int ok(const struct run *r) {
  return r->status == miopenStatusSuccess;
}

static void print_list(FILE *out, const char *what, const int *values, int n) {
  fputs(what, out);
  for (int i = 0; i < n; ++i)
    fprintf(out, "%c%d", i == 0 ? ' ' : ',', values[i]);
  fputc('\n', out);
}

static void print_hex(FILE *out, const unsigned char *data, size_t bytes) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < bytes; ++i) {
    fputc(digits[data[i] >> 4], out);
    fputc(digits[data[i] & 15], out);
  }
}

static void create_tensor(struct run *r, miopenTensorDescriptor_t *descriptor,
                          const struct tensor *t) {
  STEP(miopenCreateTensorDescriptor, descriptor);
  STEP(miopenSetTensorDescriptor, *descriptor, t->type, t->dims, t->lengths, t->strides);
}

static void describe(struct run *r, const struct conv_case *c) {
  create_tensor(r, &r->tensors[X], &c->tensors[X]);
  create_tensor(r, &r->tensors[W], &c->tensors[W]);
  create_tensor(r, &r->tensors[Y], &c->tensors[Y]);
  STEP(miopenCreateConvolutionDescriptor, &r->conv);
  STEP(miopenInitConvolutionNdDescriptor, r->conv, c->spatial, c->pads, c->strides, c->dilations,
       c->transposed ? miopenTranspose : miopenConvolution);
  STEP(miopenSetConvolutionGroupCount, r->conv, c->groups);
  if (c->transposed)
    STEP(miopenSetTransposeConvNdOutputPadding, r->conv, c->spatial, c->output_pads);
  if (c->rounding >= 0)
    STEP(miopenSetConvolutionAttribute, r->conv, MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE,
         c->rounding);
  if (c->deterministic)
    STEP(miopenSetConvolutionAttribute, r->conv, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1);

  int dims = 0;
  int lengths[MAX_DIMS];
  STEP(miopenGetConvolutionNdForwardOutputDim, r->conv, r->tensors[X], r->tensors[W], &dims,
       lengths);
  if (ok(r))
    print_list(r->out, "output", lengths, dims);
}

/* The arguments that say which problem it is, in immediate mode's order. */
#define PROBLEM(r)                                                                                 \
  (r)->handle, (r)->tensors[(r)->family->immediate[0]], (r)->tensors[(r)->family->immediate[1]],   \
      (r)->conv, (r)->tensors[computed(r)]

static enum role computed(const struct run *r) {
  return (enum role)(r->family - families);
}

/* Prints the size that the library asked for and allocates what the case wants of it. */
static void allocate_workspace(struct run *r, const struct conv_case *c) {
  if (!ok(r))
    return;
  fprintf(r->out, "workspace %zu\n", r->workspace_bytes);
  if (strcmp(c->workspace, "none") == 0)
    r->workspace_bytes = 0;
  else if (strcmp(c->workspace, "short") == 0 && r->workspace_bytes > 0)
    --r->workspace_bytes;
  if (r->workspace_bytes > 0)
    r->workspace = allocate(r->workspace_bytes);
}

/* Prints the solutions and returns the id of the one with the case's algorithm, 0 without one. */
static uint64_t get_solution(struct run *r, const struct conv_case *c) {
  const struct family *f = r->family;
  size_t count = 0;
  uint64_t id = 0;
  miopenConvSolution_t solutions[MAX_SOLUTIONS];
  STEP_NAMED(f->count_name, f->count, PROBLEM(r), &count);
  STEP_NAMED(f->solutions_name, f->solutions, PROBLEM(r),
             count < MAX_SOLUTIONS ? count : MAX_SOLUTIONS, &count, solutions);
  if (!ok(r))
    return 0;
  for (size_t i = 0; i < count; ++i) {
    size_t bytes = 0;
    STEP_NAMED(f->solution_workspace_name, f->solution_workspace, PROBLEM(r),
               solutions[i].solution_id, &bytes);
    if (ok(r) && bytes != solutions[i].workspace_size)
      fprintf(r->out, "solution workspace %zu differs from ", bytes);
    fprintf(r->out, "solution %llu %s %zu\n", (unsigned long long)solutions[i].solution_id,
            name_of(algorithms, solutions[i].algorithm), solutions[i].workspace_size);
    if ((int)solutions[i].algorithm == c->algorithm)
      id = solutions[i].solution_id;
  }
  return id;
}

static void find(struct run *r, const struct conv_case *c) {
  const struct family *f = r->family;
  const enum role a = f->classic[0], b = f->classic[1], result = computed(r);
  int count = 0;
  miopenConvAlgoPerf_t results[MAX_SOLUTIONS];
  STEP_NAMED(f->find_name, f->find, r->handle, r->tensors[a], r->data[a], r->tensors[b], r->data[b],
             r->conv, r->tensors[result], r->data[result], MAX_SOLUTIONS, &count, results,
             r->workspace, r->workspace_bytes, false);
  if (!ok(r))
    return;
  for (int i = 0; i < count; ++i)
    fprintf(r->out, "found %s %zu\n", name_of(algorithms, results[i].fwd_algo), results[i].memory);
  /* The candidates wrote to it. */
  memcpy(r->data[result], c->tensors[result].data, c->tensors[result].bytes);
}

static void classic(struct run *r, const struct conv_case *c) {
  const float alpha = (float)c->alpha;
  const float beta = (float)c->beta;
  const enum role a = r->family->classic[0], b = r->family->classic[1], result = computed(r);
  const int wide = c->tensors[result].type == miopenDouble;
#define CLASSIC(function, algorithm_type)                                                          \
  STEP(function, r->handle, wide ? (const void *)&c->alpha : (const void *)&alpha, r->tensors[a],  \
       r->data[a], r->tensors[b], r->data[b], r->conv, (algorithm_type)c->algorithm,               \
       wide ? (const void *)&c->beta : (const void *)&beta, r->tensors[result], r->data[result],   \
       r->workspace, r->workspace_bytes)
  switch (result) {
  case X:
    CLASSIC(miopenConvolutionBackwardData, miopenConvBwdDataAlgorithm_t);
    return;
  case W:
    CLASSIC(miopenConvolutionBackwardWeights, miopenConvBwdWeightsAlgorithm_t);
    return;
  default:
    CLASSIC(miopenConvolutionForward, miopenConvFwdAlgorithm_t);
  }
}

static void run_find2(struct run *r, const struct conv_case *c) {
  miopenProblem_t problem = NULL;
  miopenFindOptions_t options = NULL;
  miopenSolution_t solutions[MAX_SOLUTIONS];
  size_t count = 0;
  STEP(miopenCreateConvProblem, &problem, r->conv, r->family->direction);
  STEP(miopenSetProblemTensorDescriptor, problem, miopenTensorConvolutionX, r->tensors[X]);
  STEP(miopenSetProblemTensorDescriptor, problem, miopenTensorConvolutionW, r->tensors[W]);
  STEP(miopenSetProblemTensorDescriptor, problem, miopenTensorConvolutionY, r->tensors[Y]);
  STEP(miopenCreateFindOptions, &options);
  STEP(miopenSetFindOptionWorkspaceLimit, options, r->workspace_bytes);
  STEP(miopenFindSolutions, r->handle, problem, options, solutions, &count, MAX_SOLUTIONS);
  int chosen = -1;
  for (size_t i = 0; ok(r) && i < count; ++i) {
    uint64_t id = 0;
    size_t bytes = 0;
    float time = 0;
    miopenConvAlgorithm_t algorithm = (miopenConvAlgorithm_t)-1;
    STEP(miopenGetSolutionSolverId, solutions[i], &id);
    STEP(miopenGetSolutionWorkspaceSize, solutions[i], &bytes);
    STEP(miopenGetSolutionTime, solutions[i], &time);
    STEP(miopenGetSolverIdConvAlgorithm, id, &algorithm);
    fprintf(r->out, "found %s %zu\n", name_of(algorithms, algorithm), bytes);
    if ((int)algorithm == c->algorithm)
      chosen = (int)i;
  }
  const miopenTensorArgument_t tensors[] = {
      {miopenTensorConvolutionX, NULL, r->data[X]},
      {miopenTensorConvolutionW, &r->tensors[W], r->data[W]},
      {miopenTensorConvolutionY, NULL, r->data[Y]},
  };
  STEP(miopenRunSolution, r->handle, chosen < 0 ? NULL : solutions[chosen], 3, tensors,
       r->workspace, r->workspace_bytes);
  for (size_t i = 0; i < count; ++i)
    miopenDestroySolution(solutions[i]);
  miopenDestroyFindOptions(options);
  miopenDestroyProblem(problem);
}

static void run_plan(struct run *r, const struct conv_case *c) {
  const float alpha = (float)c->alpha;
  const float beta = (float)c->beta;
  miopenTensorDescriptor_t bias = NULL;
  miopenFusionPlanDescriptor_t plan = NULL;
  miopenFusionOpDescriptor_t conv_op = NULL, bias_op = NULL, activation_op = NULL;
  miopenOperatorArgs_t args = NULL;
  STEP(miopenCreateFusionPlan, &plan, miopenVerticalFusion, r->tensors[X]);
  STEP(miopenCreateOpConvForward, plan, &conv_op, r->conv, r->tensors[W]);
  if (c->bias.data != NULL) {
    create_tensor(r, &bias, &c->bias);
    STEP(miopenCreateOpBiasForward, plan, &bias_op, bias);
  }
  if (c->activation >= 0)
    STEP(miopenCreateOpActivationForward, plan, &activation_op,
         (miopenActivationMode_t)c->activation);
  STEP(miopenCompileFusionPlan, r->handle, plan);
  STEP(miopenFusionPlanGetWorkSpaceSize, r->handle, plan, &r->workspace_bytes,
       (miopenConvFwdAlgorithm_t)c->algorithm);
  allocate_workspace(r, c);

  STEP(miopenCreateOperatorArgs, &args);
  STEP(miopenSetOpArgsConvForward, args, conv_op, &alpha, &beta, r->data[W]);
  if (c->bias.data != NULL)
    STEP(miopenSetOpArgsBiasForward, args, bias_op, NULL, NULL, c->bias.data);
  if (c->activation >= 0)
    STEP(miopenSetOpArgsActivForward, args, activation_op, NULL, NULL, c->activation_alpha,
         c->activation_beta, 0);
  if (r->workspace_bytes == 0 || miopenExecuteFusionPlan_v2 == NULL)
    STEP(miopenExecuteFusionPlan, r->handle, plan, r->tensors[X], r->data[X], r->tensors[Y],
         r->data[Y], args);
  else
    STEP(miopenExecuteFusionPlan_v2, r->handle, plan, r->tensors[X], r->data[X], r->tensors[Y],
         r->data[Y], args, r->workspace, r->workspace_bytes);
  miopenDestroyOperatorArgs(args);
  miopenDestroyFusionPlan(plan);
  miopenDestroyTensorDescriptor(bias);
}

static void run_fused(struct run *r, const struct conv_case *c) {
  const float alpha = (float)c->alpha;
  miopenTensorDescriptor_t bias = NULL, add = NULL;
  miopenActivationDescriptor_t activation = NULL;
  create_tensor(r, &bias, &c->bias);
  create_tensor(r, &add, &c->add);
  STEP(miopenCreateActivationDescriptor, &activation);
  STEP(miopenSetActivationDescriptor, activation, (miopenActivationMode_t)c->activation,
       c->activation_alpha, c->activation_beta, 0);
  STEP(miopenConvolutionBiasActivationForward, r->handle, &alpha, r->tensors[X], r->data[X],
       r->tensors[W], r->data[W], r->conv, (miopenConvFwdAlgorithm_t)c->algorithm, NULL, 0,
       &c->add_scale, add, c->add.data, bias, c->bias.data, activation, r->tensors[Y], r->data[Y]);
  miopenDestroyActivationDescriptor(activation);
  miopenDestroyTensorDescriptor(add);
  miopenDestroyTensorDescriptor(bias);
}

static void run_bias(struct run *r, const struct conv_case *c) {
  const float alpha = (float)c->alpha;
  const float beta = (float)c->beta;
  const int wide = c->tensors[Y].type == miopenDouble;
  miopenTensorDescriptor_t bias = NULL;
  create_tensor(r, &bias, &c->bias);
  STEP(miopenConvolutionForwardBias, r->handle,
       wide ? (const void *)&c->alpha : (const void *)&alpha, bias, c->bias.data,
       wide ? (const void *)&c->beta : (const void *)&beta, r->tensors[Y], r->data[Y]);
  miopenDestroyTensorDescriptor(bias);
}

static void run_route(struct run *r, const struct conv_case *c) {
  const struct family *f = r->family;
  if (strcmp(c->route, "plan") == 0) {
    run_plan(r, c);
    return;
  }
  if (strcmp(c->route, "fused") == 0) {
    run_fused(r, c);
    return;
  }
  if (strcmp(c->route, "bias") == 0) {
    run_bias(r, c);
    return;
  }
  if (strcmp(c->route, "alone") == 0) {
    classic(r, c);
    return;
  }
  STEP_NAMED(f->get_workspace_name, f->get_workspace, PROBLEM(r), &r->workspace_bytes);
  allocate_workspace(r, c);
  const uint64_t id = get_solution(r, c);
  if (strcmp(c->route, "find2") == 0) {
    run_find2(r, c);
    return;
  }
  if (strcmp(c->route, "immediate") == 0) {
    const enum role a = f->immediate[0], b = f->immediate[1], result = computed(r);
    STEP_NAMED(f->immediate_name, f->run_immediate, r->handle, r->tensors[a], r->data[a],
               r->tensors[b], r->data[b], r->conv, r->tensors[result], r->data[result],
               r->workspace, r->workspace_bytes, id);
    return;
  }
  if (strcmp(c->route, "find") == 0)
    find(r, c);
  else if (strcmp(c->route, "compile") == 0)
    STEP_NAMED(f->compile_name, f->compile, PROBLEM(r), id);
  classic(r, c);
}

static void run_case(FILE *out, miopenHandle_t shared, const struct conv_case *c) {
  struct run run = {.out = out,
                    .family = &families[c->computed],
                    .handle = shared,
                    .status = miopenStatusSuccess,
                    .last = ""};
  struct run *r = &run;
  const struct tensor *result = &c->tensors[c->computed];
  fprintf(out, "case %s\n", c->name);
  for (int role = 0; role < ROLES; ++role)
    run.data[role] = c->tensors[role].data;
  run.data[c->computed] = allocate(result->bytes);
  memcpy(run.data[c->computed], result->data, result->bytes);

  /* What another case prepared on the shared handle would be found there. */
  const int own = strcmp(c->route, "unprepared") == 0;
  if (own) {
    run.handle = NULL;
    STEP(miopenCreate, &run.handle);
    STEP(miopenEnableProfiling, run.handle, true);
  }
  describe(r, c);
  run_route(r, c);

  float time = 0;
  miopenGetKernelTime(run.handle, &time);
  fprintf(out, "timed %d\ny ", time > 0);
  print_hex(out, run.data[c->computed], result->bytes);
  fprintf(out, "\nstatus %d %s\n", (int)run.status, run.last);

  miopenDestroyConvolutionDescriptor(run.conv);
  for (int role = 0; role < ROLES; ++role)
    miopenDestroyTensorDescriptor(run.tensors[role]);
  if (own)
    miopenDestroy(run.handle);
  free(run.workspace);
  free(run.data[c->computed]);
}

/* ---- threads ---- */

struct work {
  miopenHandle_t handle;
  const struct conv_case *cases;
  size_t count;
  pthread_t thread;
  char *text;
  size_t length;
};

static void *run_all(void *argument) {
  struct work *w = argument;
  FILE *out = open_memstream(&w->text, &w->length);
  if (out == NULL)
    fail("open_memstream: %s", strerror(errno));
  for (size_t i = 0; i < w->count; ++i)
    run_case(out, w->handle, &w->cases[i]);
  if (fclose(out) != 0)
    fail("out of memory");
  return NULL;
}

int main(int argc, char **argv) {
  long threads = argc == 1 ? 1 : 0;
  if (argc == 3 && strcmp(argv[1], "--threads") == 0)
    threads = strtol(argv[2], NULL, 10);
  if (threads < 1 || threads > MAX_THREADS) {
    fprintf(stderr, "usage: convrun [--threads 1..%d] < cases > results\n", MAX_THREADS);
    return 2;
  }

  size_t count = 0;
  size_t capacity = 64;
  struct conv_case *cases = allocate(capacity * sizeof *cases);
  while (read_case(&cases[count])) {
    if (++count == capacity) {
      capacity *= 2;
      cases = realloc(cases, capacity * sizeof *cases);
      if (cases == NULL)
        fail("out of memory");
    }
  }

  miopenHandle_t handle = NULL;
  const miopenStatus_t status = miopenCreate(&handle);
  if (status != miopenStatusSuccess) {
    printf("status %d miopenCreate\n", (int)status);
    return 0;
  }
  miopenEnableProfiling(handle, true);

  struct work work[MAX_THREADS];
  for (long i = 0; i < threads; ++i) {
    work[i] = (struct work){.handle = handle, .cases = cases, .count = count};
    if (pthread_create(&work[i].thread, NULL, run_all, &work[i]) != 0)
      fail("pthread_create failed");
  }
  int differ = 0;
  for (long i = 0; i < threads; ++i) {
    pthread_join(work[i].thread, NULL);
    if (work[i].length != work[0].length || memcmp(work[i].text, work[0].text, work[0].length) != 0)
      differ = 1;
  }
  fwrite(work[0].text, 1, work[0].length, stdout);
  for (long i = 0; i < threads; ++i)
    free(work[i].text);
  if (differ)
    fprintf(stderr, "convrun: the threads' results differ\n");
  for (size_t i = 0; i < count; ++i) {
    for (int role = 0; role < ROLES; ++role)
      free(cases[i].tensors[role].data);
    free(cases[i].bias.data);
    free(cases[i].add.data);
  }
  free(cases);
  miopenDestroy(handle);
  return fflush(stdout) == 0 && !ferror(stdout) && !differ ? 0 : 1;
}
