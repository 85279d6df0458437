// Calls at exit, and first calls at inconvenient moments: exits SCENARIO. Linked against the
// library of library.c.
#include "library.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

static void call() {
  if (miopenAlpha(1) != 2)
    _exit(3);
}

// What an application's cache of handles is: its destructor destroys them.
static struct Pool {
  bool used = false;
  ~Pool() {
    if (used)
      call();
  }
} pool;

static void call_at_exit(void) {
  call();
}

static void in_handler(int) {
  call();
}

static void nothing(void) {}

// The C library's, which calls these here as everybody does.
extern "C" void *__libc_malloc(std::size_t);
extern "C" void *__libc_calloc(std::size_t, std::size_t);
static bool interrupt, interrupted;

// A signal that arrives in the middle of an allocation. One that its handler makes would wait for
// the lock of the first.
static void allocating() {
  if (interrupted)
    _exit(4);
  if (interrupt) {
    interrupt = false;
    interrupted = true;
    raise(SIGUSR1);
    interrupted = false;
  }
}

extern "C" void *malloc(std::size_t bytes) noexcept {
  allocating();
  return __libc_malloc(bytes);
}

extern "C" void *calloc(std::size_t n, std::size_t bytes) noexcept {
  allocating();
  return __libc_calloc(n, bytes);
}

int main(int argc, char **argv) {
  const char *scenario = argc > 1 ? argv[1] : "";
  signal(SIGUSR1, in_handler);
  if (!std::strcmp(scenario, "static")) {
    pool.used = true;
    call();
  } else if (!std::strcmp(scenario, "atexit")) {
    std::atexit(call_at_exit);
    call();
  } else if (!std::strcmp(scenario, "first in static")) {
    pool.used = true;
  } else if (!std::strcmp(scenario, "first in atexit")) {
    std::atexit(call_at_exit);
  } else if (!std::strcmp(scenario, "fork")) {
    // The parent's two calls, and a child's.
    pool.used = true;
    call();
    pid_t pid = fork();
    if (!pid)
      std::exit(0);
    if (pid < 0 || waitpid(pid, nullptr, 0) != pid)
      return 3;
  } else if (!std::strcmp(scenario, "no call")) {
  } else if (!std::strcmp(scenario, "in malloc")) {
    // The C library has room for 32 exit functions, and allocates for the next one; so all numbers
    // of them are tried.
    for (int n = 0; n < 64; n++) {
      pid_t pid = fork();
      if (!pid) {
        interrupt = true;
        std::free(std::malloc(100));
        call();
        std::exit(0);
      }
      int status;
      if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 3;
      if (status)
        return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
      std::atexit(nothing);
    }
  } else if (!std::strcmp(scenario, "in atexit")) {
    // The signal arrives while the C library allocates for an exit function, with the lock of their
    // list held.
    interrupt = true;
    for (int n = 0; n < 64; n++)
      std::atexit(nothing);
    if (interrupt)
      return 5;
  } else {
    return 2;
  }
  return 0;
}
