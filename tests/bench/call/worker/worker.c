/**
 * @file
 * Nanoseconds per call of several functions, measured in one process, in interleaved blocks.
 *
 *     worker ROUNDS MILLISECONDS SEED (NAME LIBRARY FUNCTION)...
 *
 * Each triple is a variant. FUNCTION is in LIBRARY and is either a name, of a function with the
 * prototype of miopenGetVersion, or two names joined by '+', of functions with the prototypes of
 * miopenCreate and miopenDestroy that are called in turn; one call is then the pair. FUNCTION "-"
 * is a loop that calls nothing, whatever LIBRARY is. Libraries are opened in the order of the
 * variants with RTLD_GLOBAL, so that a later one may use what an earlier one defines.
 *
 * Every variant is called through a pointer from dlsym, in a round by the same machine code, so
 * that they differ in nothing but the address. A block lasts about MILLISECONDS; a round is one
 * block of each variant, in an order that the generator started with SEED chooses.
 *
 * Output, for each round and variant in the order they were given: NAME, tab, nanoseconds per
 * call. Exit status: 0; 1 when something cannot be measured, with the reason on stderr; 2 for
 * usage. A status other than 0 from any call counts as that, and so do two variants that report
 * different versions: they did not reach the same implementation.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int (*version_fn)(size_t *major, size_t *minor, size_t *patch);
typedef int (*create_fn)(void **object);
typedef int (*destroy_fn)(void *object);

struct variant {
  const char *name;
  version_fn version; /* NULL for the others */
  create_fn create;   /* NULL for the loop that calls nothing, too */
  destroy_fn destroy;
  long calls; /* in a block */
};

#define SITE __attribute__((noinline, aligned(64)))

/*
 * Where a caller's code lies decides how the processor predicts the jump that is measured: with one
 * caller the same stub takes one cycle, or three, for the life of a process. So there are several
 * callers, the same loop with more and more padding in it, and rounds take them in turn. The
 * functions return an OR of all statuses.
 */
#define DEFINE_SITE(pad)                                                                           \
  static SITE int run_version_##pad(version_fn f, long calls) {                                    \
    size_t v[3];                                                                                   \
    int bad = 0;                                                                                   \
    for (long i = 0; i < calls; i++) {                                                             \
      __asm__ volatile(".rept " #pad "\n\tnop\n\t.endr" ::: "memory");                             \
      bad |= f(&v[0], &v[1], &v[2]);                                                               \
    }                                                                                              \
    return bad;                                                                                    \
  }
#define FOR_EACH_PAD(X)                                                                            \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

FOR_EACH_PAD(DEFINE_SITE)

#define NAME_OF_SITE(pad) run_version_##pad,

static int (*const version_sites[])(version_fn f, long calls) = {FOR_EACH_PAD(NAME_OF_SITE)};

#define SITES (sizeof version_sites / sizeof version_sites[0])

static SITE int run_pair(create_fn create, destroy_fn destroy, long calls) {
  int bad = 0;
  for (long i = 0; i < calls; i++) {
    void *object = NULL;
    bad |= create(&object);
    bad |= destroy(object);
  }
  return bad;
}

static SITE int run_nothing(long calls) {
  for (long i = 0; i < calls; i++)
    __asm__ volatile("" ::: "memory");
  return 0;
}

static int run(const struct variant *v, size_t site, long calls) {
  if (v->version != NULL)
    return version_sites[site](v->version, calls);
  if (v->create != NULL)
    return run_pair(v->create, v->destroy, calls);
  return run_nothing(calls);
}

/* Nanoseconds of a block, or -1 if a call failed. */
static double block(const struct variant *v, size_t site, long calls) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  int bad = run(v, site, calls);
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (bad != 0) {
    fprintf(stderr, "worker: %s: a call failed, OR of the statuses %d\n", v->name, bad);
    return -1;
  }
  return (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
}

static void *find(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (address == NULL)
    fprintf(stderr, "worker: %s\n", dlerror());
  return address;
}

/*
 * The first call in a process goes to the slow path of the stub it happens to come through, and a
 * branch that was taken once costs that stub a cycle from then on. That is one entry point of 271,
 * and not the one that is measured.
 */
static void warm(void *library) {
  const char *(*text)(int) = (const char *(*)(int))dlsym(library, "miopenGetErrorString");
  if (text != NULL) /* the private library and the peers have none */
    text(0);
}

