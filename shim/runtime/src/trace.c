#include "trace.h"

#include "os.h"

#include <sys/mman.h>

void *shim_own_memory(size_t bytes) {
  long at =
      SHIM_SYSCALL6(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (SHIM_FAILED(at))
    return NULL;
  if (SHIM_SYSCALL3(SYS_madvise, at, bytes, MADV_WIPEONFORK) != 0) {
    SHIM_SYSCALL2(SYS_munmap, at, bytes);
    return NULL;
  }
  return (void *)at;
}

void shim_stderr_call(uint32_t index) {
  /* On the stack, for calls of all threads at once; small, for handlers on a small one. */
  char text[256];
  struct shim_line line = {text, sizeof text, 0};
  shim_append(&line, SHIM_PREFIX);
  shim_append(&line, shim_name(index));
  shim_write_line(&line);
}

/* One counter for each function, in the process's own memory. */
static uint64_t *counts;

static void print_summary(void) {
  uint64_t calls = 0, functions = 0;
  for (uint32_t i = 0; i < miopen_shim_count; i++) {
    uint64_t n = __atomic_load_n(&counts[i], __ATOMIC_RELAXED);
    calls += n;
    functions += n != 0;
  }
  if (!calls)
    return; /* a child that called nothing has nothing to say */
  uint64_t pid = (uint64_t)SHIM_SYSCALL0(SYS_getpid);
  char text[256];
  struct shim_line line = {text, sizeof text, 0};
  shim_message(&line);
  shim_append(&line, "process ");
  shim_append_number(&line, pid);
  shim_append(&line, ": ");
  shim_append_number(&line, calls);
  shim_append(&line, " calls of ");
  shim_append_number(&line, functions);
  shim_append(&line, " functions");
  shim_write_line(&line);
  for (uint32_t i = 0; i < miopen_shim_count; i++) {
    uint64_t n = __atomic_load_n(&counts[i], __ATOMIC_RELAXED);
    if (!n)
      continue;
    line.length = 0;
    shim_message(&line);
    shim_append(&line, "process ");
    shim_append_number(&line, pid);
    shim_append(&line, ": ");
    shim_append_number(&line, n);
    shim_append(&line, " ");
    shim_append(&line, shim_name(i));
    shim_write_line(&line);
  }
}

bool shim_summary_start(struct shim_line *messages) {
  counts = shim_own_memory(sizeof *counts * miopen_shim_count);
  if (counts)
    return true;
  shim_message(messages);
  shim_append(messages, "warning: no memory for the counters of MIOPEN_HIPDNN_TRACE=summary (it "
                        "needs Linux 4.14 or newer): tracing is off");
  return false;
}

void shim_summary_call(uint32_t index) {
  __atomic_fetch_add(&counts[index], 1, __ATOMIC_RELAXED);
}

/* The one function of the wrapper that the loader runs, when the process exits: after the host's
 * exit functions and after the destructors of what depends on this library, whose calls are counted
 * thus. An exit function of the first call would run before those that were registered earlier, and
 * to register one takes a lock and may allocate, which a signal handler must not. */
__attribute__((destructor)) static void finish(void) {
  uint32_t word = __atomic_load_n(&miopen_shim_state, __ATOMIC_ACQUIRE);
  if (word & SHIM_TRACE_SUMMARY)
    print_summary();
  if (word & SHIM_TRACE_RING)
    shim_ring_finish();
}
