/* The typed entry points that calls go to while forwarding is on. A call whose stub finds the gate
 * closed comes to the slow path, and from there to its hook, with all arguments in place. */
#ifndef MIOPEN_SHIM_HOOKS_H_
#define MIOPEN_SHIM_HOOKS_H_

#include "state.h"

#include <stdbool.h>

/* Reads what the environment has for calls that cannot be forwarded, and looks the functions of
 * hooks.def up among the entry points. Returns how many have a hook: 0 when
 * this MIOpen has none of them, or lacks one that the hooks call. For work under a claim, before
 * anything below is called. */
uint32_t shim_hooks_start(void);

/* The hook of a function, NULL for one without. */
const void *shim_hook(uint32_t index);

#endif
