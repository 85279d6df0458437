/* The forwarding library, as the plugin opens it. */
#ifndef MIOPEN_PROVIDER_PLUGIN_LIBRARY_H_
#define MIOPEN_PROVIDER_PLUGIN_LIBRARY_H_

#include "provider/entry/provider.h"

/* Before anything that could open the library: has the children of forks known. Does nothing but
 * register a handler, once. */
void library_prepare(void);

/* The library's table, opened at the first call; NULL when it cannot be called in this process,
 * with the reason in text (MIOPEN_PROVIDER_TEXT bytes): also in a child of the one in which it was
 * loaded, or was about to be. A failure is final, and logged once. */
const struct miopen_provider_table *library_open(char *text);

/* The table if the library is open and may be called, else NULL. What it gave out to a parent stays
 * where it is. */
const struct miopen_provider_table *library_opened(void);

#endif
