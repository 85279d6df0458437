/* Plays the wrapper: opens the forwarding library, calls the functions of its table as lines on
 * standard input say, and prints what came of it. Usage: host BRIDGE WRAPPER PRIVATE, where PRIVATE
 * is loaded first. A call that changes errno ends the program.
 *
 *   create H [STREAM]      destroy H       stream H STREAM     profiling H 0|1
 *   newstream H            makes a stream and sets it; conv H capture=1 captures it meanwhile
 *   device N               the thread's device from now on; prints what it was
 *   native H MS            MIOpen's own kernel time from now on
 *   time H                 prints what miopenGetKernelTime would give
 *   conv H [NAME=VALUE..]  a convolution of floats, checked against a plain one
 *   served H               text STATUS     stats               finish
 *   setenv NAME VALUE      limit N         RLIMIT_FSIZE, -1: none
 *   unasked N M            N calls that MIOpen served and M that failed without the library
 *   texts N                N threads, one after the other, whose call fails; their texts afterwards
 *   misuse                 what sanitizers are to find: a data race, and a byte too many
 *   threads T CALLS SHAPES own|shared [STREAM]   T threads with CALLS calls each, of SHAPES shapes
 * in turn churn N                N handles, one after the other, with a convolution each bench N N
 * calls of one shape, prints nanoseconds per call, and of the calls of the backend that each makes
 * (with the backend of testdata/backend.c)
 */
#define _GNU_SOURCE
#include "shim/runtime/src/bridge.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define HANDLES 4096

static struct miopen_bridge_table bridge;
static char handles[HANDLES]; /* the address of an element is a MIOpen handle */
static float native_times[HANDLES];
static void *streams[HANDLES]; /* made by newstream */

/* Device memory, where the private library has HIP. */
static int (*hip_malloc)(void **, size_t);
static int (*hip_free)(void *);
static int (*hip_synchronize)(void);
static int (*hip_stream_create)(void **);
static int (*hip_set_device)(int);
static int (*hip_get_device)(int *);
static int (*hip_exchange_mode)(int *);
static int (*hip_begin_capture)(void *, int);
static int (*hip_end_capture)(void *, void **);

static void fail(const char *what) {
  printf("FAILED: %s\n", what);
  fflush(stdout);
  exit(3);
}

