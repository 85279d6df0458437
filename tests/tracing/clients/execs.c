/* execs LEFT CALLS: makes CALLS calls; then, LEFT times, starts itself anew in the same process
 * with one less, and in a child, which makes some calls before that. A stream's start is LEFT, in a
 * child before its exec 100 more. */
#include "calls.h"

#include <sys/wait.h>

static void become(char *self, long left, long calls) {
  char a[32], b[32];
  snprintf(a, sizeof a, "%ld", left);
  snprintf(b, sizeof b, "%ld", calls);
  char *argv[] = {self, a, b, NULL};
  execv("/proc/self/exe", argv);
  die("cannot exec");
}

int main(int argc, char **argv) {
  const long left = argument(argc, argv, 1), calls = argument(argc, argv, 2);
  struct stream s = {left, 0};
  call_often(&s, calls);
  report(&s);
  if (left == 0)
    return 0;
  pid_t child = fork();
  if (child < 0)
    die("cannot fork");
  if (child == 0) {
    struct stream t = {left + 100, 0};
    call_often(&t, 7);
    report(&t);
    become(argv[0], 0, calls + 1);
  }
  int status;
  if (waitpid(child, &status, 0) != child || status != 0)
    die("a child did not end as it should");
  become(argv[0], left - 1, calls);
}
