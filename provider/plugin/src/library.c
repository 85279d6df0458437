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
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CLOSED, OPENING, OPEN, FAILED };
static _Atomic int state = CLOSED;
static struct miopen_provider_table table;
static char why[MIOPEN_PROVIDER_TEXT]; /* with FAILED */

/* Who opens it, or did: a child has none of the library's threads. Its number tells one that is
 * made without fork's handlers, the handler one that got its parent's number in another namespace.
 */
static _Atomic pid_t opened_by;
static _Atomic pthread_t opening_thread;
static atomic_bool lost;

enum { OPENING_MILLISECONDS = 5000 };

static void after_fork_in_child(void) {
  int now = atomic_load(&state);
  if (now == OPENING || now == OPEN)
    atomic_store(&lost, true);
}

static void register_handler(void) {
  pthread_atfork(NULL, NULL, after_fork_in_child);
}

void library_prepare(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_handler);
}

/* Whether this process is the child of one in which the library was loaded, or was about to be. */
static bool library_lost(void) {
  if (atomic_load_explicit(&lost, memory_order_relaxed))
    return true;
  pid_t opener = atomic_load_explicit(&opened_by, memory_order_relaxed);
  return opener && opener != getpid();
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

/* Go's run time takes SIGPIPE in the library's constructor. Its handler ends the process as the
 * default does where it comes in a thread that is not in Go, and makes nothing of it in one that
 * is, as MIOpen's calls are when an engine makes them. So it is put back, whatever became of the
 * library; a handler of the host's is not, since Go's calls it. The wrapper does the same
 * (shim/runtime/src/hooks.c). */
static bool load_with_sigpipe_kept(void) {
  struct sigaction before;
  bool known = sigaction(SIGPIPE, NULL, &before) == 0;
  bool loaded = load();
  if (known && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN))
    sigaction(SIGPIPE, &before, NULL);
  return loaded;
}

const struct miopen_provider_table *library_opened(void) {
  return atomic_load(&state) == OPEN && !library_lost() ? &table : NULL;
}

/* Waits for another thread that opens the library, and not for ever: where that is the loader's, or
 * waits for one that is, this one may have what the loader needs. */
static void wait_for_opening(void) {
  static const struct timespec pause = {.tv_nsec = 1000 * 1000};
  for (int i = 0; i < OPENING_MILLISECONDS && atomic_load(&state) == OPENING && !library_lost();
       i++)
    nanosleep(&pause, NULL);
}

const struct miopen_provider_table *library_open(char *text) {
  const struct miopen_provider_table *opened = library_opened();
  if (opened)
    return opened;
  bool said = true;
  int host_errno = errno, closed = CLOSED;
  if (atomic_compare_exchange_strong(&state, &closed, OPENING)) {
    /* No lock is held while the loader runs constructors and the library's log is told. */
    atomic_store(&opening_thread, pthread_self());
    atomic_store(&opened_by, getpid());
    said = load_with_sigpipe_kept();
    if (!said)
      atomic_store(&opened_by, 0);
    atomic_store(&state, said ? OPEN : FAILED);
  } else if (closed == OPENING && !pthread_equal(atomic_load(&opening_thread), pthread_self())) {
    wait_for_opening();
  }
  int reached = atomic_load(&state);
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
  errno = host_errno;
  return NULL;
}
