#include "hooks.h"
#include "bridge.h"
#include "os.h"
#include "pairing.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum known {
#define SHIM_HOOK(result, name, parameters) KNOWN_##name,
#define SHIM_USE(result, name, parameters)
#include "hooks.def"
  HOOKS,
  BEFORE_USES = HOOKS - 1,
#undef SHIM_HOOK
#undef SHIM_USE
#define SHIM_HOOK(result, name, parameters)
#define SHIM_USE(result, name, parameters) KNOWN_##name,
#include "hooks.def"
  KNOWN
};
#undef SHIM_HOOK
#undef SHIM_USE

/* In the order of the enumeration. */
static const char *known_name(enum known function) {
  switch (function) {
#define SHIM_HOOK(result, name, parameters)                                                        \
  case KNOWN_##name:                                                                               \
    return #name;
#define SHIM_USE SHIM_HOOK
#include "hooks.def"
#undef SHIM_HOOK
#undef SHIM_USE
  default:
    return "";
  }
}

/* Index of each known function plus one, 0 for one that this MIOpen does not have. */
static uint32_t known_index[KNOWN];

__attribute__((always_inline)) static inline const void *implementation(enum known function) {
  uint32_t index = known_index[function];
  return index ? miopen_shim_slots[index - 1] : NULL;
}

/* IMPL(miopenFoo)(arguments) calls miopenFoo_impl. */
#define SHIM_HOOK(result, name, parameters) typedef result(*name##_function) parameters;
#define SHIM_USE SHIM_HOOK
#include "hooks.def"
#undef SHIM_HOOK
#undef SHIM_USE
#define IMPL(name) ((name##_function)implementation(KNOWN_##name))

/* The names are in byte order. Returns the index plus one, or 0. */
static uint32_t find_name(const char *name) {
  uint32_t low = 0, high = miopen_shim_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const char *a = miopen_shim_names + miopen_shim_name_offsets[middle], *b = name;
    while (*a && *a == *b)
      a++, b++;
    if (*a == *b)
      return middle + 1;
    if ((unsigned char)*a < (unsigned char)*b)
      low = middle + 1;
    else
      high = middle;
  }
  return 0;
}

/* Calls that are to be forwarded and cannot be, since the forwarding library is not there, fail:
 * the policy is strict, and nothing keeps them with MIOpen. */
static bool strict;

static bool is_set(const char *value) {
  return value && *value;
}

static bool is_on(const char *value) {
  return shim_read_switch(value) == SHIM_SWITCH_ON;
}

static bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_not_zero(const char *value) {
  if (!is_set(value))
    return false;
  while (is_blank(*value))
    value++;
  if (value[0] == '0' && (value[1] == 'x' || value[1] == 'X'))
    value += 2;
  const char *digits = value;
  while (*value == '0')
    value++;
  const char *end = value;
  while (is_blank(*end))
    end++;
  return value == digits || *end;
}

/* Whether a list that is separated by commas names the convolution, or everything. */
static bool lists_convolution(const char *list) {
  static const char name[] = "miopenConvolutionForward";
  while (list && *list) {
    const char *end = list;
    while (*end && *end != ',')
      end++;
    const char *next = *end ? end + 1 : end;
    while (list < end && is_blank(*list))
      list++;
    while (list < end && is_blank(end[-1]))
      end--;
    size_t length = (size_t)(end - list);
    if ((length == 1 && *list == '*') || (length == sizeof name - 1 && !memcmp(list, name, length)))
      return true;
    list = next;
  }
  return false;
}

/* Whether the environment has convolutions stay with MIOpen, by what the forwarding library would
 * say if it were there. */
