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

static bool is_one_of(const char *value, const char *const *words, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (shim_equal_ignoring_case(value, words[i]))
      return true;
  return false;
}

/* Returns SHIM_FORWARD or 0. */
static uint32_t read_forwarding(void) {
  static const char *const on[] = {"enable", "enabled", "1", "yes", "on", "true"};
  static const char *const off[] = {"disable", "disabled", "0", "no", "off", "false"};
  const char *value = secure_getenv("MIOPEN_HIPDNN_FORWARDING");
  if (!value || !*value || is_one_of(value, off, sizeof off / sizeof *off))
    return 0;
  struct shim_line line = shim_message();
  if (is_one_of(value, on, sizeof on / sizeof *on)) {
    uint32_t hooks = shim_hooks_start();
    shim_append(&line, "MIOPEN_HIPDNN_FORWARDING is enabled");
    if (!hooks)
      shim_append(&line, "; this libMIOpen has no function that can be forwarded, MIOpen serves "
                         "every call");
    shim_write_line(&line);
    return SHIM_FORWARD;
  }
  shim_append(&line, "warning: MIOPEN_HIPDNN_FORWARDING=");
  shim_append_quoted(&line, value);
  shim_append(&line,
              " is none of enable, enabled, 1, yes, on, true, disable, disabled, 0, no, off, "
              "false: forwarding is disabled");
  shim_write_line(&line);
  return 0;
}

/* Returns the trace that was asked for and could be started, or 0. */
static uint32_t read_trace(void) {
  const char *value = secure_getenv("MIOPEN_HIPDNN_TRACE");
  if (!value || !*value)
    return 0;
  if (shim_equal_ignoring_case(value, "stderr"))
    return SHIM_TRACE_STDERR;
  if (shim_equal_ignoring_case(value, "summary"))
    return shim_summary_start() ? SHIM_TRACE_SUMMARY : 0;
  static const char ring[] = "ring:";
  size_t n = 0;
  while (ring[n] && value[n] == ring[n])
    n++;
  if (!ring[n] && value[n])
    return shim_ring_start(value + n) ? SHIM_TRACE_RING : 0;
  struct shim_line line = shim_message();
  shim_append(&line, "warning: MIOPEN_HIPDNN_TRACE=");
  shim_append_quoted(&line, value);
  shim_append(&line, " is none of stderr, summary, ring:FOLDER: tracing is off");
  shim_write_line(&line);
  return 0;
}

static uint32_t word_of(uint32_t flags) {
  if (flags & ~(uint32_t)SHIM_FORWARD)
    return flags | SHIM_BOTH(SHIM_GATE_SLOW);
  /* Forwarding alone sends only those to the slow path that have a hook. */
  return flags | SHIM_GATES(SHIM_GATE_PASS, flags & SHIM_FORWARD ? SHIM_GATE_SLOW : SHIM_GATE_PASS);
}

static uint32_t decide(void) {
  if (!shim_pairing_holds())
    return word_of(SHIM_REFUSE);
  uint32_t flags = read_forwarding() | read_trace();
  if (flags)
    shim_report_second_library();
  return word_of(flags);
}

/* Returns the state word, read from the environment by the first thread that gets here. It is 0 for
 * that thread when it gets here again before it is done. */
static uint32_t settled_state(void) {
  static uint64_t claim;
  uint32_t word = __atomic_load_n(&miopen_shim_state, __ATOMIC_ACQUIRE);
  if (word)
    return word;
  int host_errno = errno;
  shim_signals before = shim_block_signals();
  if (shim_claim(&claim, &miopen_shim_state) == SHIM_CLAIM_OURS)
    __atomic_store_n(&miopen_shim_state, decide(), __ATOMIC_RELEASE);
  shim_restore_signals(before);
  errno = host_errno;
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
    shim_stderr_call(index);
  } else if (word & SHIM_TRACE_SUMMARY) {
    shim_summary_call(index);
  }
  const void *hook = word & SHIM_FORWARD ? shim_hook(index) : NULL;
  return hook ? hook : implementation;
}
