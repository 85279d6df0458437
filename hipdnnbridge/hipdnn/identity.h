/* Which libraries the process has: what the loader mapped, since the files of these names may be
 * others by now. The only look that is taken at ELF is at the notes and the dynamic sections that
 * dl_iterate_phdr hands out. */
#ifndef HIPDNNBRIDGE_HIPDNN_IDENTITY_H_
#define HIPDNNBRIDGE_HIPDNN_IDENTITY_H_

#include <stddef.h>

/* The first byte of an item, and what comes after it. */
enum identity_item {
  IDENTITY_FILE = 'f',     /* begins a library: the file, as the loader has it */
  IDENTITY_BUILD_ID = 'b', /* the GNU build-id in hexadecimal digits */
  IDENTITY_SONAME = 's',
  IDENTITY_NEEDED = 'n', /* one that it depends on */
};

/* Lists the libraries that the process has loaded, in the loader's order, as items that end with a
 * NUL. Returns how many bytes the list has; with more than size what was written is of no use. The
 * loader's lock is held, so nothing is called that could want it, or a lock of its own: no malloc,
 * which may be the host's. */
size_t identity_loaded(char *list, size_t size);

#endif
