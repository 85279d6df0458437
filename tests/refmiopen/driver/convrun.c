/* Runs forward convolutions through MIOpen's C API, as an application would, and prints what came
 * out. Host pointers are passed as device pointers, so it is for libraries that compute on the CPU.
 *
 *   convrun [--threads N] < cases > results
 *
 * One word or list per field, lists separated by commas without blanks, buffers in hexadecimal:
 *
 *   case NAME
 *   x TYPE LENGTHS STRIDES HEX       TYPE: half bfloat16 float double int8 int32
 *   w TYPE LENGTHS STRIDES HEX
 *   y TYPE LENGTHS STRIDES HEX       what y holds before the call, gaps included
 *   conv PADS STRIDES DILATIONS GROUPS
 *   scale ALPHA BETA
 *   run ROUTE ALGORITHM WORKSPACE    completes the case
 *
 * ROUTE is how the algorithm is made ready: find, compile, immediate (one call, alpha and beta do
 * not apply), assume (not at all: an earlier case may have done it) or unprepared (not at all, on a
 * handle of its own). ALGORITHM is gemm, direct, fft, winograd or implicitgemm;
 * WORKSPACE is full, short (one byte less than full) or none.
 *
 * For every case the results are, in this order and as far as it got:
 *
 *   case NAME
 *   output LENGTHS                   by miopenGetConvolutionNdForwardOutputDim
 *   workspace BYTES                  by miopenConvolutionForwardGetWorkSpaceSize
 *   solution ID ALGORITHM BYTES      each solution of immediate mode
 *   found ALGORITHM BYTES            each result of the find call, with the route find
 *   timed 0|1                        whether miopenGetKernelTime was above zero afterwards
 *   y HEX                            the whole buffer, gaps included
 *   status NUMBER FUNCTION           the last call that was made; 0 when all went well
 *
 * Nothing printed depends on time, addresses or the environment. With --threads every thread runs
 * all cases on one shared handle, and the results are printed once, if those of all threads are the
 * same.
 *
 * Exit status: 0, whatever the statuses of the library; 1 when threads differ or the output cannot
 * be written; 2 for a mistake in the input or the command line.
 */
#include <miopen/miopen.h>

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIMS = 5, MAX_SOLUTIONS = 16, MAX_THREADS = 64 };

struct tensor {
  miopenDataType_t type;
  int dims;
  int lengths[MAX_DIMS];
  int strides[MAX_DIMS];
  unsigned char *data;
  size_t bytes;
};

struct conv_case {
  char name[64];
  struct tensor x, w, y;
  int spatial;
  int pads[MAX_DIMS];
  int strides[MAX_DIMS];
  int dilations[MAX_DIMS];
  int groups;
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
                                    {NULL, 0}};

static const struct name algorithms[] = {{"gemm", miopenConvolutionFwdAlgoGEMM},
                                         {"direct", miopenConvolutionFwdAlgoDirect},
                                         {"fft", miopenConvolutionFwdAlgoFFT},
                                         {"winograd", miopenConvolutionFwdAlgoWinograd},
                                         {"implicitgemm", miopenConvolutionFwdAlgoImplicitGEMM},
                                         {NULL, 0}};

