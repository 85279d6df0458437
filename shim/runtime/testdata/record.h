/* What the functions of callee.S record, and what caller.S gives them. */
#ifndef RECORD_H_
#define RECORD_H_

#include <stdint.h>

struct arguments {
  uint64_t integers[8];   /* rax rdi rsi rdx rcx r8 r9 r10 */
  uint64_t preserved[6];  /* rbx rbp r12 r13 r14 r15 */
  uint64_t vectors[8][2]; /* xmm0 to xmm7 */
  uint64_t stack[32];
};

struct record {
  struct arguments arguments;
  uint64_t index;     /* of the function */
  uint64_t alignment; /* of the stack pointer at entry, modulo 16 */
  uint64_t calls;
  uint64_t unused[2];
};
_Static_assert(sizeof(struct record) == 536, "callee.S has the offsets");

struct results {
  uint64_t rax, rdx, xmm0;
  uint64_t preserved[6]; /* as in arguments */
};

/* Calls function with all registers and 32 words of stack as in a. */
void call_with(void *function, const struct arguments *a, struct results *r);

#endif
