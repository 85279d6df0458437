/* Which files the process has loaded, and whether they belong together. */
#ifndef MIOPEN_SHIM_PAIRING_H_
#define MIOPEN_SHIM_PAIRING_H_

#include <stdbool.h>
#include <stdint.h>

struct shim_line; /* of os.h */

/* Compares what the loader bound to the slots with the layout of the library that was split. When
 * it is another library, or some of it is, appends a message and returns false. Both for work under
 * a claim. */
bool shim_pairing_holds(struct shim_line *messages);

/* Appends a message when the process has loaded another MIOpen than this wrapper's. */
void shim_report_second_library(struct shim_line *messages);

/* The path of the loaded file that an address belongs to, as the loader has it; valid while it is
 * loaded. NULL for memory of no file. */
const char *shim_file_of(const void *address);

/* What stands in for a function that is refused. */
const void *shim_refusal(uint32_t index);

#endif
