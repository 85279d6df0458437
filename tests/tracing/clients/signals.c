/* signals CALLS: makes CALLS calls of miopenGetErrorString, while a timer's handler interrupts them
 * at any instruction with calls of miopenGetVersion. Prints both numbers. */
#include "calls.h"

#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t handled;

static void on_alarm(int signal) {
  (void)signal;
  size_t major = 0, minor = 0, patch = 0;
  miopenGetVersion(&major, &minor, &patch);
  handled = handled + 1;
}

int main(int argc, char **argv) {
  const long calls = argument(argc, argv, 1);
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &often, NULL) != 0)
    die("no timer");
  for (long i = 0; i < calls; ++i)
    if (miopenGetErrorString(miopenStatusSuccess) == NULL)
      die("miopenGetErrorString gave something else");
  if (setitimer(ITIMER_REAL, &never, NULL) != 0)
    die("no timer");
  printf("miopenGetErrorString %ld\nmiopenGetVersion %ld\n", calls, (long)handled);
  return 0;
}
