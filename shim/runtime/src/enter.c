#define _GNU_SOURCE /* secure_getenv */
#include "hooks.h"
#include "os.h"
#include "pairing.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>

/* Called by miopen_shim_slow with the index of the function and a call to fill in. Returns where
 * the call goes on. */
SHIM_HIDDEN const void *miopen_shim_enter(uint32_t index, struct shim_call *call);

/* Returns SHIM_FORWARD or 0. */
static uint32_t read_forwarding(struct shim_line *messages) {
  const char *value = secure_getenv("MIOPEN_HIPDNN_FORWARDING");
  enum shim_switch forwarding = shim_read_switch(value);
  if (forwarding == SHIM_SWITCH_UNSET || forwarding == SHIM_SWITCH_OFF)
    return 0;
  shim_message(messages);
  if (forwarding == SHIM_SWITCH_ON) {
    uint32_t hooks = shim_hooks_start();
    shim_append(messages, "MIOPEN_HIPDNN_FORWARDING is enabled");
    if (!hooks)
      shim_append(messages, "; this libMIOpen has no function that can be forwarded, MIOpen serves "
                            "every call");
    return SHIM_FORWARD;
  }
  shim_append(messages, "warning: MIOPEN_HIPDNN_FORWARDING=");
  shim_append_quoted(messages, value);
  shim_append(messages,
              " is none of enable, enabled, 1, yes, on, true, disable, disabled, 0, no, off, "
              "false: forwarding is disabled");
  return 0;
}

/* Returns the trace that was asked for and could be started, or 0. */
static uint32_t read_trace(struct shim_line *messages) {
  const char *value = secure_getenv("MIOPEN_HIPDNN_TRACE");
  if (!value || !*value)
    return 0;
  if (shim_equal_ignoring_case(value, "stderr"))
    return SHIM_TRACE_STDERR;
  if (shim_equal_ignoring_case(value, "summary"))
    return shim_summary_start(messages) ? SHIM_TRACE_SUMMARY : 0;
  static const char ring[] = "ring:";
  size_t n = 0;
  while (ring[n] && value[n] == ring[n])
    n++;
  if (!ring[n] && value[n])
    return shim_ring_start(value + n, messages) ? SHIM_TRACE_RING : 0;
  shim_message(messages);
  shim_append(messages, "warning: MIOPEN_HIPDNN_TRACE=");
  shim_append_quoted(messages, value);
  shim_append(messages, " is none of stderr, summary, ring:FOLDER: tracing is off");
  return 0;
}

static uint32_t word_of(uint32_t flags) {
  if (flags & ~(uint32_t)SHIM_FORWARD)
    return flags | SHIM_BOTH(SHIM_GATE_SLOW);
  /* Forwarding alone sends only those to the slow path that have a hook. */
  return flags | SHIM_GATES(SHIM_GATE_PASS, flags & SHIM_FORWARD ? SHIM_GATE_SLOW : SHIM_GATE_PASS);
}

static uint32_t decide(struct shim_line *messages) {
  if (!shim_pairing_holds(messages))
    return word_of(SHIM_REFUSE);
  uint32_t flags = read_forwarding(messages);
  flags |= read_trace(messages);
  if (flags)
    shim_report_second_library(messages);
  return word_of(flags);
}

/* The claim on the state, of the thread that decides and then writes the messages. */
static uint64_t decision;
/* The messages are written. */
static uint32_t told;

/* Has the messages come before the lines of a stderr trace, where that can be: a handler that
 * interrupts their writing does not wait, and nobody does for long, since they are not written as
 * long as standard error is full, nor ever by a thread that has left by longjmp. */
static void wait_until_told(void) {
  if (__atomic_load_n(&told, __ATOMIC_ACQUIRE))
    return;
  shim_claim_within(&decision, &told, 1);
  shim_settle(&told, 1);
}

/* Returns the state word, read from the environment by the first thread that gets here. It is 0 for
 * that thread when it gets here again before it is done. */
static uint32_t settled_state(void) {
  uint32_t word = __atomic_load_n(&miopen_shim_state, __ATOMIC_ACQUIRE);
  if (word)
    return word;
  static char text[4096]; /* as much as a pipe takes in one piece */
  struct shim_line messages = {text, sizeof text, 0};
  int host_errno = errno;
  shim_signals before = shim_block_signals();
  bool ours = shim_claim(&decision, &miopen_shim_state) == SHIM_CLAIM_OURS;
  if (ours)
    shim_settle(&miopen_shim_state, decide(&messages));
  shim_restore_signals(before);
  errno = host_errno;
  if (messages.length)
    shim_write_line(&messages);
  if (ours)
    shim_settle(&told, 1);
  return __atomic_load_n(&miopen_shim_state, __ATOMIC_ACQUIRE);
}

const void *miopen_shim_enter(uint32_t index, struct shim_call *call) {
  call->timed = 0;
  uint32_t word = settled_state();
  const void *implementation = miopen_shim_slots[index];
  if ((word & SHIM_REFUSE) || !implementation)
    return shim_refusal(index);
  if (word & SHIM_TRACE_RING) {
    if (!shim_ring_call(index, call))
      __atomic_store_n(&miopen_shim_state, word_of(word & SHIM_FORWARD), __ATOMIC_RELEASE);
  } else if (word & SHIM_TRACE_STDERR) {
    wait_until_told();
    shim_stderr_call(index);
  } else if (word & SHIM_TRACE_SUMMARY) {
    shim_summary_call(index);
  }
  const void *hook = word & SHIM_FORWARD ? shim_hook(index) : NULL;
  return hook ? hook : implementation;
}
