/* forking SCENARIO: convolutions before and after fork and exec, in parents and in children.
 *
 *   late            forks after calls, and while another thread makes calls
 *   early           forks before the first call
 *   race DELAY      forks DELAY microseconds after a thread began its first call
 *   programs        starts programs after calls, by posix_spawn, and by exec in a child of fork
 *   program NAME    what such a program does
 *
 * Every process makes convolutions with known results and says on standard output, in a line that
 * is written at once, how many it made, how many results were right, and what the library counted:
 *
 *   NAME CALLS RIGHT FORWARDED NATIVE FAILED
 *
 * Exit status: 0; 1, with a line on standard error, if a call gives an error or a child ends
 * otherwise; a process that hangs is ended by a signal. */
#define _GNU_SOURCE
#include <miopen/miopen.h>

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARENT_CALLS = 20, CHILD_CALLS = 15, PATIENCE = 60 };

/* x is 1, 2, 5, 5; w is 3, 2, 3, 3; y is 1, 3, 3, 3. All numbers are small and whole, so that
 * results are exact. */
enum { IN = 5, TAPS = 3, OUT = 3, CHANNELS = 2, FILTERS = 3 };

/* Everything that a convolution needs. One thread uses it at a time. */
struct work {
  miopenHandle_t handle;
  miopenTensorDescriptor_t x_desc, w_desc, y_desc;
  miopenConvolutionDescriptor_t convolution;
  _Alignas(16) float x[CHANNELS][IN][IN];
  _Alignas(16) float w[FILTERS][CHANNELS][TAPS][TAPS];
  _Alignas(16) float y[FILTERS][OUT][OUT];
  miopenConvFwdAlgorithm_t algorithm;
  _Alignas(256) char workspace[4096];
  long calls, right;
};

/* Also for the child of a program with threads. */
static void die(const char *what) {
  char line[256];
  int n = snprintf(line, sizeof line, "forking: %s\n", what);
  if (n > 0 && write(2, line, (size_t)n) != n)
    _exit(2);
  _exit(1);
}

static void must(miopenStatus_t status, const char *what) {
  if (status != miopenStatusSuccess)
    die(what);
}

static void start(struct work *k) {
  memset(k, 0, sizeof *k);
  int at = 0;
  for (int i = 0; i < CHANNELS * IN * IN; i++)
    (&k->x[0][0][0])[i] = (float)(at++ * 7 % 11 - 5);
  for (int i = 0; i < FILTERS * CHANNELS * TAPS * TAPS; i++)
    (&k->w[0][0][0][0])[i] = (float)(at++ * 5 % 7 - 3);
  must(miopenCreate(&k->handle), "miopenCreate");
  must(miopenCreateTensorDescriptor(&k->x_desc), "miopenCreateTensorDescriptor");
  must(miopenCreateTensorDescriptor(&k->w_desc), "miopenCreateTensorDescriptor");
  must(miopenCreateTensorDescriptor(&k->y_desc), "miopenCreateTensorDescriptor");
  must(miopenSet4dTensorDescriptor(k->x_desc, miopenFloat, 1, CHANNELS, IN, IN), "x");
  must(miopenSet4dTensorDescriptor(k->w_desc, miopenFloat, FILTERS, CHANNELS, TAPS, TAPS), "w");
  must(miopenSet4dTensorDescriptor(k->y_desc, miopenFloat, 1, FILTERS, OUT, OUT), "y");
  must(miopenCreateConvolutionDescriptor(&k->convolution), "miopenCreateConvolutionDescriptor");
  must(miopenInitConvolutionDescriptor(k->convolution, miopenConvolution, 0, 0, 1, 1, 1, 1),
       "miopenInitConvolutionDescriptor");
  /* MIOpen itself only runs what was found before. */
  miopenConvAlgoPerf_t found;
  int count = 0;
  must(miopenFindConvolutionForwardAlgorithm(k->handle, k->x_desc, k->x, k->w_desc, k->w,
                                             k->convolution, k->y_desc, k->y, 1, &count, &found,
                                             k->workspace, sizeof k->workspace, false),
       "miopenFindConvolutionForwardAlgorithm");
  k->algorithm = found.fwd_algo;
}

