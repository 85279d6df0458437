/* What the plugin says: a thread's last error, and lines for hipDNN's log. Nothing is ever written
 * to standard output or error. */
#ifndef MIOPEN_PROVIDER_PLUGIN_REPORT_H_
#define MIOPEN_PROVIDER_PLUGIN_REPORT_H_

#include "engine_plugin.h"

#include <stdarg.h>

/* This thread's error text, of HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH bytes: for functions that
 * write it themselves. */
char *report_text(void);

/* Writes this thread's error text and returns the status. */
hipdnnPluginStatus_t report_error(hipdnnPluginStatus_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* May be called by any thread, at any time. NULL: no log. */
void report_set_callback(hipdnnCallback_t callback);
void report_set_level(hipdnnSeverity_t level);

/* A line for the log, without newline. */
void report_log(int32_t severity, const char *text);
void report_logf(hipdnnSeverity_t severity, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
