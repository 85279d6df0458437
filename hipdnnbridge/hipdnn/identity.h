/* Which build of a library the process has: what the loader mapped, since the file of that name may
 * be another one by now. The only look that is taken at ELF is at the notes that dl_iterate_phdr
 * hands out. */
#ifndef HIPDNNBRIDGE_HIPDNN_IDENTITY_H_
#define HIPDNNBRIDGE_HIPDNN_IDENTITY_H_

#include <stddef.h>

/* Copies the GNU build-id of the loaded library that was opened from the file, by whatever name,
 * and returns its size in bytes: 0 when no such library is loaded, when it has no build-id, or one
 * of more than size bytes. */
size_t identity_build_id(const char *file, unsigned char *id, size_t size);

#endif