static int is_right(const struct work *k) {
  for (int f = 0; f < FILTERS; f++)
    for (int i = 0; i < OUT; i++)
      for (int j = 0; j < OUT; j++) {
        float sum = 0;
        for (int c = 0; c < CHANNELS; c++)
          for (int a = 0; a < TAPS; a++)
            for (int b = 0; b < TAPS; b++)
              sum += k->x[c][i + a][j + b] * k->w[f][c][a][b];
        if (k->y[f][i][j] != sum)
          return 0;
      }
  return 1;
}

static void call(struct work *k) {
  const float one = 1, zero = 0;
  for (int i = 0; i < FILTERS * OUT * OUT; i++)
    (&k->y[0][0][0])[i] = NAN;
  must(miopenConvolutionForward(k->handle, &one, k->x_desc, k->x, k->w_desc, k->w, k->convolution,
                                k->algorithm, &zero, k->y_desc, k->y, k->workspace,
                                sizeof k->workspace),
       "miopenConvolutionForward");
  k->calls++;
  k->right += is_right(k);
}

static void call_often(struct work *k, int calls) {
  for (int i = 0; i < calls; i++)
    call(k);
}

/* The other functions that the wrapper looks at. */
static void other_calls(struct work *k) {
  float milliseconds = 0;
  must(miopenSetStream(k->handle, NULL), "miopenSetStream");
  must(miopenEnableProfiling(k->handle, true), "miopenEnableProfiling");
  call(k);
  must(miopenGetKernelTime(k->handle, &milliseconds), "miopenGetKernelTime");
  must(miopenEnableProfiling(k->handle, false), "miopenEnableProfiling");
  if (strcmp(miopenGetErrorString(miopenStatusInternalError), "miopenStatusInternalError") != 0)
    die("an error's text is left over");
}

static void stop(struct work *k) {
  miopenDestroyConvolutionDescriptor(k->convolution);
  miopenDestroyTensorDescriptor(k->y_desc);
  miopenDestroyTensorDescriptor(k->w_desc);
  miopenDestroyTensorDescriptor(k->x_desc);
  must(miopenDestroy(k->handle), "miopenDestroy");
}

/* A program that is linked against a stock MIOpen has to ask for what the wrapper has more. */
struct statistics {
  unsigned long forwarded, native, failed, plan_hits, plan_builds;
};

static void report(const char *name, long calls, long right) {
  int (*ask)(struct statistics *, size_t) =
      (int (*)(struct statistics *, size_t))dlsym(RTLD_DEFAULT, "miopenGetForwardingStatistics");
  struct statistics now;
  if (!ask || ask(&now, sizeof now) != 0)
    die("no statistics");
  char line[256];
  int n = snprintf(line, sizeof line, "%s %ld %ld %lu %lu %lu\n", name, calls, right, now.forwarded,
                   now.native, now.failed);
  if (write(1, line, (size_t)n) != n)
    die("cannot write to standard output");
}

static pid_t fork_or_die(void) {
  pid_t pid = fork();
  if (pid < 0)
    die("cannot fork");
  alarm(PATIENCE); /* a child has none from its parent */
  return pid;
}

static void wait_for(pid_t child) {
  int status;
  if (waitpid(child, &status, 0) != child)
    die("cannot wait");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    die(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "a child hangs"
                                                           : "a child did not end as it should");
}

/* A process that makes calls with what it has from its parent, if that is anything, and then with
 * what is its own. */
static void child(const char *name, struct work *inherited) {
  long calls = 0, right = 0;
  if (inherited) {
    inherited->calls = inherited->right = 0;
    call_often(inherited, CHILD_CALLS);
    other_calls(inherited);
    stop(inherited);
    calls = inherited->calls, right = inherited->right;
  }
  static struct work own;
  start(&own);
  call_often(&own, CHILD_CALLS);
  other_calls(&own);
  stop(&own);
  report(name, calls + own.calls, right + own.right);
}

static atomic_int over;
static struct work mine, others;

static void *background(void *unused) {
  (void)unused;
  while (!atomic_load(&over))
    call(&others);
  return NULL;
}