#define CHECKED(call)                                                                              \
  do {                                                                                             \
    errno = 77;                                                                                    \
    call;                                                                                          \
    if (errno != 77)                                                                               \
      fail("errno changed: " #call);                                                               \
  } while (0)

static void message(const char *text) {
  if (strchr(text, '\n'))
    fail("a message of two lines");
  fprintf(stderr, "[HOST] %s\n", text);
}

static float native_time(void *handle) {
  return native_times[(char *)handle - handles];
}

/* The host's own calls leave captures alone. */
static int exchange_mode(int mode) {
  if (hip_exchange_mode)
    hip_exchange_mode(&mode);
  return mode;
}

static void *allocate(size_t size) {
  void *memory = NULL;
  int before = exchange_mode(2);
  if (hip_malloc) {
    if (hip_malloc(&memory, size))
      fail("hipMalloc");
  } else {
    memory = aligned_alloc(256, (size + 255) / 256 * 256);
  }
  exchange_mode(before);
  return memory;
}

static void release(void *memory) {
  int before = exchange_mode(2);
  if (hip_free)
    hip_free(memory);
  else
    free(memory);
  exchange_mode(before);
}

static void synchronize(void) {
  int before = exchange_mode(2);
  if (hip_synchronize && hip_synchronize())
    fail("hipDeviceSynchronize");
  exchange_mode(before);
}

struct shape {
  int n, c, h, w, k, r, pad, stride, dilation, groups;
  bool nhwc;
};

static int output(const struct shape *s, int length) {
  return (length + 2 * s->pad - (s->dilation * (s->r - 1) + 1)) / s->stride + 1;
}

static void describe(struct miopen_bridge_tensor *t, int n, int c, int h, int w, bool nhwc) {
  t->type = 1;
  t->rank = 4;
  int32_t dims[] = {n, c, h, w};
  int32_t nchw[] = {c * h * w, h * w, w, 1};
  int32_t last[] = {h * w * c, 1, w * c, c};
  memcpy(t->dims, dims, sizeof dims);
  memcpy(t->strides, nhwc ? last : nchw, sizeof nchw);
  t->cast = -1;
}

static struct miopen_bridge_convolution problem_of(const struct shape *s) {
  struct miopen_bridge_convolution p;
  memset(&p, 0, sizeof p);
  describe(&p.x, s->n, s->c, s->h, s->w, s->nhwc);
  describe(&p.w, s->k, s->c / s->groups, s->r, s->r, s->nhwc);
  describe(&p.y, s->n, s->k, output(s, s->h), output(s, s->w), s->nhwc);
  p.groups = s->groups;
  p.spatial = 2;
  for (int i = 0; i < 2; i++) {
    p.pads[i] = s->pad;
    p.strides[i] = s->stride;
    p.dilations[i] = s->dilation;
  }
  p.fp16_alternative = -1;
  return p;
}

static size_t count(const struct miopen_bridge_tensor *t) {
  return (size_t)t->dims[0] * (size_t)t->dims[1] * (size_t)t->dims[2] * (size_t)t->dims[3];
}

static size_t at(const struct miopen_bridge_tensor *t, int64_t n, int64_t c, int64_t h, int64_t w) {
  return (size_t)(n * t->strides[0] + c * t->strides[1] + h * t->strides[2] + w * t->strides[3]);
}

static float value(size_t i, unsigned seed) {
  return (float)((int)((i * 2654435761u + seed) % 17) - 8) / 4;
}

#define UNTOUCHED 12345.f

/* Compares y with a plain convolution: 0 equal, 1 untouched, 2 something else. */
static int compare(const struct miopen_bridge_convolution *p, const float *x, const float *w,
                   const float *y) {
  int64_t per_group = p->w.dims[1], filters = p->w.dims[0] / p->groups;
  bool untouched = true, equal = true;
  for (int64_t n = 0; n < p->y.dims[0]; n++)
    for (int64_t k = 0; k < p->y.dims[1]; k++)
      for (int64_t i = 0; i < p->y.dims[2]; i++)
        for (int64_t j = 0; j < p->y.dims[3]; j++) {
          double sum = 0;
          for (int64_t c = 0; c < per_group; c++)
            for (int64_t r = 0; r < p->w.dims[2]; r++)
              for (int64_t s = 0; s < p->w.dims[3]; s++) {
                int64_t h = i * p->strides[0] - p->pads[0] + r * p->dilations[0];
                int64_t v = j * p->strides[1] - p->pads[1] + s * p->dilations[1];
                if (h < 0 || v < 0 || h >= p->x.dims[2] || v >= p->x.dims[3])
                  continue;
                sum += (double)x[at(&p->x, n, k / filters * per_group + c, h, v)] *
                       w[at(&p->w, k, c, r, s)];
              }
          float got = y[at(&p->y, n, k, i, j)];
          if (got != UNTOUCHED)
            untouched = false;
          if (!(fabs(got - sum) <= 1e-4 * (1 + fabs(sum))))
            equal = false;
        }
  return equal ? 0 : untouched ? 1 : 2;
}

static int64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* The value of NAME=VALUE among the words of a line. */
static const char *option(char **words, const char *name, const char *otherwise) {
  size_t length = strlen(name);
  for (; *words; words++)
    if (!strncmp(*words, name, length) && (*words)[length] == '=')
      return *words + length + 1;
  return otherwise;
}

static int number(char **words, const char *name, int otherwise) {
  const char *text = option(words, name, NULL);
  return text ? atoi(text) : otherwise;
}

static struct shape shape_of(char **words) {
  struct shape s = {
      number(words, "n", 1),      number(words, "c", 4),        number(words, "h", 8),
      number(words, "w", 8),      number(words, "k", 4),        number(words, "r", 3),
      number(words, "pad", 1),    number(words, "stride", 1),   number(words, "dilation", 1),
      number(words, "groups", 1), number(words, "nhwc", 0) != 0};
  return s;
}

static void convolve(char *handle, char **words) {
  struct shape s = shape_of(words);
  struct miopen_bridge_convolution p = problem_of(&s);
  p.mode = number(words, "mode", 0);
  p.deterministic = number(words, "deterministic", 0);
  p.x.vectorised = number(words, "vectorised", 0);
  p.x.cast = number(words, "cast", -1);
  p.x.rank = number(words, "rank", p.x.rank);
  p.y.type = number(words, "ytype", 1);
  p.y.dims[2] = number(words, "yh", p.y.dims[2]);
  p.groups = number(words, "descriptorgroups", p.groups);
  size_t xs = count(&p.x), ws = count(&p.w), ys = count(&p.y);
  float *x = allocate(xs * sizeof *x), *w = allocate(ws * sizeof *w), *y = allocate(ys * sizeof *y);
  for (size_t i = 0; i < xs; i++)
    x[i] = value(i, 1);
  for (size_t i = 0; i < ws; i++)
    w[i] = value(i, 2);
  for (size_t i = 0; i < ys; i++)
    y[i] = UNTOUCHED;
  size_t workspace = (size_t)number(words, "workspace", 0);
  struct miopen_bridge_call call = {
      .handle = handle,
      .alpha = atof(option(words, "alpha", "1")),
      .beta = atof(option(words, "beta", "0")),
      .alpha_set = !number(words, "nullalpha", 0),
      .beta_set = !number(words, "nullbeta", 0),
      .x = number(words, "nullx", 0) ? NULL : x,
      .w = w,
      .y = number(words, "overlap", 0) ? (char *)x : (char *)y + number(words, "shift", 0),
      .workspace = workspace ? allocate(workspace) : NULL,
      .workspace_bytes = workspace,
  };
  void *graph = NULL, *stream = number(words, "capture", 0) ? streams[handle - handles] : NULL;
  if (stream && hip_begin_capture(stream, 0))
    fail("hipStreamBeginCapture");
  struct miopen_bridge_answer answer = {-1, -1};
  const struct miopen_bridge_convolution *problem = number(words, "nullproblem", 0) ? NULL : &p;
  CHECKED(bridge.convolution_forward(&call, problem, &answer));
  if (stream && hip_end_capture(stream, &graph))
    fail("hipStreamEndCapture");
  if (answer.route == MIOPEN_BRIDGE_NATIVE && number(words, "serve", 1))
    CHECKED(bridge.served_natively(handle));
  synchronize();
  static const char *const routes[] = {"native", "done"}, *const results[] = {"right", "untouched",
                                                                              "wrong"};
  int32_t last = 0;
  const char *text = NULL;
  CHECKED(last = bridge.last_error());
  CHECKED(text = bridge.error_text(answer.route ? answer.status : 7, "NATIVE"));
  printf("%s status=%d y=%s last=%d text=%s\n", routes[answer.route],
         answer.route ? answer.status : 0, results[compare(&p, x, w, y)], last, text);
  if (call.workspace)
    release(call.workspace);
  release(x), release(w), release(y);
}

struct work {
  int index, calls, shapes;
  char *handle;
  int done, right;
};

static pthread_barrier_t barrier;

static void *work(void *argument) {
  struct work *work = argument;
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < work->calls; i++) {
    struct shape s = {1, 2, 6, 5 + (work->index + i) % work->shapes, 2, 3, 1, 1, 1, 1, false};
    struct miopen_bridge_convolution p = problem_of(&s);
    float x[2 * 6 * 128], w[2 * 2 * 9], y[2 * 6 * 128];
    for (size_t j = 0; j < count(&p.x); j++)
      x[j] = value(j, (unsigned)work->index);
    for (size_t j = 0; j < count(&p.w); j++)
      w[j] = value(j, 3);
    struct miopen_bridge_call call = {
        .handle = work->handle, .alpha = 1, .alpha_set = 1, .beta_set = 1, .x = x, .w = w, .y = y};
    struct miopen_bridge_answer answer = {-1, -1};
    CHECKED(bridge.convolution_forward(&call, &p, &answer));
    work->done += answer.route == MIOPEN_BRIDGE_DONE && answer.status == 0;
    work->right += compare(&p, x, w, y) == 0;
  }
  return NULL;
}

