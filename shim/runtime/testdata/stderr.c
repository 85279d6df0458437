/* Hosts whose standard error is a pipe in a bad state: stderr SCENARIO. Linked against the library
 * of library.c. What arrived in the pipe is printed on standard output. */
#define _GNU_SOURCE
#include "library.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void require(int ok, const char *what) {
  if (ok)
    return;
  dprintf(1, "failed: %s (%s)\n", what, strerror(errno));
  _exit(3);
}

static void *calls(void *n) {
  for (long i = 0; i < (long)n; i++)
    require(miopenAlpha(1) == 2, "miopenAlpha");
  return NULL;
}

static int reading; /* the pipe's other end */
static size_t filled;
static char arrived[1 << 16];
static size_t arrived_bytes;

/* Makes standard error a pipe with room for a page. */
static void redirect(int flags) {
  int ends[2];
  require(!pipe2(ends, O_CLOEXEC), "pipe2");
  require(fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096, "F_SETPIPE_SZ");
  require(!fcntl(ends[0], F_SETFL, O_NONBLOCK) && !fcntl(ends[1], F_SETFL, flags), "F_SETFL");
  require(dup2(ends[1], 2) == 2 && !close(ends[1]), "dup2");
  reading = ends[0];
}

static void fill(int flags) {
  redirect(O_NONBLOCK);
  while (write(2, "x", 1) == 1)
    filled++;
  require(errno == EAGAIN && filled == 4096, "the pipe is full");
  require(!fcntl(2, F_SETFL, flags), "F_SETFL");
}

static void drain(void) {
  ssize_t n;
  while ((n = read(reading, arrived + arrived_bytes, sizeof arrived - arrived_bytes)) > 0)
    arrived_bytes += (size_t)n;
}

static void print_arrived(void) {
  drain();
  fwrite(arrived + filled, 1, arrived_bytes - filled, stdout);
}

static void every(int milliseconds, void (*handler)(int)) {
  struct itimerval interval = {{0, milliseconds * 1000}, {0, milliseconds * 1000}};
  signal(SIGALRM, handler);
  require(!setitimer(ITIMER_REAL, &interval, NULL), "setitimer");
}

static volatile sig_atomic_t ticks;
static void make_room(int signal) {
  (void)signal;
  if (++ticks == 5) {
    drain();
    require(miopenBare() == 40, "miopenBare");
  }
}

static sigjmp_buf away;
static void leave(int signal) {
  (void)signal;
  drain();
  siglongjmp(away, 1);
}

/* Ends the process as a service is ended, once its main thread sleeps. That is the only one that
 * the signal can go to. */
static void *end(void *unused) {
  (void)unused;
  sigset_t all;
  sigfillset(&all);
  require(!pthread_sigmask(SIG_BLOCK, &all, NULL), "pthread_sigmask");
  char path[64], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
  for (int times = 0; times < 5; times = state == 'S' ? times + 1 : 0) {
    usleep(10000);
    FILE *stat = fopen(path, "re");
    require(stat && fscanf(stat, "%*d (%*[^)]) %c", &state) == 1, path);
    fclose(stat);
  }
  kill(getpid(), SIGTERM);
  return NULL;
}

static int done;
static void *call_and_count(void *unused) {
  (void)unused;
  calls((void *)2);
  __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
  return NULL;
}

static double processor_time(void) {
  struct timespec t;
  require(!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), "clock_gettime");
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *read_slowly(void *unused) {
  (void)unused;
  for (;;) {
    char text[100];
    ssize_t n = read(reading, text, sizeof text);
    if (!n)
      return NULL;
    require(n > 0 ? write(1, text, (size_t)n) == n : errno == EAGAIN, "read");
    usleep(50);
  }
}

static void count_signal(int signal) {
  (void)signal;
  ticks++;
}

/* How the host has SIGPIPE: default, ignored, handled, blocked, pending. */
static void no_reader(const char *how) {
  int is_pending = !strcmp(how, "pending"), is_blocked = is_pending || !strcmp(how, "blocked");
  redirect(0);
  close(reading);
  if (!strcmp(how, "ignored"))
    signal(SIGPIPE, SIG_IGN);
  if (!strcmp(how, "handled"))
    signal(SIGPIPE, count_signal);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  if (is_blocked)
    sigprocmask(SIG_BLOCK, &set, NULL);
  if (is_pending)
    raise(SIGPIPE);
  calls((void *)2);
  pid_t pid = fork();
  if (!pid) {
    calls((void *)2);
    exit(0);
  }
  int status;
  require(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "the child");
  sigpending(&set);
  require(sigismember(&set, SIGPIPE) == is_pending, "what is pending");
  sigprocmask(SIG_BLOCK, NULL, &set);
  require(sigismember(&set, SIGPIPE) == is_blocked, "what is blocked");
  require(!ticks, "no signal has come");
  printf("alive\n");
}

int main(int argc, char **argv) {
  const char *scenario = argc > 1 ? argv[1] : "", *way = argc > 2 ? argv[2] : "";
  int flags = strcmp(way, "non-blocking") ? 0 : O_NONBLOCK;
  pthread_t thread[4];
  if (!strcmp(scenario, "handler")) {
    /* A handler gets to run during a first call that waits for room, and calls itself. */
    fill(flags);
    every(20, make_room);
    calls((void *)1);
    require(ticks >= 5, "the call waited");
    print_arrived();
  } else if (!strcmp(scenario, "end")) {
    fill(flags);
    require(!pthread_create(&thread[0], NULL, end, NULL), "pthread_create");
    calls((void *)1);
    require(0, "the process has ended");
  } else if (!strcmp(scenario, "others")) {
    /* The threads but the one that has the messages to write go on, and none of them works. */
    fill(flags);
    for (int i = 0; i < 4; i++)
      require(!pthread_create(&thread[i], NULL, call_and_count, NULL), "pthread_create");
    for (int i = 0; i < 10000 && __atomic_load_n(&done, __ATOMIC_RELAXED) < 3; i++)
      usleep(1000);
    double before = processor_time();
    usleep(300000);
    require(processor_time() - before < 0.1, "nobody works");
    require(__atomic_load_n(&done, __ATOMIC_RELAXED) == 3, "three of four threads go on");
    drain();
    for (int i = 0; i < 4; i++)
      pthread_join(thread[i], NULL);
    print_arrived();
  } else if (!strcmp(scenario, "leave")) {
    /* The thread that has the messages to write leaves instead. */
    fill(flags);
    every(20, leave);
    if (!sigsetjmp(away, 1))
      calls((void *)1);
    every(0, SIG_IGN);
    require(!pthread_create(&thread[0], NULL, calls, (void *)2), "pthread_create");
    pthread_join(thread[0], NULL);
    calls((void *)1);
    print_arrived();
  } else if (!strcmp(scenario, "slow reader")) {
    redirect(O_NONBLOCK);
    require(!pthread_create(&thread[0], NULL, read_slowly, NULL), "pthread_create");
    for (int i = 1; i < 3; i++)
      require(!pthread_create(&thread[i], NULL, calls, (void *)500), "pthread_create");
    for (int i = 1; i < 3; i++)
      pthread_join(thread[i], NULL);
    close(2);
    pthread_join(thread[0], NULL);
  } else if (!strcmp(scenario, "no reader")) {
    no_reader(way);
  } else {
    require(0, "no such scenario");
  }
  return 0;
}
