/* To be preloaded: a secure_getenv that makes the reading of the environment last, or that calls
 * the library whose first call reads it, as GETENV_MODE says. */
#include "library.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *secure_getenv(const char *name) {
  const char *mode = getenv("GETENV_MODE");
  if (mode && !strcmp(mode, "slow"))
    usleep(400000);
  if (mode && !strcmp(mode, "within") && miopenAlpha(6) != 7)
    abort();
  return getenv(name);
}
