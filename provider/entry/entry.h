/* What the C and the Go half of this package have of each other, beside the exported Go functions.
 */
#ifndef MIOPEN_PROVIDER_ENTRY_ENTRY_H_
#define MIOPEN_PROVIDER_ENTRY_ENTRY_H_

#include "provider.h"

/* Calls a host's log. */
void entry_log(uintptr_t log, int32_t severity, const char *text);

/* A copy in memory for free(), or NULL. */
void *entry_copy(const void *data, size_t size);

#endif