static bool kept_native(void) {
  const char *convolutions = secure_getenv("MIOPEN_HIPDNN_FORWARDING_CONV");
  if ((is_set(convolutions) && !is_on(convolutions)) ||
      lists_convolution(secure_getenv("MIOPEN_DISABLE_HIPDNN_FOR")))
    return true;
#define SHIM_NATIVE(variable, applies)                                                             \
  if (applies(secure_getenv(#variable)))                                                           \
    return true;
#include "native.def"
#undef SHIM_NATIVE
  return false;
}

static bool is_strict(void) {
  const char *policy = secure_getenv("MIOPEN_HIPDNN_FORWARDING_POLICY");
  return policy && shim_equal_ignoring_case(policy, "strict") && !kept_native();
}

uint32_t shim_hooks_start(void) {
  strict = is_strict();
  uint32_t hooks = 0;
  bool complete = true;
  for (enum known k = 0; k < KNOWN; k++) {
    uint32_t index = find_name(known_name(k));
    known_index[k] = index && miopen_shim_slots[index - 1] ? index : 0;
    if (known_index[k])
      hooks += k < HOOKS;
    else if (k >= HOOKS && k != KNOWN_miopenGetTensorCastType)
      complete = false;
  }
  /* A cast that can be set and not be read would be lost. */
  if (!known_index[KNOWN_miopenGetTensorCastType] && find_name("miopenSetTensorCastType"))
    complete = false;
  if (complete)
    return hooks;
  for (enum known k = 0; k < HOOKS; k++)
    known_index[k] = 0;
  return 0;
}

/* The forwarding library. */

static struct miopen_bridge_table bridge;
/* 0: not opened yet. */
#define BRIDGE_OPEN 1
#define BRIDGE_ABSENT 2
static uint32_t bridge_state;
/* Convolutions that ended without the forwarding library: those that came while it was being
 * opened, and all when it cannot be used. The library has the account once it is there, and is told
 * of them before that is read. */
static uint64_t served, refused;
/* This thread's last convolution was refused. */
static __thread bool last_refused __attribute__((tls_model("initial-exec")));
enum { hipdnn_not_initialized = 1 }; /* hipdnnStatus_t */
/* This thread is in the forwarding library. An engine of hipDNN that is linked against this
 * libMIOpen calls it from there, and is to get MIOpen. */
static __thread bool inside __attribute__((tls_model("initial-exec")));
/* 0 in a child of the process that opened the forwarding library, or was about to: there it must
 * not be called, since the threads that it had are not there. From the opening on the mark is in a
 * page that the kernel clears in every child, made by fork or by a bare clone, so that a call pays
 * no more for it than a read. Linux before 4.14 does not clear it. There the handler of fork does,
 * and a child of a bare clone is not noticed. One of vfork has its parent's memory. */
static uint8_t unforked = 1, *not_child = &unforked;

__attribute__((always_inline)) static inline bool in_child(void) {
  return !*__atomic_load_n(&not_child, __ATOMIC_ACQUIRE);
}

static void after_fork_in_child(void) {
  *not_child = 0;
}

/* Weak, so that a wrapper starts where the process has no libdl: before glibc 2.34 these were there
 * and not in libc. */
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlerror

/* Registers a handler that runs in the child of every fork. What pthread_atfork is made of, and in
 * libc itself. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *dso);
extern int __cxa_atexit(void (*function)(void *), void *argument, void *dso);

/* Messages of the forwarding library, from any thread. */
static void bridge_message(const char *text) {
  char space[1024];
  struct shim_line line = {space, sizeof space, 0};
  shim_append(&line, SHIM_PREFIX);
  shim_append(&line, text);
  shim_write_line(&line);
}

/* In Linux since 4.14, in <sys/mman.h> later. */
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* Where there is no page to be had, the handler alone tells. */
static void watch_forks(void) {
  enum { page_size = 4096 };
  __register_atfork(NULL, NULL, after_fork_in_child, NULL);
  long page = SHIM_SYSCALL6(SYS_mmap, 0, page_size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (SHIM_FAILED(page))
    return;
  uint8_t *mark = (uint8_t *)page;
  *mark = 1;
  SHIM_SYSCALL3(SYS_madvise, page, page_size, MADV_WIPEONFORK);
  __atomic_store_n(&not_child, mark, __ATOMIC_RELEASE);
}

/* Hands over what was counted without the library. */
static void tell_unasked(void) {
  bridge.unasked(__atomic_exchange_n(&served, 0, __ATOMIC_RELAXED),
                 __atomic_exchange_n(&refused, 0, __ATOMIC_RELAXED));
}

static void bridge_finish(void *unused) {
  (void)unused;
  if (in_child())
    return;
  tell_unasked();
  bridge.finish();
}

static float native_kernel_time(void *handle) {
  float milliseconds = 0;
  return IMPL(miopenGetKernelTime)(handle, &milliseconds) == 0 ? milliseconds : 0;
}

/* Says what stands in the way, once. */
static void bridge_absent(const char *why, const char *detail) {
  char space[2048];
  struct shim_line line = {space, sizeof space, 0};
  shim_append(&line, SHIM_PREFIX);
  shim_append(&line, "forwarding to hipDNN is not possible: ");
  shim_append(&line, why);
  if (detail) {
    shim_append(&line, ": ");
    shim_append(&line, detail);
  }
  shim_append(&line,
              strict ? "; calls that are to be forwarded fail" : "; MIOpen serves every call");
  shim_write_line(&line);
}

/* The kernel's structure for SIGPIPE. */
struct disposition {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  shim_signals mask;
};

/* Go's run time takes SIGPIPE when it starts. Its handler ends the process as the default does
 * where it comes in a thread that is not in Go, and makes nothing of it elsewhere, such as in an
 * engine. With its own back, the process is what it was. A handler of the host's is called by Go's.
 */
static void put_sigpipe_back(const struct disposition *before) {
  if (before->handler == SIG_DFL || before->handler == SIG_IGN)
    SHIM_SYSCALL4(SYS_rt_sigaction, SIGPIPE, before, NULL, sizeof before->mask);
}

/* Finds, opens and asks. Returns the state that is reached. */
static uint32_t find_bridge(void) {
  if (!dlopen || !dlsym || !dlerror) {
    bridge_absent("the process has no dlopen", NULL);
    return BRIDGE_ABSENT;
  }
  watch_forks(); /* before the library has threads, which a child would not have */
  /* By name: beside the wrapper, which is its RUNPATH, unless LD_LIBRARY_PATH says otherwise. */
  void *library = dlopen(MIOPEN_BRIDGE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    bridge_absent("the forwarding library does not load", dlerror());
    return BRIDGE_ABSENT;
  }
  int (*open)(const struct miopen_bridge_host *, struct miopen_bridge_table *) =
      (int (*)(const struct miopen_bridge_host *, struct miopen_bridge_table *))dlsym(
          library, MIOPEN_BRIDGE_OPEN);
  int (*forked)(void) = open ? (int (*)(void))dlsym(library, MIOPEN_BRIDGE_FORKED) : NULL;
  if (!forked) {
    bridge_absent(MIOPEN_BRIDGE_LIBRARY " is not of this shim", dlerror());
    return BRIDGE_ABSENT;
  }
  if (forked()) { /* hipDNN's plugin loaded it, in the parent */
    *not_child = 0;
    return BRIDGE_ABSENT;
  }
  static struct miopen_bridge_host host = {
      .version = MIOPEN_BRIDGE_VERSION,
      .size = sizeof host,
      .message = bridge_message,
      .kernel_time = native_kernel_time,
  };
  host.wrapper = shim_file_of(&miopen_shim_state);
  host.private_library = shim_file_of(miopen_shim_slots[0]);
  bridge.version = MIOPEN_BRIDGE_VERSION;
  bridge.size = sizeof bridge;
  if (open(&host, &bridge)) { /* it has said why */
    bridge_absent("the forwarding library cannot serve this process", NULL);
    return BRIDGE_ABSENT;
  }
  __cxa_atexit(bridge_finish, NULL, NULL);
  return BRIDGE_OPEN;
}

/* Go's run time takes its signals before dlopen() returns, whatever comes of the library then. */
static uint32_t bridge_load(void) {
  struct disposition sigpipe = {0};
  SHIM_SYSCALL4(SYS_rt_sigaction, SIGPIPE, NULL, &sigpipe, sizeof sigpipe.mask);
  uint32_t state = find_bridge();
  put_sigpipe_back(&sigpipe);
  return state;
}

/* Whether the forwarding library can be called. Opens it at the first call. Not for a call that
 * arrives while this thread is at that, from a signal handler or from within the library, nor for
 * one that waits for too long: its thread may be in the loader, which the opening wants. */
static bool bridge_ready(void) {
  if (in_child() || inside)
    return false;
  uint32_t state = __atomic_load_n(&bridge_state, __ATOMIC_ACQUIRE);
  if (!state) {
    static uint64_t claim;
    int host_errno = errno;
    /* Signals are not blocked: the threads of the library would inherit that. */
    if (shim_claim_within(&claim, &bridge_state, 2) == SHIM_CLAIM_OURS)
      shim_settle(&bridge_state, bridge_load());
    errno = host_errno;
    state = __atomic_load_n(&bridge_state, __ATOMIC_ACQUIRE);
  }
  return state == BRIDGE_OPEN;
}

/* Whether it has been opened already, for functions that need not open it. */
static bool bridge_opened(void) {
  return !in_child() && !inside && __atomic_load_n(&bridge_state, __ATOMIC_ACQUIRE) == BRIDGE_OPEN;
}

/* A call of the forwarding library. */
#define INSIDE(call)                                                                               \
  do {                                                                                             \
    inside = true;                                                                                 \
    call;                                                                                          \
    inside = false;                                                                                \
  } while (0)

/* What a descriptor says. */

enum {
  status_success = 0,
  status_bad_parameter = 3,
  status_internal_error = 5,
  type_half = 0,
  type_double = 6,
  type_float8 = 7,
  type_bfloat8 = 8,
};

static uint32_t bytes_of(int type) {
  static const uint8_t bytes[] = {2, 4, 4, 1, 0, 2, 8, 1, 1, 8}; /* by miopenDataType_t */
  return (unsigned)type < sizeof bytes ? bytes[type] : 0;
}

static void read_tensor(void *descriptor, struct miopen_bridge_tensor *tensor) {
  int rank = 0, type = 0;
  tensor->cast = -1;
  if (IMPL(miopenGetTensorDescriptorSize)(descriptor, &rank) != status_success || rank <= 0)
    return;
  tensor->rank = rank;
  if (rank > MIOPEN_BRIDGE_MAX_RANK)
    return;
  if (IMPL(miopenGetTensorDescriptor)(descriptor, &type, tensor->dims, tensor->strides) !=
      status_success) {
    tensor->rank = 0;
    return;
  }
  tensor->type = type;
  uint64_t last = 0;
  for (int i = 0; i < rank; i++)
    last += (uint64_t)(tensor->dims[i] - 1) * (uint64_t)tensor->strides[i];
  /* Vectors of channels, and dimensions that do not fit an int, show in the size. */
  size_t size = 0;
  tensor->vectorised = IMPL(miopenGetTensorNumBytes)(descriptor, &size) != status_success ||
                       size != (last + 1) * bytes_of(type);
  if (known_index[KNOWN_miopenGetTensorCastType]) {
    int cast = type; /* what MIOpen gives where there is none */
    if (IMPL(miopenGetTensorCastType)(descriptor, &cast) != status_success)
      tensor->rank = 0;
    else if (cast != type)
      tensor->cast = cast;
  }
}

static int32_t read_attribute(void *descriptor, int attribute) {
  int value = -1;
  return IMPL(miopenGetConvolutionAttribute)(descriptor, attribute, &value) == status_success
             ? value
             : -1;
}

/* What compilers make of an initialiser of this size, rep stos, takes a tenth of the time that
 * there is for a call. */
static void clear(struct miopen_bridge_convolution *problem) {
  typedef long long pair __attribute__((vector_size(16), aligned(4), may_alias));
  const pair zero = {0};
  char *at = (char *)problem;
  size_t i = 0;
  for (; i + sizeof zero <= sizeof *problem; i += sizeof zero)
    *(pair *)(at + i) = zero;
  *(pair *)(at + sizeof *problem - sizeof zero) = zero;
}

/* X is the problem's, and is read already. */
static void read_convolution(void *descriptor, struct miopen_bridge_convolution *problem) {
  int spatial = 0, groups = 0, mode = -1, type = problem->x.type;
  problem->deterministic = read_attribute(descriptor, 1);
  problem->fp16_alternative = type == type_half ? read_attribute(descriptor, 0) : -1;
  problem->fp8_rounding =
      type == type_float8 || type == type_bfloat8 ? read_attribute(descriptor, 2) : -1;
  /* Most convolutions have the dimensions of their tensors. The function refuses more than there
   * are, and tells how many there are. */
  int requested = problem->x.rank - 2;
  if (requested < 1 || requested > MIOPEN_BRIDGE_MAX_SPATIAL ||
      IMPL(miopenGetConvolutionNdDescriptor)(descriptor, requested, &spatial, problem->pads,
                                             problem->strides, problem->dilations,
                                             &mode) != status_success ||
      spatial != requested) {
    memset(problem->pads, 0, sizeof problem->pads);
    memset(problem->strides, 0, sizeof problem->strides);
    memset(problem->dilations, 0, sizeof problem->dilations);
    if (IMPL(miopenGetConvolutionSpatialDim)(descriptor, &spatial) != status_success ||
        spatial <= 0)
      return;
    problem->spatial = spatial;
    if (spatial > MIOPEN_BRIDGE_MAX_SPATIAL)
      return;
    requested = spatial;
    if (IMPL(miopenGetConvolutionNdDescriptor)(descriptor, requested, &spatial, problem->pads,
                                               problem->strides, problem->dilations,
                                               &mode) != status_success)
      spatial = 0;
  }
  if (spatial != requested ||
      IMPL(miopenGetConvolutionGroupCount)(descriptor, &groups) != status_success) {
    problem->spatial = 0;
    return;
  }
  problem->spatial = spatial;
  problem->groups = groups;
  problem->mode = mode;
}

/* The scalars of the API are double for double tensors and float for all others. */
static double read_scalar(const void *scalar, int type) {
  if (!scalar)
    return 0;
  return type == type_double ? *(const double *)scalar : (double)*(const float *)scalar;
}

/* The hooks. Calls that they make of the implementation keep the order that the application has. */

#define SHIM_HOOK(result, name, parameters) static result hook_##name parameters;
#define SHIM_USE(result, name, parameters)
#include "hooks.def"
#undef SHIM_HOOK
#undef SHIM_USE

static int hook_miopenCreate(void **handle) {
  int status = IMPL(miopenCreate)(handle);
  if (status == status_success && bridge_ready())
    INSIDE(bridge.handle_created(*handle, NULL));
  return status;
}

static int hook_miopenCreateWithStream(void **handle, void *stream) {
  int status = IMPL(miopenCreateWithStream)(handle, stream);
  if (status == status_success && bridge_ready())
    INSIDE(bridge.handle_created(*handle, stream));
  return status;
}

static int hook_miopenDestroy(void *handle) {
  if (bridge_opened())
    INSIDE(bridge.handle_destroyed(handle));
  return IMPL(miopenDestroy)(handle);
}

static int hook_miopenSetStream(void *handle, void *stream) {
  int status = IMPL(miopenSetStream)(handle, stream);
  if (status == status_success && bridge_ready())
    INSIDE(bridge.stream_set(handle, stream));
  return status;
}

static int hook_miopenEnableProfiling(void *handle, bool enable) {
  int status = IMPL(miopenEnableProfiling)(handle, enable);
  if (status == status_success && bridge_ready())
    INSIDE(bridge.profiling_set(handle, enable));
  return status;
}

static int hook_miopenGetKernelTime(void *handle, float *milliseconds) {
  int status = IMPL(miopenGetKernelTime)(handle, milliseconds);
  if (status == status_success && bridge_opened())
    INSIDE(*milliseconds = bridge.kernel_time(handle, *milliseconds));
  return status;
}

static const char *hook_miopenGetErrorString(int status) {
  const char *native = IMPL(miopenGetErrorString)(status);
  if (last_refused && status == status_internal_error)
    return "[hipDNN-forwarded] miopenConvolutionForward: the forwarding library "
           "cannot be used, and MIOPEN_HIPDNN_FORWARDING_POLICY is strict";
  return bridge_opened() ? bridge.error_text(status, native) : native;
}

static int hook_miopenConvolutionForward(void *handle, const void *alpha, void *x_desc,
                                         const void *x, void *w_desc, const void *w,
                                         void *convolution, int algorithm, const void *beta,
                                         void *y_desc, void *y, void *workspace,
                                         size_t workspace_bytes) {
  bool ready = bridge_ready(), unasked = !ready && !in_child() && !inside;
  last_refused = unasked && strict;
  if (unasked)
    __atomic_fetch_add(strict ? &refused : &served, 1, __ATOMIC_RELAXED);
  if (last_refused)
    return status_internal_error;
  /* What MIOpen refuses, it refuses itself. */
  if (ready && handle && x_desc && w_desc && y_desc && convolution) {
    struct miopen_bridge_convolution problem;
    clear(&problem);
    read_tensor(x_desc, &problem.x);
    read_tensor(w_desc, &problem.w);
    read_tensor(y_desc, &problem.y);
    read_convolution(convolution, &problem);
    struct miopen_bridge_call call = {
        .handle = handle,
        .alpha = read_scalar(alpha, problem.x.type),
        .beta = read_scalar(beta, problem.x.type),
        .alpha_set = alpha != NULL,
        .beta_set = beta != NULL,
        .x = x,
        .w = w,
        .y = y,
        .workspace = workspace,
        .workspace_bytes = workspace_bytes,
    };
    struct miopen_bridge_answer answer = {MIOPEN_BRIDGE_NATIVE, status_internal_error};
    INSIDE(bridge.convolution_forward(&call, &problem, &answer));
    if (answer.route == MIOPEN_BRIDGE_DONE)
      return answer.status;
  }
  int status =
      IMPL(miopenConvolutionForward)(handle, alpha, x_desc, x, w_desc, w, convolution, algorithm,
                                     beta, y_desc, y, workspace, workspace_bytes);
  if (ready)
    INSIDE(bridge.served_natively(handle));
  return status;
}

/* The functions of miopen_hipdnn_shim.h. */

#define SHIM_PUBLIC __attribute__((visibility("default")))

SHIM_PUBLIC int miopenGetLastForwardedError(void);
SHIM_PUBLIC int miopenGetForwardingStatistics(void *statistics, size_t bytes);

int miopenGetLastForwardedError(void) {
  if (last_refused)
    return hipdnn_not_initialized;
  return bridge_opened() ? bridge.last_error() : 0;
}

int miopenGetForwardingStatistics(void *statistics, size_t bytes) {
  if (!statistics)
    return status_bad_parameter;
  struct miopen_bridge_statistics now = {0};
  if (bridge_opened()) {
    tell_unasked();
    bridge.statistics(&now);
  } else if (!in_child()) { /* it has its parent's */
    now.native = __atomic_load_n(&served, __ATOMIC_RELAXED);
    now.failed = __atomic_load_n(&refused, __ATOMIC_RELAXED);
  }
  memset(statistics, 0, bytes);
  memcpy(statistics, &now, bytes < sizeof now ? bytes : sizeof now);
  return status_success;
}

const void *shim_hook(uint32_t index) {
  static const void *const hooks[] = {
#define SHIM_HOOK(result, name, parameters) [KNOWN_##name] = hook_##name,
#define SHIM_USE(result, name, parameters)
#include "hooks.def"
#undef SHIM_HOOK
#undef SHIM_USE
  };
  for (enum known k = 0; k < HOOKS; k++)
    if (known_index[k] == index + 1)
      return hooks[k];
  return NULL;
}
