#define _GNU_SOURCE
#include "library.h"
#include "identity.h"
#include "private_api.h"
#include "report.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CLOSED, OPENING, OPEN, FAILED };
static _Atomic int state = CLOSED;
static struct miopen_provider_table table;
static char why[MIOPEN_PROVIDER_TEXT]; /* with FAILED */
static atomic_bool lost;

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* A child has none of the library's threads, and a mutex that another thread held stays held. */
static void after_fork_in_child(void) {
  int now = atomic_load(&state);
  if (now == OPENING || now == OPEN)
    atomic_store(&lost, true);
  mutex = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

static void register_handler(void) {
  pthread_atfork(NULL, NULL, after_fork_in_child);
}

void library_prepare(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_handler);
}

void library_lock(void) {
  pthread_mutex_lock(&mutex);
}

void library_unlock(void) {
  pthread_mutex_unlock(&mutex);
}

bool library_lost(void) {
  return atomic_load_explicit(&lost, memory_order_relaxed);
}

static bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  return false;
}

/* The library beside the one that has the address in it, as many folders up, if there is a file. */
static bool beside(const void *address, int up, char *path) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname || !realpath(info.dli_fname, path))
    return false;
  for (int i = 0; i <= up; i++) {
    char *slash = strrchr(path, '/');
    if (!slash)
      return false;
    *slash = 0;
  }
  struct stat file;
  size_t length = strlen(path);
  if (length + sizeof "/" MIOPEN_PROVIDER_LIBRARY > PATH_MAX)
    return false;
  strcpy(path + length, "/" MIOPEN_PROVIDER_LIBRARY);
  return stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

/* The library that this plugin was installed with: in the folder of which this one is
 * hipdnn_plugins/engines, else beside the private library. */
static bool expected(char *path) {
  char found[PATH_MAX];
  return (beside((const void *)&library_open, 2, found) ||
          beside(private_api_address(), 0, found)) &&
         realpath(found, path);
}

/* Whether the loaded library that has the address in it is the one of the path. There must not be
 * two Go run times in a process, so that nothing else can be loaded then. */
static bool is_ours(const void *address, const char *path) {
  Dl_info info;
  struct stat loaded, file;
  if (!dladdr(address, &info) || !info.dli_fname)
    return fail("the loaded " MIOPEN_PROVIDER_LIBRARY " cannot be found");
  if (stat(info.dli_fname, &loaded) == 0 && stat(path, &file) == 0 &&
      loaded.st_dev == file.st_dev && loaded.st_ino == file.st_ino)
    return true;
  struct identity there, here;
  identity_of_loaded(address, &there);
  identity_of_file(path, &here);
  if (identity_equal(&there, &here))
    return true;
  char a[2 * sizeof there.bytes + 1], b[2 * sizeof here.bytes + 1];
  identity_text(&there, a);
  identity_text(&here, b);
  return fail(
      "%s (build %s) is loaded and this plugin belongs to %s (build %s): a process can have "
      "one of them; install both from one release",
      info.dli_fname, a, path, b);
}

static bool load(void) {
  char path[PATH_MAX];
  bool known = expected(path);
  /* The wrapper, or another copy of this plugin, may have loaded one from anywhere. */
  void *library = dlopen(MIOPEN_PROVIDER_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  bool was_loaded = library != NULL;
  if (!library) {
    dlerror(); /* the host is not to find it */
    if (!known)
      return fail("there is no " MIOPEN_PROVIDER_LIBRARY
                  " two folders above this plugin, nor beside the private library");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return fail("%s does not load: %s", path, dlerror());
  }
  int (*forked)(void) = (int (*)(void))dlsym(library, MIOPEN_PROVIDER_FORKED);
  int (*open)(const struct miopen_provider_host *, struct miopen_provider_table *, char *) =
      (int (*)(const struct miopen_provider_host *, struct miopen_provider_table *, char *))dlsym(
          library, MIOPEN_PROVIDER_OPEN);
  if (!forked || !open) {
    dlerror();
    return fail("the loaded " MIOPEN_PROVIDER_LIBRARY " has no part for hipDNN's plugin: install "
                "both from one release");
  }
  if (was_loaded && known && !is_ours((const void *)open, path))
    return false;
  if (forked()) {
    atomic_store(&lost, true);
    return fail("this process was forked with " MIOPEN_PROVIDER_LIBRARY " loaded, which does not "
                "work in a child: start the process by exec, or fork before the first use");
  }
  static struct miopen_provider_host host = {
      .version = MIOPEN_PROVIDER_VERSION,
      .size = sizeof host,
      .log = report_log,
  };
  host.miopen = private_api();
  table.version = MIOPEN_PROVIDER_VERSION;
  table.size = sizeof table;
  return open(&host, &table, why) == 0;
}

const struct miopen_provider_table *library_opened(void) {
  return !library_lost() && atomic_load_explicit(&state, memory_order_acquire) == OPEN ? &table
                                                                                       : NULL;
}

const struct miopen_provider_table *library_open(char *text) {
  const struct miopen_provider_table *opened = library_opened();
  if (opened)
    return opened;
  bool said = true;
  int host_errno = errno;
  library_lock();
  if (!library_lost() && atomic_load(&state) == CLOSED) {
    atomic_store(&state, OPENING);
    said = load();
    atomic_store_explicit(&state, said ? OPEN : FAILED, memory_order_release);
  }
  int reached = atomic_load(&state);
  library_unlock();
  errno = host_errno;
  if (!said)
    report_logf(HIPDNN_SEV_ERROR, "no graph is run by the private MIOpen: %s", why);
  if (reached == OPEN && !library_lost())
    return &table;
  snprintf(text, MIOPEN_PROVIDER_TEXT, "the plugin cannot run graphs in this process: %.1900s",
           reached == FAILED ? why
           : library_lost()  ? "it was forked with " MIOPEN_PROVIDER_LIBRARY
                              " loaded, which does not work in a "
                              "child: start the process by exec, or fork before the first use"
                            : "called while " MIOPEN_PROVIDER_LIBRARY " is being loaded");
  return NULL;
}
