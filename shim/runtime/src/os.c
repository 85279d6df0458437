#include "os.h"

#include <errno.h>
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

static enum shim_claim claim_or_wait(uint64_t *claim, const uint32_t *done,
                                     const unsigned *milliseconds) {
  uint64_t self = shim_self();
  for (uint64_t waited = 0;;) {
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
    if (!milliseconds) {
      SHIM_SYSCALL0(SYS_sched_yield);
      continue;
    }
    const struct timespec step = {0, 100000};
    if (waited++ >= *milliseconds * UINT64_C(10))
      return SHIM_CLAIM_WITHIN;
    SHIM_SYSCALL2(SYS_nanosleep, &step, NULL);
  }
}

enum shim_claim shim_claim(uint64_t *claim, const uint32_t *done) {
  return claim_or_wait(claim, done, NULL);
}

enum shim_claim shim_claim_within(uint64_t *claim, const uint32_t *done, unsigned milliseconds) {
  return claim_or_wait(claim, done, &milliseconds);
}

bool shim_equal_ignoring_case(const char *a, const char *b) {
  for (; *a && *b; a++, b++) {
    char c = *a >= 'A' && *a <= 'Z' ? (char)(*a + 'a' - 'A') : *a;
    if (c != *b)
      return false;
  }
  return *a == *b;
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

void shim_write_line(struct shim_line *line) {
  line->text[line->length++] = '\n';
  for (uint32_t at = 0; at < line->length;) {
    long n = SHIM_SYSCALL3(SYS_write, 2, line->text + at, line->length - at);
    if (n > 0) {
      at += (uint32_t)n;
    } else if (n == -EAGAIN) {
      /* A host may have made the pipe behind it non-blocking; the trace waits, like any writer. */
      struct pollfd p = {.fd = 2, .events = POLLOUT};
      long ready = SHIM_SYSCALL3(SYS_poll, &p, 1, -1);
      if (ready < 0 && ready != -EINTR)
        return;
    } else if (n != -EINTR) {
      return; /* closed, or a full disk: nobody is left to be told */
    }
  }
}

struct shim_line shim_message(void) {
  /* As much as a pipe takes in one piece. */
  static char text[4096];
  struct shim_line line = {text, sizeof text, 0};
  shim_append(&line, SHIM_PREFIX);
  return line;
}
