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
 * The header needs no other header of MIOpen or HIP, and is valid C89 and C++.
 */
#ifndef MIOPEN_HIPDNN_SHIM_H_
#define MIOPEN_HIPDNN_SHIM_H_

#include <stddef.h>

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

/**
 * What became of this thread's last call among those that can be forwarded, as a hipdnnStatus_t: 0
 * (HIPDNN_STATUS_SUCCESS) when hipDNN served it, when MIOpen did, whatever that returned, and when
 * there was no such call. Otherwise the call failed and was not left to MIOpen; with
 * MIOPEN_HIPDNN_FORWARDING_POLICY=strict that includes calls that hipDNN never got, with
 * HIPDNN_STATUS_NOT_SUPPORTED for those that have no translation and HIPDNN_STATUS_NOT_INITIALIZED
 * where hipDNN or the shim's forwarding library is missing, or still being opened. While it is not
 * 0, miopenGetErrorString() of the status that the call returned begins with "[hipDNN-forwarded]"
 * and has hipDNN's own message, if there is one.
 *
 * Never fails and never blocks; callable from any thread.
 */
int miopenGetLastForwardedError(void);

/** What the process did with the calls that can be forwarded, since it started. */
struct miopenForwardingStatistics {
  unsigned long forwarded;   /**< calls that hipDNN served */
  unsigned long native;      /**< calls that MIOpen served although forwarding was on, without
                                  those that an engine of hipDNN makes on the thread it serves */
  unsigned long failed;      /**< calls that were not left to MIOpen and returned an error */
  unsigned long plan_hits;   /**< executions with an execution plan that was there */
  unsigned long plan_builds; /**< execution plans that were built */
  unsigned long plan_loads;  /**< execution plans that an earlier process had kept on disk */
};

/**
 * Fills the first bytes of a structure. All is zero while forwarding is off, and in a child that
 * was forked after the first such call, where MIOpen serves what is called and nothing is counted.
 * Where forwarding is on and hipDNN or the shim's forwarding library is missing, calls count all
 * the same: as native, or as failed with MIOPEN_HIPDNN_FORWARDING_POLICY=strict. The numbers are
 * read one after the other while other threads go on.
 *
 * statistics is the caller's, bytes its size: pass sizeof, so that a library with more or fewer
 * members fills what the caller has. Returns miopenStatusSuccess (0), or miopenStatusBadParm (3)
 * for a null pointer. Never blocks; callable from any thread.
 */
int miopenGetForwardingStatistics(struct miopenForwardingStatistics *statistics, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* MIOPEN_HIPDNN_SHIM_H_ */
