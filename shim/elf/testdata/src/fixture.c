// The shared object that the tests of the rewriter edit. It has one of each
// thing that an edit could break: exports at several versions, one of them
// twice under one name; calls to itself through the PLT and through pointers
// in data; a weak definition and a weak import; a constructor; thread-local
// storage; initialised data and .bss.
//
// Macros: NO_VERSIONS drops the versioned names and, with them, every import
// from libc; NO_BSS puts zeros into .data and drops .tbss.

#if defined(NO_VERSIONS)
#define IMPORT(expr, otherwise) (otherwise)
#else
extern unsigned long strlen(const char *);
extern int clock_gettime(int, void *);
#define IMPORT(expr, otherwise) (expr)
#endif

#define EXPORT __attribute__((visibility("default")))
#define FUNCTION EXPORT __attribute__((noinline))

EXPORT int fx_initialised = 11;
#if defined(NO_BSS)
EXPORT __attribute__((section(".data"))) int fx_zeros[7];
#else
EXPORT int fx_zeros[700];
#endif
EXPORT const char *const fx_names[] = {"alpha", "beta", "gamma"};

static _Thread_local volatile int tls_data = 5;
#if !defined(NO_BSS)
static _Thread_local volatile int tls_zero;
#endif

static int constructed = 1;
__attribute__((constructor)) static void construct(void) {
  constructed += 1;
}

FUNCTION int fx_answer(void) {
  return 42;
}
FUNCTION int fx_constructed(void) {
  return constructed;
}

// Goes through the PLT: an fx_answer of the program comes before ours, until
// ours has a name of its own.
FUNCTION int fx_self(void) {
  return fx_answer() + 1;
}

// A relocation against an exported symbol, in data.
EXPORT int (*const fx_table[])(void) = {fx_answer, fx_constructed, fx_self};
FUNCTION int fx_through_table(int i) {
  return fx_table[i]();
}

FUNCTION int fx_tls(void) {
#if !defined(NO_BSS)
  tls_zero += 1;
  return tls_data + tls_zero;
#else
  return ++tls_data;
#endif
}

FUNCTION int fx_zero_sum(void) {
  int sum = 0;
  for (unsigned i = 0; i < sizeof fx_zeros / sizeof *fx_zeros; i++)
    sum += fx_zeros[i];
  return sum;
}

FUNCTION int fx_length(int i) {
  return IMPORT((int)strlen(fx_names[i]), fx_names[i][0] == 'b' ? 4 : 5);
}

FUNCTION int fx_clock(void) {
  long t[2];
  return IMPORT(clock_gettime(1, t), 0);
}

FUNCTION __attribute__((weak)) int fx_weak(void) {
  return 3;
}
extern __attribute__((weak)) int fx_absent(void);
FUNCTION int fx_has_absent(void) {
  return fx_absent != 0;
}

#if defined(NO_VERSIONS)
FUNCTION int fx_twice(void) {
  return 2;
}
#else
__attribute__((noinline, used)) int twice_old(void) {
  return 1;
}
__attribute__((noinline, used)) int twice_new(void) {
  return 2;
}
__asm__(".symver twice_old, fx_twice@FIX_1");
__asm__(".symver twice_new, fx_twice@@FIX_2");
#endif