static void late(void) {
  start(&mine);
  start(&others);
  call_often(&mine, PARENT_CALLS);
  pthread_t thread;
  if (pthread_create(&thread, NULL, background, NULL) != 0)
    die("cannot start a thread");
  enum { CHILDREN = 9 };
  for (int i = 0; i < CHILDREN; i++) {
    pid_t pid = fork_or_die();
    if (pid == 0) {
      child("child", &mine);
      if (i % 3 == 0) {
        pid_t grandchild = fork_or_die();
        if (grandchild == 0) {
          child("grandchild", NULL);
          exit(0);
        }
        wait_for(grandchild);
      }
      if (i % 2 == 0)
        exit(0); /* with all that the process has to do at its end */
      _exit(0);
    }
    call_often(&mine, PARENT_CALLS);
    wait_for(pid);
    call_often(&mine, PARENT_CALLS);
  }
  atomic_store(&over, 1);
  pthread_join(thread, NULL);
  const char *file = getenv("MIOPEN_HIPDNN_FORWARDING_REPORT");
  if (file && strncmp(file, "file:", 5) == 0 && access(file + 5, F_OK) == 0)
    die("a child wrote the report");
  report("parent", mine.calls + others.calls, mine.right + others.right);
  stop(&mine);
  stop(&others);
}

static void early(void) {
  pid_t pid = fork_or_die();
  if (pid == 0) {
    child("child", NULL);
    exit(0);
  }
  child("parent", NULL);
  wait_for(pid);
}

static void *first_call(void *unused) {
  (void)unused;
  start(&mine);
  call_often(&mine, PARENT_CALLS);
  return NULL;
}

static void race(const char *delay) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, first_call, NULL) != 0)
    die("cannot start a thread");
  useconds_t microseconds = (useconds_t)strtoul(delay, NULL, 10);
  if (microseconds)
    usleep(microseconds);
  pid_t pid = fork_or_die();
  if (pid == 0) {
    child("child", NULL);
    exit(0);
  }
  pthread_join(thread, NULL);
  call_often(&mine, PARENT_CALLS);
  wait_for(pid);
  report("parent", mine.calls, mine.right);
  stop(&mine);
}

static void programs(const char *self) {
  extern char **environ;
  start(&mine);
  call_often(&mine, PARENT_CALLS);
  pid_t pid;
  char *spawned[] = {(char *)self, "program", "spawned", NULL};
  if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, spawned, environ) != 0)
    die("cannot start a program");
  call_often(&mine, PARENT_CALLS);
  wait_for(pid);
  pid = fork_or_die();
  if (pid == 0) {
    call_often(&mine, CHILD_CALLS);
    execl("/proc/self/exe", self, "program", "executed", (char *)NULL);
    die("cannot execute");
  }
  call_often(&mine, PARENT_CALLS);
  wait_for(pid);
  report("parent", mine.calls, mine.right);
  stop(&mine);
}

/* The run time of Go has handlers and threads. What a program gets from its parent shows nothing of
 * that. */
static void check_signals(void) {
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  for (int s = 1; s < SIGRTMIN; s++) {
    struct sigaction action;
    if (sigismember(&blocked, s) == 1 ||
        (sigaction(s, NULL, &action) == 0 && action.sa_handler == SIG_IGN))
      die("a signal is blocked or ignored");
  }
}

int main(int argc, char **argv) {
  const char *scenario = argc > 1 ? argv[1] : "";
  alarm(PATIENCE);
  if (argc == 2 && strcmp(scenario, "late") == 0) {
    late();
  } else if (argc == 2 && strcmp(scenario, "early") == 0) {
    early();
  } else if (argc == 3 && strcmp(scenario, "race") == 0) {
    race(argv[2]);
  } else if (argc == 2 && strcmp(scenario, "programs") == 0) {
    programs(argv[0]);
  } else if (argc == 3 && strcmp(scenario, "program") == 0) {
    check_signals();
    child(argv[2], NULL);
  } else {
    fprintf(stderr, "usage: forking late|early|race DELAY|programs\n");
    return 2;
  }
  return 0;
}
