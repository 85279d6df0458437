#ifndef MIOPEN_MIOPEN_H
#define MIOPEN_MIOPEN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 0, and the version through the three pointers, which must not be null. */
int miopenGetVersion(size_t *major, size_t *minor, size_t *patch);

#ifdef __cplusplus
}
#endif

#endif
