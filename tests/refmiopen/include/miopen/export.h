#ifndef MIOPEN_EXPORT_H
#define MIOPEN_EXPORT_H

/* A program that links a static or header-only stand-in defines MIOPEN_STATIC_DEFINE, as with the
 * real header. */
#if defined(MIOPEN_STATIC_DEFINE)
#define MIOPEN_EXPORT
#define MIOPEN_NO_EXPORT
#else
#ifndef MIOPEN_EXPORT
#define MIOPEN_EXPORT __attribute__((visibility("default")))
#endif
#ifndef MIOPEN_NO_EXPORT
#define MIOPEN_NO_EXPORT __attribute__((visibility("hidden")))
#endif
#endif

#endif /* MIOPEN_EXPORT_H */
