/* An application of hooked.h. Scenarios: session, error, fork, clone, threads, limits, attributes,
 * pipe, loader. With HOST_KEEPS_PAGES it has a kernel that wipes no page in a child. */
#include "hooked.h"
#include "miopen_hipdnn_shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static handle_t handle;

static int convolve(struct tensor *x, struct tensor *w, struct tensor *y, struct convolution *c,
                    const void *alpha, const void *beta) {
  return miopenConvolutionForward(handle, alpha, x, (void *)0x10, w, (void *)0x20, c, direct, beta,
                                  y, (void *)0x30, (void *)0x40, 50);
}

static struct tensor x = {single, 4, {2, 3, 4, 5}, {60, 20, 5, 1}, 480};
static struct tensor w = {single, 4, {6, 3, 1, 2}, {6, 2, 2, 1}, 144};
static struct tensor y = {half, 4, {2, 6, 4, 4}, {96, 1, 24, 6}, 384};
static struct convolution c = {2, {1, 2}, {3, 4}, {5, 6}, 7, {8, 9, 10}, transpose};
static const float one = 1, two = 2;

static int ordinary(void) {
  return convolve(&x, &w, &y, &c, &one, &two);
}

static void statistics(void) {
  struct miopenForwardingStatistics s;
  printf("statistics %d", miopenGetForwardingStatistics(&s, sizeof s));
  printf(": %lu %lu %lu %lu %lu\n", s.forwarded, s.native, s.failed, s.plan_hits, s.plan_builds);
}

static void session(void) {
  errno = 77;
  printf("status %d errno %d\n", miopenCreate(&handle), errno);
  miopenSetStream(handle, (stream_t)0x50);
  miopenEnableProfiling(handle, true);
  printf("status %d\n", ordinary());
  float time = 0;
  miopenGetKernelTime(handle, &time);
  printf("time %g text %s error %d\n", time, miopenGetErrorString(unknown),
         miopenGetLastForwardedError());
  statistics();
  struct miopenForwardingStatistics s;
  s.native = 99;
  miopenGetForwardingStatistics(&s, sizeof s.forwarded);
  printf("short %lu %lu null %d\n", s.forwarded, s.native, miopenGetForwardingStatistics(NULL, 0));
  miopenDestroy(handle);
  miopenCreateWithStream(&handle, (stream_t)0x60);
  miopenDestroy(handle);
}

static void limits(void) {
  miopenCreate(&handle);
  const double three = 3;
  struct tensor big = x, wide_x = x, vector = x, none = x;
  big.rank = 8;
  wide_x.type = wide;
  wide_x.bytes = 960;
  vector.bytes *= 4;
  none.rank = -1;
  struct convolution deep = c;
  deep.spatial = 6;
  convolve(&big, &w, &y, &c, NULL, NULL);
  convolve(&wide_x, &w, &y, &c, &three, &three);
  convolve(&vector, &none, &y, &deep, &one, &one);
  printf("null %d\n", miopenConvolutionForward(handle, &one, NULL, NULL, &w, NULL, &c, direct, &one,
                                               &y, NULL, NULL, 0));
}

static void attributes(void) {
  miopenCreate(&handle);
  struct tensor narrow = x, f8 = x, flat = x, deeper = x;
  narrow.type = half;
  narrow.bytes /= 2;
  f8.type = (type_t)7;
  f8.bytes /= 4;
  flat.rank = 3;
  deeper.rank = 5;
  struct convolution three = {3, {1, 2, 7}, {3, 4, 8}, {5, 6, 9}, 7, {8, 9, 10}, transpose};
  struct convolution none = c;
  none.spatial = 0;
  convolve(&narrow, &w, &y, &c, &one, &two);
  convolve(&f8, &w, &y, &c, &one, &two);
  convolve(&deeper, &w, &y, &c, &one, &two);
  convolve(&flat, &w, &y, &three, &one, &two);
  convolve(&x, &w, &y, &none, &one, &two);
}

static void handled(int signal) {
  (void)signal;
}

static void pipe_signal(void) {
  if (getenv("HOST_HANDLES_SIGPIPE"))
    signal(SIGPIPE, handled);
  miopenCreate(&handle);
  ordinary();
  struct sigaction now;
  sigaction(SIGPIPE, NULL, &now);
  printf("sigpipe %s\n", now.sa_handler == SIG_DFL   ? "default"
                         : now.sa_handler == handled ? "the host's"
                                                     : "another's");
}

/* The constructor of the library, which runs under the loader's lock, calls MIOpen while the other
 * thread opens the forwarding library. It waits with that until the lock is held. */
static void *load(void *unused) {
  (void)unused;
  if (!dlopen(getenv("CONSTRUCTOR"), RTLD_NOW))
    printf("%s\n", dlerror());
  printf("refused before %d\n", miopenGetLastForwardedError() == 1);
  printf("status %d\n", ordinary());
  printf("refused now %d\n", miopenGetLastForwardedError() == 1);
  return NULL;
}

static void loader(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, load, NULL) != 0)
    return;
  while (!getenv("LOADER_IS_LOCKED"))
    usleep(1000);
  miopenCreate(&handle);
  pthread_join(thread, NULL);
  if (!getenv("HOST_ASKS_NOTHING"))
    statistics();
}

static void *in_thread(void *unused) {
  (void)unused;
  ordinary();
  return NULL;
}

/* Has madvise fail as before Linux 4.14. */
static void keep_pages(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    perror("the kernel refuses a seccomp filter");
}

/* A child that is made by fork, or by a bare clone without its handlers. */
static void forked(bool bare) {
  miopenCreate(&handle);
  printf("status %d\n", ordinary());
  if ((bare ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork()) == 0) {
    printf("child\n");
    printf("status %d\n", ordinary());
    statistics();
    exit(0);
  }
  wait(NULL);
  printf("parent\n");
  printf("status %d\n", ordinary());
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (getenv("HOST_KEEPS_PAGES"))
    keep_pages();
  if (argc != 2)
    return 2;
  if (strcmp(argv[1], "session") == 0) {
    session();
  } else if (strcmp(argv[1], "error") == 0) {
    miopenCreate(&handle);
    int status = ordinary();
    printf("status %d error %d text %s\n", status, miopenGetLastForwardedError(),
           miopenGetErrorString(status));
  } else if (strcmp(argv[1], "limits") == 0) {
    limits();
  } else if (strcmp(argv[1], "attributes") == 0) {
    attributes();
  } else if (strcmp(argv[1], "pipe") == 0) {
    pipe_signal();
  } else if (strcmp(argv[1], "loader") == 0) {
    loader();
  } else if (strcmp(argv[1], "fork") == 0) {
    forked(false);
  } else if (strcmp(argv[1], "clone") == 0) {
    forked(true);
  } else if (strcmp(argv[1], "threads") == 0) {
    pthread_t threads[16];
    handle = (handle_t)&x; /* one that was made elsewhere: miopenCreate would be the first call */
    for (int i = 0; i < 16; i++)
      if (pthread_create(&threads[i], NULL, in_thread, NULL) != 0)
        return 1;
    for (int i = 0; i < 16; i++)
      pthread_join(threads[i], NULL);
  } else {
    return 2;
  }
  return 0;
}
