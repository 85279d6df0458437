#include "os.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

shim_signals shim_block_signals(void) {
  shim_signals all = ~(shim_signals)0, before = 0;
  SHIM_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  return before;
}

void shim_restore_signals(shim_signals before) {
  SHIM_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
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