static int resolve(struct variant *v, const char *path, const char *function) {
  if (strcmp(function, "-") == 0)
    return 0;
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    fprintf(stderr, "worker: %s\n", dlerror());
    return -1;
  }
  warm(library);
  const char *plus = strchr(function, '+');
  if (plus == NULL) {
    v->version = (version_fn)find(library, function);
    return v->version == NULL ? -1 : 0;
  }
  char first[128];
  if ((size_t)(plus - function) >= sizeof first) {
    fprintf(stderr, "worker: the name of a function is too long: %s\n", function);
    return -1;
  }
  memcpy(first, function, (size_t)(plus - function));
  first[plus - function] = '\0';
  v->create = (create_fn)find(library, first);
  v->destroy = (destroy_fn)find(library, plus + 1);
  return v->create == NULL || v->destroy == NULL ? -1 : 0;
}

/* All variants with a version report the same one. */
static int same_version(const struct variant *variants, int count) {
  size_t want[3] = {0, 0, 0};
  const char *from = NULL;
  for (int i = 0; i < count; i++) {
    size_t got[3] = {0, 0, 0};
    if (variants[i].version == NULL)
      continue;
    if (variants[i].version(&got[0], &got[1], &got[2]) != 0 || got[0] == 0) {
      fprintf(stderr, "worker: %s: the first call failed\n", variants[i].name);
      return -1;
    }
    if (from != NULL && memcmp(got, want, sizeof got) != 0) {
      fprintf(stderr, "worker: %s says %zu.%zu.%zu, %s says %zu.%zu.%zu\n", from, want[0], want[1],
              want[2], variants[i].name, got[0], got[1], got[2]);
      return -1;
    }
    from = variants[i].name;
    memcpy(want, got, sizeof got);
  }
  return 0;
}

/* Doubles the number of calls until a block takes long enough, whatever first calls have to prepare
 * and however often the process is interrupted: the shortest of a few tries counts. */
static int calibrate(struct variant *v, double nanoseconds) {
  for (v->calls = 1;; v->calls *= 2) {
    double shortest = block(v, 0, v->calls);
    for (int try = 0; try < 4 && shortest >= nanoseconds / 2; try++) {
      double took = block(v, 0, v->calls);
      shortest = took < shortest ? took : shortest;
    }
    if (shortest < 0)
      return -1;
    if (shortest >= nanoseconds / 2)
      return 0;
  }
}

static uint64_t next(uint64_t *state) {
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}

static void shuffle(int *order, int count, uint64_t *state) {
  for (int i = count - 1; i > 0; i--) {
    int j = (int)(next(state) % (uint64_t)(i + 1));
    int kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
}

/* One round, and its rows. */
static int measure(const struct variant *variants, int *order, int count, size_t site, double *ns) {
  for (int i = 0; i < count; i++) {
    const struct variant *v = &variants[order[i]];
    if (run(v, site, v->calls / 100 + 1) != 0) /* the predictors learn the new address */
      return -1;
    double took = block(v, site, v->calls);
    if (took < 0)
      return -1;
    ns[order[i]] = took / (double)v->calls;
  }
  for (int i = 0; i < count; i++)
    printf("%s\t%.4f\n", variants[i].name, ns[i]);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 7 || (argc - 4) % 3 != 0) {
    fprintf(stderr, "usage: worker ROUNDS MILLISECONDS SEED (NAME LIBRARY FUNCTION)...\n");
    return 2;
  }
  long rounds = strtol(argv[1], NULL, 10);
  double nanoseconds = strtod(argv[2], NULL) * 1e6;
  uint64_t state = strtoull(argv[3], NULL, 10) * 2 + 1; /* never 0, where xorshift stays */
  int count = (argc - 4) / 3;
  struct variant *variants = calloc((size_t)count, sizeof *variants);
  int *order = calloc((size_t)count, sizeof *order);
  double *ns = calloc((size_t)count, sizeof *ns);
  if (variants == NULL || order == NULL || ns == NULL)
    return 1;
  for (int i = 0; i < count; i++) {
    char **triple = argv + 4 + 3 * i;
    variants[i].name = triple[0];
    order[i] = i;
    if (resolve(&variants[i], triple[1], triple[2]) != 0)
      return 1;
  }
  if (same_version(variants, count) != 0)
    return 1;
  for (int i = 0; i < count; i++)
    if (calibrate(&variants[i], nanoseconds) != 0)
      return 1;
  for (long round = 0; round < rounds; round++) {
    shuffle(order, count, &state);
    if (measure(variants, order, count, (size_t)round % SITES, ns) != 0)
      return 1;
  }
  free(ns);
  free(order);
  free(variants);
  return fflush(stdout) == 0 ? 0 : 1;
}
