/**
 * @file
 * What the MIOpen hipDNN shim exports beyond MIOpen's own API.
 *
 * The shim's libMIOpen.so.1 has exactly the entry points of the MIOpen that it was made from, at
 * the same version nodes. The functions below come on top, at the version node
 * MIOPEN_HIPDNN_SHIM_1. A stock libMIOpen.so.1 lacks them, so a program that links against one of
 * them needs the shim; a program that only wants to know asks dlsym():
 *
 *     const char *(*version)(void) =
 *         (const char *(*)(void))dlsym(RTLD_DEFAULT, "miopenHipdnnShimVersion");
 *     printf("%s\n", version ? version() : "stock MIOpen");
 *
 * The header needs no other header, and is valid C89 and C++.
 */
#ifndef MIOPEN_HIPDNN_SHIM_H_
#define MIOPEN_HIPDNN_SHIM_H_

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The version of the shim that made this libMIOpen.so.1, as "MAJOR.MINOR.PATCH". It says nothing
 * about the version of MIOpen, which miopenGetVersion() returns.
 *
 * Never fails and never blocks; callable from any thread, a signal handler, and before or after
 * every other function. The string is constant data of the library: the caller must not free it,
 * and it stays valid until the process ends, because the library is never unloaded.
 */
const char *miopenHipdnnShimVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* MIOPEN_HIPDNN_SHIM_H_ */
