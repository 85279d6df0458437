#define _GNU_SOURCE /* CLONE_* */
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

shim_signals shim_block_signals(void) {
  shim_signals all = ~(shim_signals)0, before = 0;
  SHIM_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  return before;
}

void shim_restore_signals(shim_signals before) {
  SHIM_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
}

struct task {
  long (*work)(void *);
  void *argument;
  long failed; /* there is no table of its own, and nothing was done */
  long result;
  uint32_t running; /* the kernel sets it to 0 when the thread no longer uses any memory */
};

/* On a stack of its own, while the caller only waits: both have the same thread-local variables. */
static void run_task(struct task *task) {
  task->failed = SHIM_SYSCALL1(SYS_unshare, CLONE_FILES);
  if (task->failed) {
    /* Containers forbid that, and allow this, which Linux has since 5.9, as headers may not yet. It
     * closes no number that can be in use. */
    enum { close_range = 436, close_range_unshare = 2 };
    task->failed = SHIM_SYSCALL3(close_range, UINT_MAX, UINT_MAX, close_range_unshare);
  }
  if (!task->failed)
    task->result = task->work(task->argument);
}

/* Runs the task in a thread, with a table of its own if that is allowed. */
static void run_in_thread(struct task *task) {
  enum { stack_bytes = 16 << 10 };
  long stack = SHIM_SYSCALL6(SYS_mmap, 0, stack_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  task->failed = stack;
  if (SHIM_FAILED(stack))
    return;
  /* A thread and no process: there is nothing to reap, and waiting ends before its descriptors are
   * closed, which takes as long as the file systems behind them like. Nor does the caller sleep as
   * for vfork, where it could not be stopped together with the thread. The flags are those of any
   * thread, since sandboxes look at them, and valgrind ends a program that has others. */
  const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                     CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
  task->running = 1;
  register uint32_t *running __asm__("r10") = &task->running;
  register struct task *r8 __asm__("r8") = task;
  register void (*r9)(struct task *) __asm__("r9") = run_task;
  long thread;
  __asm__ volatile("syscall\n\t"
                   "testq %%rax, %%rax\n\t"
                   "jnz 1f\n\t"
                   ".cfi_remember_state\n\t"
                   ".cfi_undefined %%rip\n\t"
                   "xorl %%ebp, %%ebp\n\t"
                   "movq %%r8, %%rdi\n\t"
                   "call *%%r9\n\t"
                   "xorl %%edi, %%edi\n\t"
                   "movl %[exit], %%eax\n\t"
                   "syscall\n\t"
                   "hlt\n\t"
                   ".cfi_restore_state\n"
                   "1:"
                   : "=a"(thread)
                   : "a"(SYS_clone), "D"(flags), "S"(stack + stack_bytes - 16), "d"(0),
                     "r"(running), "r"(r8), "r"(r9), [exit] "i"(SYS_exit)
                   : "rcx", "r11", "cc", "memory");
  if (thread > 0) {
    /* Not the private kind, which the kernel does not wake. */
    while (__atomic_load_n(&task->running, __ATOMIC_ACQUIRE))
      SHIM_SYSCALL4(SYS_futex, &task->running, FUTEX_WAIT, 1, NULL);
  } else {
    task->failed = thread;
  }
  SHIM_SYSCALL2(SYS_munmap, stack, stack_bytes);
}

/* Whether a descriptor that is opened gets a number that nobody writes to out of habit. */
static bool standard_descriptors_are_open(void) {
  for (long number = 0; number <= 2; number++)
    if (SHIM_SYSCALL2(SYS_fcntl, number, F_GETFD) < 0)
      return false;
  return true;
}

long shim_with_own_descriptors(long (*work)(void *), void *argument) {
  struct task task = {.work = work, .argument = argument};
  run_in_thread(&task);
  if (!task.failed)
    return task.result;
  /* Where sandboxes forbid all that, the host's table has to do. */
  if (!standard_descriptors_are_open())
    return task.failed;
  const shim_signals beyond = UINT64_C(1) << (SIGXFSZ - 1);
  shim_signals pending = 0;
  SHIM_SYSCALL2(SYS_rt_sigpending, &pending, sizeof pending);
  long result = work(argument);
  if (result == -EFBIG && !(pending & beyond)) {
    const struct timespec at_once = {0, 0};
    SHIM_SYSCALL4(SYS_rt_sigtimedwait, &beyond, NULL, &at_once, sizeof beyond);
  }
  return result;
}

uint64_t shim_self(void) {
  return (uint64_t)SHIM_SYSCALL0(SYS_getpid) << 32 | (uint32_t)SHIM_SYSCALL0(SYS_gettid);
}

/* DEADLINE, of CLOCK_MONOTONIC, may be NULL. */
static enum shim_claim claim_or_wait(uint64_t *claim, const uint32_t *done,
                                     const struct timespec *deadline) {
  uint64_t self = shim_self();
  for (;;) {
    if (__atomic_load_n(done, __ATOMIC_ACQUIRE))
      return SHIM_CLAIM_DONE;
    uint64_t holder = 0;
    if (__atomic_compare_exchange_n(claim, &holder, self, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return SHIM_CLAIM_OURS;
    if (holder == self)
      return SHIM_CLAIM_WITHIN;
    if (holder >> 32 != self >> 32) {
      if (__atomic_compare_exchange_n(claim, &holder, self, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE))
        return SHIM_CLAIM_OURS;
      continue;
    }
    if (SHIM_SYSCALL6(SYS_futex, done, FUTEX_WAIT_BITSET_PRIVATE, 0, deadline, NULL,
                      FUTEX_BITSET_MATCH_ANY) == -ETIMEDOUT)
      return SHIM_CLAIM_WITHIN;
  }
}

enum shim_claim shim_claim(uint64_t *claim, const uint32_t *done) {
  return claim_or_wait(claim, done, NULL);
}

enum shim_claim shim_claim_within(uint64_t *claim, const uint32_t *done, unsigned seconds) {
  struct timespec deadline = {0, 0};
  SHIM_SYSCALL2(SYS_clock_gettime, CLOCK_MONOTONIC, &deadline);
  deadline.tv_sec += seconds;
  return claim_or_wait(claim, done, &deadline);
}

void shim_settle(uint32_t *done, uint32_t value) {
  __atomic_store_n(done, value, __ATOMIC_RELEASE);
  SHIM_SYSCALL3(SYS_futex, done, FUTEX_WAKE_PRIVATE, INT_MAX);
}

bool shim_equal_ignoring_case(const char *a, const char *b) {
  for (; *a && *b; a++, b++) {
    char c = *a >= 'A' && *a <= 'Z' ? (char)(*a + 'a' - 'A') : *a;
    if (c != *b)
      return false;
  }
  return *a == *b;
}

static bool is_one_of(const char *value, const char *const *words, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (shim_equal_ignoring_case(value, words[i]))
      return true;
  return false;
}

enum shim_switch shim_read_switch(const char *value) {
  static const char *const on[] = {"enable", "enabled", "1", "yes", "on", "true"};
  static const char *const off[] = {"disable", "disabled", "0", "no", "off", "false"};
  if (!value || !*value)
    return SHIM_SWITCH_UNSET;
  if (is_one_of(value, on, sizeof on / sizeof *on))
    return SHIM_SWITCH_ON;
  return is_one_of(value, off, sizeof off / sizeof *off) ? SHIM_SWITCH_OFF : SHIM_SWITCH_OTHER;
}

static void append_character(struct shim_line *line, char c) {
  /* The last byte is for the newline. */
  if (line->length + 1 < line->size)
    line->text[line->length++] = c;
}

void shim_append(struct shim_line *line, const char *text) {
  while (*text)
    append_character(line, *text++);
}

void shim_append_number(struct shim_line *line, uint64_t number) {
  char digits[20];
  unsigned n = 0;
  do {
    digits[n++] = (char)('0' + number % 10);
    number /= 10;
  } while (number);
  while (n)
    append_character(line, digits[--n]);
}

void shim_append_quoted(struct shim_line *line, const char *value) {
  enum { longest = 200 };
  append_character(line, '"');
  for (unsigned i = 0; value[i]; i++) {
    if (i == longest) {
      shim_append(line, "...");
      break;
    }
    unsigned char c = (unsigned char)value[i];
    append_character(line, c < 0x20 || c == 0x7f ? '?' : (char)c);
  }
  append_character(line, '"');
}

void shim_message(struct shim_line *line) {
  if (line->length)
    append_character(line, '\n');
  shim_append(line, SHIM_PREFIX);
}

/* Returns 0 or -ERROR. */
static long write_all(const struct shim_line *line) {
  for (uint32_t at = 0; at < line->length;) {
    long n = SHIM_SYSCALL3(SYS_write, 2, line->text + at, line->length - at);
    if (n > 0) {
      at += (uint32_t)n;
    } else if (n == -EAGAIN) {
      /* A host may have made the pipe behind it non-blocking; the trace waits, like any writer. */
      struct pollfd p = {.fd = 2, .events = POLLOUT};
      long ready = SHIM_SYSCALL3(SYS_poll, &p, 1, -1);
      if (ready < 0 && ready != -EINTR)
        return ready;
    } else if (n != -EINTR) {
      return n; /* closed, or a full disk: nobody is left to be told */
    }
  }
  return 0;
}

void shim_write_line(struct shim_line *line) {
  line->text[line->length++] = '\n';
  /* The host did not write, and is not to end by it. The signal of a write goes to the thread that
   * writes; what was pending before is the host's. */
  const shim_signals sigpipe = UINT64_C(1) << (SIGPIPE - 1);
  shim_signals before = 0, pending = 0;
  SHIM_SYSCALL4(SYS_rt_sigprocmask, SIG_BLOCK, &sigpipe, &before, sizeof before);
  if (before & sigpipe)
    SHIM_SYSCALL2(SYS_rt_sigpending, &pending, sizeof pending);
  if (write_all(line) == -EPIPE && !(pending & sigpipe)) {
    const struct timespec at_once = {0, 0};
    SHIM_SYSCALL4(SYS_rt_sigtimedwait, &sigpipe, NULL, &at_once, sizeof sigpipe);
  }
  shim_restore_signals(before);
}