static void threads(int n, int calls, int shapes, bool shared, void *stream) {
  struct work *all = calloc((size_t)n, sizeof *all);
  pthread_t *ids = calloc((size_t)n, sizeof *ids);
  for (int i = 0; i < n; i++) {
    all[i] = (struct work){i, calls, shapes, &handles[shared ? 1000 : 1000 + i], 0, 0};
    if (!shared || !i)
      CHECKED(bridge.handle_created(all[i].handle, stream));
  }
  pthread_barrier_init(&barrier, NULL, (unsigned)n + 1);
  for (int i = 0; i < n; i++)
    if (pthread_create(&ids[i], NULL, work, &all[i]))
      fail("pthread_create");
  pthread_barrier_wait(&barrier);
  int64_t start = clock_ns();
  int done = 0, right = 0;
  for (int i = 0; i < n; i++) {
    pthread_join(ids[i], NULL);
    done += all[i].done;
    right += all[i].right;
  }
  printf("threads done=%d right=%d ms=%lld\n", done, right,
         (long long)(clock_ns() - start) / 1000000);
  for (int i = 0; i < n; i++)
    if (!shared || !i)
      CHECKED(bridge.handle_destroyed(all[i].handle));
  free(all);
  free(ids);
}

struct failing {
  const char *text;
  char copy[512];
};

