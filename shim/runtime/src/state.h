/* The state word, the generated tables and the frame of the slow path: what the assembly and the C
 * code of the wrapper have to agree on.
 *
 * The word is data and the only thing that a stub looks at. Its lowest byte is what the stubs
 * without a hook compare, the byte above it is for those with one; the bits above are for C. */
#ifndef MIOPEN_SHIM_STATE_H_
#define MIOPEN_SHIM_STATE_H_

/* Values of the two gate bytes. Anything that is not SHIM_GATE_PASS takes the slow path. */
#define SHIM_GATE_UNREAD 0 /* the environment has not been read: the value in the file */
#define SHIM_GATE_PASS 1   /* jump to the implementation */
#define SHIM_GATE_SLOW 2   /* ask miopen_shim_enter */

/* The gates of functions without and with a hook, as the low half of the state word. */
#define SHIM_GATES(plain, hooked) ((plain) | (hooked) << 8)
#define SHIM_BOTH(gate) SHIM_GATES(gate, gate)

/* What the slow path does. At most one of the traces is set. */
#define SHIM_TRACE_STDERR 0x00010000
#define SHIM_TRACE_RING 0x00020000
#define SHIM_TRACE_SUMMARY 0x00040000
#define SHIM_REFUSE 0x00080000
#define SHIM_FORWARD 0x00100000

/* The frame of miopen_shim_slow, offsets from the stack pointer. */
#define SHIM_FRAME_INTEGERS 0 /* rdi rsi rdx rcx r8 r9 rax r10 */
#define SHIM_FRAME_VECTORS 64 /* xmm0 to xmm7 */
#define SHIM_FRAME_CALL 192   /* struct shim_call */
#define SHIM_FRAME_SIZE 224

/* Members of struct shim_call. */
#define SHIM_CALL_TIMED 0
#define SHIM_CALL_WORDS 4

/* struct shim_signature.stack_words of a function whose arguments are not known. */
#define SHIM_WORDS_UNKNOWN 0xff

/* struct shim_signature.result: what a refusal has to return. */
#define SHIM_RESULT_STATUS 0 /* an enumeration or integer: a status. Also when nothing is known */
#define SHIM_RESULT_TEXT 1   /* const char * */
#define SHIM_RESULT_ZERO 2   /* nothing, or what has no way to tell an error: all zero bits */

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

#define SHIM_HIDDEN __attribute__((visibility("hidden")))

#ifdef __cplusplus
#define SHIM_ASSERT static_assert
extern "C" {
#else
#define SHIM_ASSERT _Static_assert
#endif

/* Written once by the thread that reads the environment, with release order; written again only by
 * a process whose trace cannot go on. */
extern SHIM_HIDDEN uint32_t miopen_shim_state;

/* Generated from the exports of the stock library, in byte order of the names; a function's index
 * is its place in all of these tables. */
extern SHIM_HIDDEN const uint32_t miopen_shim_count;
/* Addresses of the implementations, NULL for one that the loader did not find. Read-only once the
 * wrapper is loaded. */
extern SHIM_HIDDEN const void *const miopen_shim_slots[];
/* Address of each implementation less that of the first, in the library that was split. */
extern SHIM_HIDDEN const int64_t miopen_shim_offsets[];
/* The names, each with its NUL, one after the other. */
extern SHIM_HIDDEN const char miopen_shim_names[];
/* Where each name starts; one element more than there are names, the size of all of them. */
extern SHIM_HIDDEN const uint32_t miopen_shim_name_offsets[];

struct shim_signature {
  uint8_t stack_words; /* 8-byte words of arguments on the stack, or SHIM_WORDS_UNKNOWN */
  uint8_t result;      /* SHIM_RESULT_* */
};
extern SHIM_HIDDEN const struct shim_signature miopen_shim_signatures[];

struct shim_ring;

/* A call that stays in the slow path's frame until it returns, so that its duration is known. */
struct shim_call {
  uint32_t timed; /* 0: the call leaves the frame at once, and nothing below has a meaning */
  uint32_t words; /* of arguments on the stack */
  uint64_t sequence;
  struct shim_ring *ring; /* of the thread that made it */
  uint64_t clock;
};

SHIM_ASSERT(offsetof(struct shim_call, timed) == SHIM_CALL_TIMED, "layout");
SHIM_ASSERT(offsetof(struct shim_call, words) == SHIM_CALL_WORDS, "layout");
SHIM_ASSERT(SHIM_FRAME_CALL + sizeof(struct shim_call) == SHIM_FRAME_SIZE, "layout");
SHIM_ASSERT(SHIM_FRAME_SIZE % 16 == 0, "the stack has to stay aligned");

#undef SHIM_ASSERT

#ifdef __cplusplus
}
#endif

#endif

#endif