static const char *const routes[] = {"find", "compile", "immediate", "assume", "unprepared", NULL};
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
  while (getline(&line, &size, stdin) > 0) {
    ++line_number;
    const char *key = strtok(line, " \n");
    if (key == NULL || key[0] == '#')
      continue;
    if (strcmp(key, "case") == 0) {
      copy_word(c->name, sizeof c->name, "the name");
    } else if (strcmp(key, "x") == 0) {
      read_tensor(&c->x);
    } else if (strcmp(key, "w") == 0) {
      read_tensor(&c->w);
    } else if (strcmp(key, "y") == 0) {
      read_tensor(&c->y);
    } else if (strcmp(key, "conv") == 0) {
      int groups[MAX_DIMS];
      c->spatial = list("pads", c->pads);
      if (list("strides", c->strides) != c->spatial ||
          list("dilations", c->dilations) != c->spatial)
        fail("pads, strides and dilations differ in number");
      list("groups", groups);
      c->groups = groups[0];
    } else if (strcmp(key, "scale") == 0) {
      c->alpha = number("alpha");
      c->beta = number("beta");
    } else if (strcmp(key, "run") == 0) {
      copy_word(c->route, sizeof c->route, "the route");
      check_word(routes, c->route);
      c->algorithm = lookup(algorithms, word("the algorithm"));
      copy_word(c->workspace, sizeof c->workspace, "the workspace");
      check_word(workspaces, c->workspace);
      if (c->name[0] == '\0' || c->x.data == NULL || c->w.data == NULL || c->y.data == NULL ||
          c->spatial == 0)
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

/* What a case needs while it runs. */
struct run {
  FILE *out;
  miopenHandle_t handle;
  miopenTensorDescriptor_t x, w, y;
  miopenConvolutionDescriptor_t conv;
  unsigned char *y_data;
  void *workspace;
  size_t workspace_bytes;
  const char *last; /* the last function that was called */
  miopenStatus_t status;
};

/* Calls a function of the library unless an earlier one failed. */
#define STEP(function, ...)                                                                        \
  do {                                                                                             \
    if (r->status == miopenStatusSuccess) {                                                        \
      r->last = #function;                                                                         \
      r->status = function(__VA_ARGS__);                                                           \
    }                                                                                              \
  } while (0)

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

static void describe(struct run *r, const struct conv_case *c) {
  STEP(miopenCreateTensorDescriptor, &r->x);
  STEP(miopenCreateTensorDescriptor, &r->w);
  STEP(miopenCreateTensorDescriptor, &r->y);
  STEP(miopenCreateConvolutionDescriptor, &r->conv);
  STEP(miopenSetTensorDescriptor, r->x, c->x.type, c->x.dims, c->x.lengths, c->x.strides);
  STEP(miopenSetTensorDescriptor, r->w, c->w.type, c->w.dims, c->w.lengths, c->w.strides);
  STEP(miopenSetTensorDescriptor, r->y, c->y.type, c->y.dims, c->y.lengths, c->y.strides);
  STEP(miopenInitConvolutionNdDescriptor, r->conv, c->spatial, c->pads, c->strides, c->dilations,
       miopenConvolution);
  STEP(miopenSetConvolutionGroupCount, r->conv, c->groups);

  int dims = 0;
  int lengths[MAX_DIMS];
  STEP(miopenGetConvolutionNdForwardOutputDim, r->conv, r->x, r->w, &dims, lengths);
  if (ok(r))
    print_list(r->out, "output", lengths, dims);
}

static void get_workspace(struct run *r, const struct conv_case *c) {
  STEP(miopenConvolutionForwardGetWorkSpaceSize, r->handle, r->w, r->x, r->conv, r->y,
       &r->workspace_bytes);
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
  size_t count = 0;
  uint64_t id = 0;
  miopenConvSolution_t solutions[MAX_SOLUTIONS];
  STEP(miopenConvolutionForwardGetSolutionCount, r->handle, r->w, r->x, r->conv, r->y, &count);
  STEP(miopenConvolutionForwardGetSolution, r->handle, r->w, r->x, r->conv, r->y,
       count < MAX_SOLUTIONS ? count : MAX_SOLUTIONS, &count, solutions);
  if (!ok(r))
    return 0;
  for (size_t i = 0; i < count; ++i) {
    size_t bytes = 0;
    STEP(miopenConvolutionForwardGetSolutionWorkspaceSize, r->handle, r->w, r->x, r->conv, r->y,
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
  int count = 0;
  miopenConvAlgoPerf_t results[MAX_SOLUTIONS];
  STEP(miopenFindConvolutionForwardAlgorithm, r->handle, r->x, c->x.data, r->w, c->w.data, r->conv,
       r->y, r->y_data, MAX_SOLUTIONS, &count, results, r->workspace, r->workspace_bytes, false);
  if (!ok(r))
    return;
  for (int i = 0; i < count; ++i)
    fprintf(r->out, "found %s %zu\n", name_of(algorithms, results[i].fwd_algo), results[i].memory);
  memcpy(r->y_data, c->y.data, c->y.bytes); /* the candidates wrote to it */
}

static void forward(struct run *r, const struct conv_case *c) {
  const float alpha = (float)c->alpha;
  const float beta = (float)c->beta;
  const int wide = c->y.type == miopenDouble;
  STEP(miopenConvolutionForward, r->handle, wide ? (const void *)&c->alpha : (const void *)&alpha,
       r->x, c->x.data, r->w, c->w.data, r->conv, (miopenConvFwdAlgorithm_t)c->algorithm,
       wide ? (const void *)&c->beta : (const void *)&beta, r->y, r->y_data, r->workspace,
       r->workspace_bytes);
}

static void run_route(struct run *r, const struct conv_case *c) {
  get_workspace(r, c);
  const uint64_t id = get_solution(r, c);
  if (strcmp(c->route, "immediate") == 0) {
    STEP(miopenConvolutionForwardImmediate, r->handle, r->w, c->w.data, r->x, c->x.data, r->conv,
         r->y, r->y_data, r->workspace, r->workspace_bytes, id);
    return;
  }
  if (strcmp(c->route, "find") == 0)
    find(r, c);
  else if (strcmp(c->route, "compile") == 0)
    STEP(miopenConvolutionForwardCompileSolution, r->handle, r->w, r->x, r->conv, r->y, id);
  forward(r, c);
}

static void run_case(FILE *out, miopenHandle_t shared, const struct conv_case *c) {
  struct run run = {.out = out, .handle = shared, .status = miopenStatusSuccess, .last = ""};
  struct run *r = &run;
  fprintf(out, "case %s\n", c->name);
  run.y_data = allocate(c->y.bytes);
  memcpy(run.y_data, c->y.data, c->y.bytes);

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
  print_hex(out, run.y_data, c->y.bytes);
  fprintf(out, "\nstatus %d %s\n", (int)run.status, run.last);

  miopenDestroyConvolutionDescriptor(run.conv);
  miopenDestroyTensorDescriptor(run.x);
  miopenDestroyTensorDescriptor(run.w);
  miopenDestroyTensorDescriptor(run.y);
  if (own)
    miopenDestroy(run.handle);
  free(run.workspace);
  free(run.y_data);
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
    free(cases[i].x.data);
    free(cases[i].w.data);
    free(cases[i].y.data);
  }
  free(cases);
  miopenDestroy(handle);
  return fflush(stdout) == 0 && !ferror(stdout) && !differ ? 0 : 1;
}