static void *fail_once(void *argument) {
  struct failing *f = argument;
  struct shape s = {1, 2, 6, 6, 2, 3, 1, 1, 1, 1, false};
  struct miopen_bridge_convolution p = problem_of(&s);
  static _Alignas(256) float x[256], w[256], y[256];
  struct miopen_bridge_call call = {
      .handle = &handles[3000], .alpha = 1, .alpha_set = 1, .beta_set = 1, .x = x, .w = w, .y = y};
  struct miopen_bridge_answer answer = {-1, -1};
  bridge.convolution_forward(&call, &p, &answer);
  f->text = bridge.error_text(answer.status, "NATIVE");
  snprintf(f->copy, sizeof f->copy, "%s", f->text);
  return NULL;
}

static void texts(int n) {
  struct failing *all = calloc((size_t)n, sizeof *all);
  bridge.handle_created(&handles[3000], NULL);
  int kept = 0;
  for (int i = 0; i < n; i++) {
    pthread_t id;
    if (pthread_create(&id, NULL, fail_once, &all[i]))
      fail("pthread_create");
    pthread_join(id, NULL);
  }
  for (int i = 0; i < n; i++)
    kept += strstr(all[i].copy, "[hipDNN-forwarded]") && !strcmp(all[i].copy, all[i].text);
  printf("texts kept=%d\n", kept);
  bridge.handle_destroyed(&handles[3000]);
  free(all);
}

static void *misuse(void *counter) {
  for (int i = 0; i < 100000; i++)
    (*(volatile int *)counter)++;
  return NULL;
}

static void misuses(void) {
  pthread_t ids[2];
  volatile size_t size = 4;
  char *block = calloc(1, size);
  for (int i = 0; i < 2; i++)
    if (pthread_create(&ids[i], NULL, misuse, block))
      fail("pthread_create");
  for (int i = 0; i < 2; i++)
    pthread_join(ids[i], NULL);
  printf("read %d\n", ((volatile char *)block)[size]);
  free(block);
}

