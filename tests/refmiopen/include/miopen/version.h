#ifndef MIOPEN_VERSION_H_
#define MIOPEN_VERSION_H_

/* The version of the library that is built from these sources. The build variant that exports the
 * older set defines REFMIOPEN_3_4; see the folder's README. */
#define MIOPEN_VERSION_MAJOR 3
#ifdef REFMIOPEN_3_4
#define MIOPEN_VERSION_MINOR 4
#define MIOPEN_VERSION_PATCH 0
#else
#define MIOPEN_VERSION_MINOR 5
#define MIOPEN_VERSION_PATCH 1
#endif

#endif /* MIOPEN_VERSION_H_ */
