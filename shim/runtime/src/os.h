/* System calls and lines of text for code that may run in a signal handler, in any thread, and in a
 * host that is between two settings of errno: raw system calls, no errno, no lock, no allocation.
 */
#ifndef MIOPEN_SHIM_OS_H_
#define MIOPEN_SHIM_OS_H_

#include "state.h"

#include <stdbool.h>
#include <sys/syscall.h>

/* A system call. Returns what the kernel does: -ERROR when it failed. */
static inline long shim_syscall(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#define SHIM_SYSCALL0(n) shim_syscall(n, 0, 0, 0, 0, 0, 0)
#define SHIM_SYSCALL1(n, a) shim_syscall(n, (long)(a), 0, 0, 0, 0, 0)
#define SHIM_SYSCALL2(n, a, b) shim_syscall(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define SHIM_SYSCALL3(n, a, b, c) shim_syscall(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SHIM_SYSCALL4(n, a, b, c, d)                                                               \
  shim_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SHIM_SYSCALL6(n, a, b, c, d, e, f)                                                         \
  shim_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* What mmap returns on failure is an address in the last page. */
#define SHIM_FAILED(result) ((unsigned long)(result) > -4096UL)

/* The kernel's set of 64 signals. */
typedef uint64_t shim_signals;

/* Blocks all signals of this thread and returns what was blocked before. */
shim_signals shim_block_signals(void);
void shim_restore_signals(shim_signals before);

/* Runs WORK(ARGUMENT) while the caller waits, in a thread that has a copy of the process's table of
 * descriptors instead of the table: the numbers that WORK opens are nobody else's, and are free
 * again when it ends. Where there can be no such thread, in the caller's, unless a standard
 * descriptor is closed: then it returns -ERROR, otherwise what WORK does. WORK makes system calls
 * only, and its -EFBIG comes with no SIGXFSZ. The caller blocks signals first. */
long shim_with_own_descriptors(long (*work)(void *), void *argument);

/* This thread of this process: the process in the upper half, the thread in the lower. Never 0. */
uint64_t shim_self(void);

/* A claim on work that one thread of the process does and the others wait for, asleep. The caller
 * blocks signals first. Returns
 *   SHIM_CLAIM_OURS   the caller has to do the work, and then to settle it;
 *   SHIM_CLAIM_DONE   somebody did;
 *   SHIM_CLAIM_WITHIN the caller is inside the work already (the work called a function that the
 *                     host replaced, and that came back here): go on without it.
 * A claim that was copied by a fork while its thread was at work has no owner and is taken over. */
enum shim_claim { SHIM_CLAIM_OURS, SHIM_CLAIM_DONE, SHIM_CLAIM_WITHIN };
enum shim_claim shim_claim(uint64_t *claim, const uint32_t *done);
/* The same for work that may not come to an end as long as the caller waits, such as when it wants
 * a lock that the caller holds. The caller gives up after so many seconds: SHIM_CLAIM_WITHIN. */
enum shim_claim shim_claim_within(uint64_t *claim, const uint32_t *done, unsigned seconds);
/* Sets *done to a value that is not 0, with release order, and wakes those that wait for it. */
void shim_settle(uint32_t *done, uint32_t value);

/* Whether two texts are the same but for the case of ASCII letters. The second is in lower case. */
bool shim_equal_ignoring_case(const char *text, const char *lower);

/* What a switch says, in the words that all variables of this shim have for it, in any case. */
enum shim_switch {
  SHIM_SWITCH_UNSET, /* NULL or empty */
  SHIM_SWITCH_ON,    /* enable, enabled, 1, yes, on, true */
  SHIM_SWITCH_OFF,   /* disable, disabled, 0, no, off, false */
  SHIM_SWITCH_OTHER,
};
enum shim_switch shim_read_switch(const char *value);

/* A line of text under construction, or several. What does not fit is cut off. */
struct shim_line {
  char *text;
  uint32_t size;   /* of text */
  uint32_t length; /* so far */
};

#define SHIM_PREFIX "[MIOPEN_HIPDNN_WRAPPER] "

void shim_append(struct shim_line *line, const char *text);
void shim_append_number(struct shim_line *line, uint64_t number);
/* Appends a value that came from outside in quotes, control characters replaced. */
void shim_append_quoted(struct shim_line *line, const char *value);
/* Starts a message of the wrapper's, on a line of its own. Work under a claim leaves its messages
 * to whoever called it, to be written when signals are no longer blocked and nobody waits: standard
 * error may be full, and stay so. */
void shim_message(struct shim_line *line);
/* Writes the line and a newline to standard error, in one system call if the kernel takes it. It
 * waits for room as any writer does; that nobody reads is no reason for SIGPIPE. */
void shim_write_line(struct shim_line *line);

#endif
