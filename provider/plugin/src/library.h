/* The forwarding library, as the plugin opens it. */
#ifndef MIOPEN_PROVIDER_PLUGIN_LIBRARY_H_
#define MIOPEN_PROVIDER_PLUGIN_LIBRARY_H_

#include "provider/entry/provider.h"

#include <stdbool.h>

/* Before anything that could open the library: has the children of forks known. Does nothing but
 * register a handler, once. */
void library_prepare(void);

/* Whether this process is the child of one in which the library was loaded, or was about to be.
 * Nothing of the library may be called then, and what it gave out stays where it is. */
bool library_lost(void);

/* The library's table, opened at the first call; NULL when it cannot be called in this process,
 * with the reason in text (MIOPEN_PROVIDER_TEXT bytes). A failure is final, and logged once. */
const struct miopen_provider_table *library_open(char *text);

/* The table if the library is open and may be called, else NULL. */
const struct miopen_provider_table *library_opened(void);

/* Held around what has to happen once, or in an order. The thread that has it may take it again:
 * the log's callback may call the plugin. In a child of fork it is free. */
void library_lock(void);
void library_unlock(void);

#endif