/* The backend calls of an execution, by themselves. */
static void backend_calls(void *backend, int n) {
  int (*create)(int, void **) = dlsym(backend, "hipdnnBackendCreateDescriptor");
  int (*set)(void *, int, int, int64_t, const void *) = dlsym(backend, "hipdnnBackendSetAttribute");
  int (*finalize)(void *) = dlsym(backend, "hipdnnBackendFinalize");
  int (*execute)(void *, void *, void *) = dlsym(backend, "hipdnnBackendExecute");
  int (*destroy)(void *) = dlsym(backend, "hipdnnBackendDestroyDescriptor");
  for (int i = 0; i < n; i++) {
    void *pack = NULL;
    create(11, &pack);
    set(pack, 700, 3, 0, NULL);
    set(pack, 701, 6, 0, NULL);
    set(pack, 703, 6, 0, NULL);
    finalize(pack);
    execute(NULL, NULL, pack);
    destroy(pack);
  }
}

static void bench(int n) {
  char *handle = &handles[4000];
  CHECKED(bridge.handle_created(handle, NULL));
  struct shape s = {1, 2, 6, 6, 2, 3, 1, 1, 1, 1, false};
  struct miopen_bridge_convolution p = problem_of(&s);
  static float x[256], w[256], y[256];
  struct miopen_bridge_call call = {
      .handle = handle, .alpha = 1, .alpha_set = 1, .beta_set = 1, .x = x, .w = w, .y = y};
  struct miopen_bridge_answer answer;
  for (int i = 0; i < 1000; i++)
    bridge.convolution_forward(&call, &p, &answer);
  int64_t best = INT64_MAX;
  for (int block = 0; block < 20; block++) {
    int64_t start = clock_ns();
    for (int i = 0; i < n; i++)
      bridge.convolution_forward(&call, &p, &answer);
    int64_t took = (clock_ns() - start) / n;
    if (took < best)
      best = took;
  }
  int64_t least = INT64_MAX;
  void *backend = dlopen(getenv("HIPDNN_BACKEND_LIBRARY_PATH"), RTLD_NOW | RTLD_NOLOAD);
  if (!backend)
    fail("bench wants the backend's file in HIPDNN_BACKEND_LIBRARY_PATH");
  for (int block = 0; block < 20; block++) {
    int64_t start = clock_ns();
    backend_calls(backend, n);
    int64_t took = (clock_ns() - start) / n;
    if (took < least)
      least = took;
  }
  printf("bench ns=%lld backend=%lld route=%d status=%d\n", (long long)best, (long long)least,
         answer.route, answer.status);
  CHECKED(bridge.handle_destroyed(handle));
}

