/* forks CHILDREN CALLS: forks CHILDREN times in the middle of its calls, while another thread makes
 * calls too. Every child makes CALLS calls at the same time as its parent, and so does a grandchild
 * of every second one. One child in three returns through exit, one through _exit, and one is
 * killed. */
#include "calls.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int stop;

static void *background(void *unused) {
  (void)unused;
  struct stream s = {2, 0};
  /* Bounded: what a ring loses to newer calls is not this program's question. */
  while (!atomic_load(&stop) && s.calls < 60000)
    call_once(&s);
  report(&s);
  return NULL;
}

static void wait_for(pid_t child, int killed) {
  int status;
  if (waitpid(child, &status, 0) != child ||
      (killed ? !WIFSIGNALED(status) : !WIFEXITED(status) || WEXITSTATUS(status) != 0))
    die("a child did not end as it should");
}

static pid_t fork_or_die(void) {
  pid_t pid = fork();
  if (pid < 0)
    die("cannot fork");
  return pid;
}

static void child(long number, long calls) {
  struct stream s = {number, 0};
  call_often(&s, calls / 2);
  if (number % 2 == 0) {
    pid_t grandchild = fork_or_die();
    if (grandchild == 0) {
      struct stream t = {number + 1, 0};
      call_often(&t, calls);
      report(&t);
      _exit(0);
    }
    call_often(&s, calls - calls / 2);
    wait_for(grandchild, 0);
  } else {
    call_often(&s, calls - calls / 2);
  }
  report(&s);
  if (number % 3 == 0)
    exit(0);
  if (number % 3 == 1)
    _exit(0);
  raise(SIGKILL);
}

int main(int argc, char **argv) {
  const long children = argument(argc, argv, 1), calls = argument(argc, argv, 2);
  pid_t *ids = calloc((size_t)children, sizeof *ids);
  pthread_t other;
  struct stream s = {0, 0};
  if (ids == NULL || pthread_create(&other, NULL, background, NULL) != 0)
    die("no memory");
  call_often(&s, calls);
  for (long i = 0; i < children; ++i) {
    ids[i] = fork_or_die();
    if (ids[i] == 0)
      child(i, calls);
    call_often(&s, calls);
  }
  for (long i = 0; i < children; ++i)
    wait_for(ids[i], i % 3 == 2);
  atomic_store(&stop, 1);
  pthread_join(other, NULL);
  report(&s);
  free(ids);
  return 0;
}
