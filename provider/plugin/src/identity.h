/* Which build a library is. */
#ifndef MIOPEN_PROVIDER_PLUGIN_IDENTITY_H_
#define MIOPEN_PROVIDER_PLUGIN_IDENTITY_H_

#include <stdbool.h>
#include <stddef.h>

/* A library's build-id, the note that the linker makes of its contents. */
struct identity {
  size_t size; /* 0: the library has none */
  unsigned char bytes[64];
};

bool identity_equal(const struct identity *a,
                    const struct identity *b); /* false without build-ids */
/* In hexadecimal, or "none". text has room for 129 bytes. */
void identity_text(const struct identity *id, char *text);

/* Of a file, which may be anything. */
void identity_of_file(const char *path, struct identity *id);
/* Of the loaded library that has the address in it. */
void identity_of_loaded(const void *address, struct identity *id);

#endif