static void run(char *line) {
  char *words[64] = {NULL};
  int n = 0;
  for (char *word = strtok(line, " \n"); word && n < 63; word = strtok(NULL, " \n"))
    words[n++] = word;
  if (!n)
    return;
  const char *command = words[0];
  int first = n > 1 ? atoi(words[1]) : 0;
  char *handle = &handles[first < 0 ? 0 : first];
  void *stream = n > 2 ? (void *)(uintptr_t)strtoull(words[2], NULL, 0) : NULL;
  if (!strcmp(command, "create")) {
    CHECKED(bridge.handle_created(handle, stream));
  } else if (!strcmp(command, "destroy")) {
    CHECKED(bridge.handle_destroyed(handle));
  } else if (!strcmp(command, "stream")) {
    CHECKED(bridge.stream_set(handle, stream));
  } else if (!strcmp(command, "newstream")) {
    if (hip_stream_create(&streams[first]))
      fail("hipStreamCreate");
    CHECKED(bridge.stream_set(handle, streams[first]));
  } else if (!strcmp(command, "device")) {
    int before = -1;
    hip_get_device(&before);
    printf("device %d\n", before);
    hip_set_device(first);
  } else if (!strcmp(command, "profiling")) {
    CHECKED(bridge.profiling_set(handle, atoi(words[2])));
  } else if (!strcmp(command, "native")) {
    native_times[first] = (float)atof(words[2]);
  } else if (!strcmp(command, "time")) {
    float ms = 0;
    CHECKED(ms = bridge.kernel_time(handle, native_times[first]));
    printf("time %.6f\n", (double)ms);
  } else if (!strcmp(command, "conv")) {
    convolve(handle, words + 2);
  } else if (!strcmp(command, "setenv")) {
    setenv(words[1], words[2], 1);
  } else if (!strcmp(command, "limit")) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = first < 0 ? limit.rlim_max : (rlim_t)first;
    setrlimit(RLIMIT_FSIZE, &limit);
  } else if (!strcmp(command, "served")) {
    CHECKED(bridge.served_natively(handle));
  } else if (!strcmp(command, "unasked")) {
    CHECKED(bridge.unasked((uint64_t)first, (uint64_t)atoi(words[2])));
  } else if (!strcmp(command, "text")) {
    const char *text = NULL;
    CHECKED(text = bridge.error_text(first, "NATIVE"));
    printf("text=%s last=%d\n", text, bridge.last_error());
  } else if (!strcmp(command, "stats")) {
    struct miopen_bridge_statistics s;
    CHECKED(bridge.statistics(&s));
    printf("forwarded=%llu native=%llu failed=%llu hits=%llu builds=%llu",
           (unsigned long long)s.forwarded, (unsigned long long)s.native,
           (unsigned long long)s.failed, (unsigned long long)s.plan_hits,
           (unsigned long long)s.plan_builds);
    if (s.plan_loads) /* few scenes keep plans on disk */
      printf(" loads=%llu", (unsigned long long)s.plan_loads);
    printf("\n");
  } else if (!strcmp(command, "threads")) {
    threads(first, atoi(words[2]), atoi(words[3]), !strcmp(words[4], "shared"),
            words[5] ? (void *)(uintptr_t)strtoull(words[5], NULL, 0) : NULL);
  } else if (!strcmp(command, "misuse")) {
    misuses();
  } else if (!strcmp(command, "texts")) {
    texts(first);
  } else if (!strcmp(command, "churn")) {
    for (int i = 0; i < first; i++) {
      char *none[] = {NULL};
      CHECKED(bridge.handle_created(&handles[2000 + i % 3], NULL));
      convolve(&handles[2000 + i % 3], none);
      CHECKED(bridge.handle_destroyed(&handles[2000 + i % 3]));
    }
  } else if (!strcmp(command, "bench")) {
    bench(first);
  } else if (!strcmp(command, "finish")) {
    CHECKED(bridge.finish());
  } else {
    fail(command);
  }
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  void *private = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
  if (!private)
    fail(dlerror());
  hip_malloc = dlsym(private, "hipMalloc");
  hip_free = dlsym(private, "hipFree");
  hip_synchronize = dlsym(private, "hipDeviceSynchronize");
  hip_stream_create = dlsym(private, "hipStreamCreate");
  hip_set_device = dlsym(private, "hipSetDevice");
  hip_get_device = dlsym(private, "hipGetDevice");
  hip_exchange_mode = dlsym(private, "hipThreadExchangeStreamCaptureMode");
  hip_begin_capture = dlsym(private, "hipStreamBeginCapture");
  hip_end_capture = dlsym(private, "hipStreamEndCapture");
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(dlerror());
  int (*open)(const struct miopen_bridge_host *, struct miopen_bridge_table *) =
      dlsym(library, MIOPEN_BRIDGE_OPEN);
  struct miopen_bridge_host host = {
      MIOPEN_BRIDGE_VERSION, sizeof host, argv[2], argv[3], message, native_time};
  if (getenv("HOST_VERSION"))
    host.version = (uint32_t)atoi(getenv("HOST_VERSION"));
  if (getenv("HOST_CANNOT_TELL_TIME"))
    host.kernel_time = NULL;
  int result = -1;
  CHECKED(result = open(&host, &bridge));
  printf("open %d\n", result);
  if (result)
    return 0;
  char line[4096];
  while (fgets(line, sizeof line, stdin))
    run(line);
  return 0;
}
