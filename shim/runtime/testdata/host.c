/* The ways in which a host meets the wrapper, one a run: host SCENARIO [ARGUMENT]. Linked against
 * the library of library.c. */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <ucontext.h>
#include <unistd.h>

static void require(int ok, const char *what) {
  if (ok)
    return;
  fprintf(stderr, "failed: %s (%s)\n", what, strerror(errno));
  _exit(3);
}

static void calls(int n) {
  for (int i = 0; i < n; i++)
    require(miopenAlpha(i) == i + 1, "miopenAlpha");
}

static pthread_barrier_t barrier;
static void *one_thread(void *argument) {
  pthread_barrier_wait(&barrier);
  calls((int)(long)argument);
  return NULL;
}

/* The bytes that are mapped of files whose name ends so. */
static long mapped_bytes(const char *end) {
  FILE *maps = fopen("/proc/self/maps", "re");
  require(maps != NULL, "/proc/self/maps");
  long bytes = 0;
  unsigned long from, to;
  for (char line[4096]; fgets(line, sizeof line, maps);) {
    size_t length = strcspn(line, "\n");
    if (length >= strlen(end) && !strncmp(line + length - strlen(end), end, strlen(end)) &&
        sscanf(line, "%lx-%lx", &from, &to) == 2)
      bytes += (long)(to - from);
  }
  fclose(maps);
  return bytes;
}

struct visit {
  int calls;
  pid_t thread;
  long bytes; /* mapped of trace files after the calls */
};

static void *one_visit(void *argument) {
  struct visit *v = argument;
  calls(v->calls);
  v->thread = gettid();
  v->bytes = mapped_bytes(".trace");
  return NULL;
}

/* N threads one after the other, each with K calls and gone when the next one starts. Returns the
 * most that was mapped of trace files. */
static long one_after_another(int n, int k) {
  long most = 0;
  for (int i = 0; i < n; i++) {
    pthread_t thread;
    struct visit v = {.calls = k};
    require(!pthread_create(&thread, NULL, one_visit, &v), "pthread_create");
    pthread_join(thread, NULL);
    char task[64]; /* pthread_join returns a moment before the kernel forgets the thread */
    snprintf(task, sizeof task, "/proc/self/task/%d", v.thread);
    while (!access(task, F_OK))
      usleep(100);
    if (v.bytes > most)
      most = v.bytes;
  }
  return most;
}

static void *come_and_go(void *argument) {
  calls(1);
  one_after_another((int)(long)argument, 3);
  calls(1);
  return NULL;
}

/* N threads whose first call is at one moment, each with K calls. */
static void threads(int n, int k) {
  pthread_t thread[n];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  pthread_barrier_init(&barrier, NULL, (unsigned)n);
  for (int i = 0; i < n; i++)
    require(!pthread_create(&thread[i], &small, one_thread, (void *)(long)k), "pthread_create");
  for (int i = 0; i < n; i++)
    pthread_join(thread[i], NULL);
}

static volatile sig_atomic_t handled;
static void handler(int signal) {
  (void)signal;
  require(miopenBare() == 40, "miopenBare");
  handled++;
}

static void on_alternate_stack(int signal) {
  static char stack[16 << 10];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  require(!sigaltstack(&alternate, NULL), "sigaltstack");
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
  require(!sigaction(signal, &action, NULL), "sigaction");
}

static int done;

/* Writes to closed descriptors, one digit each, until it is done. */
static void *write_to_closed(void *digits) {
  for (const char *d = digits; !__atomic_load_n(&done, __ATOMIC_ACQUIRE); d = d[1] ? d + 1 : digits)
    if (write(*d - '0', "lost\n", 5) >= 0 || errno != EBADF)
      _exit(4); /* there may be no standard error to say it on */
  return NULL;
}

/* So many threads one after the other, each with one call. */
static void *call_in_threads(void *n) {
  for (long i = 0; i < (long)n; i++)
    threads(1, 1);
  __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
  return NULL;
}

/* Forbids a system call from now on: it fails with an error. Threads of pthread_create are allowed,
 * which have thread-local variables of their own. */
static void forbid(unsigned number, unsigned error) {
  const struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_SETTLS, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, (struct sock_filter *)filter};
  require(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
  require(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "PR_SET_SECCOMP");
}

/* A thread whose first call is interrupted so many microseconds after its beginning, or before. */
static void *interrupted_call(void *microseconds) {
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
  struct itimerval once = {{0, 0}, {0, (long)microseconds}};
  int before = handled;
  require(!setitimer(ITIMER_REAL, &once, NULL), "setitimer");
  calls(1);
  while (handled == before)
    usleep(10);
  return NULL;
}

/* A stack of its own, which is left in the middle of a call. */
static ucontext_t fiber, left;
static int leave_fiber(void) {
  return swapcontext(&fiber, &left);
}

static void run_fiber(void) {
  require(miopenCallsBack(leave_fiber) == 0, "miopenCallsBack");
}

static void *resume_fiber(void *unused) {
  (void)unused;
  calls(1);
  require(!swapcontext(&left, &fiber), "swapcontext");
  return NULL;
}

static void child(int n) {
  pid_t pid = fork();
  require(pid >= 0, "fork");
  if (!pid) {
    calls(n);
    exit(0);
  }
  int status;
  require(waitpid(pid, &status, 0) == pid && status == 0, "the child");
}

/* What a daemon does. */
static void close_all(void) {
  for (int i = 3; i < 256; i++)
    close(i);
}

/* The FNV-1a hash of the code of the object that has miopenAlpha. */
static int hash_code(struct dl_phdr_info *object, size_t size, void *result) {
  (void)size;
  uintptr_t alpha = (uintptr_t)dlsym(RTLD_DEFAULT, "miopenAlpha");
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &object->dlpi_phdr[i];
    const unsigned char *code = (const unsigned char *)(object->dlpi_addr + p->p_vaddr);
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || alpha - (uintptr_t)code >= p->p_memsz)
      continue;
    uint64_t hash = 14695981039346656037u;
    for (size_t n = 0; n < p->p_filesz; n++)
      hash = (hash ^ code[n]) * 1099511628211u;
    *(uint64_t *)result = hash;
    return 1;
  }
  return 0;
}

static void write_file(const char *path, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int file = open(path, O_WRONLY);
  require(file >= 0 && vdprintf(file, format, values) > 0, path);
  close(file);
  va_end(values);
}

/* Runs a program of this user's with a capability that its file grants. A namespace's root may
 * grant it, and it holds in the namespaces below; there, the user is not root, who would have it
 * without the file. */
static void run_capable(char **command) {
  unsigned user = getuid(), group = getgid();
  require(!unshare(CLONE_NEWUSER), "unshare");
  write_file("/proc/self/uid_map", "0 %u 1", user);
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/gid_map", "0 %u 1", group);
  struct vfs_cap_data grant = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                               .data[0].permitted = 1u << CAP_NET_BIND_SERVICE};
  require(!setxattr(command[0], "security.capability", &grant, sizeof grant, 0), "setxattr");
  require(!unshare(CLONE_NEWUSER), "unshare");
  write_file("/proc/self/uid_map", "1 0 1");
  execv(command[0], command);
  require(0, "execv");
}

int main(int argc, char **argv) {
  const char *scenario = argc > 1 ? argv[1] : "";
  int n = argc > 2 ? atoi(argv[2]) : 0;
  if (!strcmp(scenario, "calls")) {
    calls(n);
  } else if (!strcmp(scenario, "threads")) {
    threads(n, argc > 3 ? atoi(argv[3]) : 1);
  } else if (!strcmp(scenario, "signal")) {
    on_alternate_stack(SIGUSR1);
    raise(SIGUSR1);
    calls(1);
  } else if (!strcmp(scenario, "interrupt")) {
    /* A handler that calls in, again and again, wherever the main program is. */
    on_alternate_stack(SIGALRM);
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    require(!setitimer(ITIMER_REAL, &often, NULL), "setitimer");
    int done = 0;
    while (handled < n) {
      calls(100);
      done += 100;
    }
    require(!setitimer(ITIMER_REAL, &never, NULL), "setitimer");
    printf("%d %d\n", done, (int)handled);
  } else if (!strcmp(scenario, "setenv")) {
    setenv("MIOPEN_HIPDNN_TRACE", "stderr", 1);
    calls(1);
    setenv("MIOPEN_HIPDNN_TRACE", "", 1);
    calls(1);
  } else if (!strcmp(scenario, "setenv late")) {
    calls(1);
    setenv("MIOPEN_HIPDNN_TRACE", "stderr", 1);
    calls(1);
  } else if (!strcmp(scenario, "errno")) {
    errno = 1234;
    calls(2);
    require(errno == 1234, "errno is the host's");
  } else if (!strcmp(scenario, "secure")) {
    printf("%lu\n", getauxval(AT_SECURE));
    calls(1);
  } else if (!strcmp(scenario, "capable")) {
    run_capable(argv + 2);
  } else if (!strcmp(scenario, "fork")) {
    calls(3);
    child(2);
    child(0);
    calls(1);
  } else if (!strcmp(scenario, "fork among threads")) {
    /* The other threads are in the middle of calls when the process is copied. */
    pthread_t thread[4];
    pthread_barrier_init(&barrier, NULL, 5);
    for (int i = 0; i < 4; i++)
      require(!pthread_create(&thread[i], NULL, one_thread, (void *)20000L), "pthread_create");
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < n; i++)
      child(7);
    for (int i = 0; i < 4; i++)
      pthread_join(thread[i], NULL);
  } else if (!strcmp(scenario, "one after another")) {
    calls(1);
    printf("%ld\n", one_after_another(n, 3));
    calls(1);
  } else if (!strcmp(scenario, "come and go")) {
    /* Threads that start others, and children that do the same. */
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
      require(!pthread_create(&thread[i], NULL, come_and_go, (void *)(long)n), "pthread_create");
    for (int i = 0; i < 3; i++) {
      pid_t pid = fork();
      require(pid >= 0, "fork");
      if (!pid) {
        come_and_go((void *)(long)n);
        exit(0);
      }
      int status;
      require(waitpid(pid, &status, 0) == pid && status == 0, "the child");
    }
    for (int i = 0; i < 4; i++)
      pthread_join(thread[i], NULL);
  } else if (!strcmp(scenario, "vfork")) {
    /* The main thread's first call is one of its child, which shares its memory; with N, threads
     * have called before. */
    one_after_another(n, 3);
    pid_t pid = vfork();
    if (!pid) {
      miopenAlpha(1);
      _exit(0);
    }
    require(pid > 0 && waitpid(pid, NULL, 0) == pid, "vfork");
    one_after_another(5, 3);
    calls(1);
  } else if (!strcmp(scenario, "fork while reading")) {
    /* The process is copied while another thread reads the environment, which takes a while. */
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    require(!pthread_create(&thread, NULL, one_thread, (void *)1L), "pthread_create");
    pthread_barrier_wait(&barrier);
    usleep(100000);
    child(1);
    pthread_join(thread, NULL);
  } else if (!strcmp(scenario, "raw fork")) {
    calls(1);
    pid_t pid = _Fork();
    require(pid >= 0, "_Fork");
    if (!pid) {
      calls(2);
      _exit(0);
    }
    require(waitpid(pid, NULL, 0) == pid, "waitpid");
  } else if (!strcmp(scenario, "fork within")) {
    /* The child returns from a call that its parent made. */
    require(miopenCallsBack(fork) == 0, "miopenCallsBack");
    calls(1);
    if (wait(NULL) < 0)
      exit(0);
  } else if (!strcmp(scenario, "change directory")) {
    calls(1);
    require(!chdir("/"), "chdir");
    child(1);
  } else if (!strcmp(scenario, "exec")) {
    calls(1);
    execl("/proc/self/exe", "host", "calls", "2", (char *)NULL);
    require(0, "execl");
  } else if (!strcmp(scenario, "close")) {
    calls(1);
    close_all();
    int mine = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
    require(mine == 3, "the lowest number is free");
    require(write(mine, "mine", 4) == 4, "write");
    threads(2, 3);
    child(1);
    require(lseek(mine, 0, SEEK_END) == 4, "the file is the host's");
  } else if (!strcmp(scenario, "without")) {
    /* A program that was started without the descriptors argv[2], and writes to them. */
    for (const char *d = argv[2]; *d; d++)
      close(*d - '0');
    pthread_t thread;
    require(!pthread_create(&thread, NULL, write_to_closed, argv[2]), "pthread_create");
    threads(80, 2);
    for (int i = 0; i < 10; i++)
      threads(2, 2);
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
  } else if (!strcmp(scenario, "redirect")) {
    /* A program that was started without standard error gives itself one, closes it and opens
     * another file there, again and again while threads make their first calls. */
    int log = open("/dev/null", O_WRONLY);
    struct stat want, is;
    require(!fstat(log, &want), "fstat");
    pthread_t thread;
    require(!pthread_create(&thread, NULL, call_in_threads, (void *)(long)n), "pthread_create");
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
      close(2); /* failures have a status from here on: there is nowhere to say them */
      usleep(50);
      if (open("/dev/zero", O_WRONLY) != 2)
        _exit(5);
      close(2);
      if (dup2(log, 2) != 2)
        _exit(6);
      usleep(50);
      if (fstat(2, &is) || is.st_rdev != want.st_rdev)
        _exit(7);
    }
    pthread_join(thread, NULL);
  } else if (!strcmp(scenario, "sandbox")) {
    /* N threads where the system calls argv[3] are forbidden: clone, unshare, close_range, and with
     * "late" after a call of the main thread. */
    if (strstr(argv[3], "late"))
      calls(1);
    if (strstr(argv[3], "clone"))
      forbid(SYS_clone, EAGAIN);
    if (strstr(argv[3], "unshare"))
      forbid(SYS_unshare, EPERM);
    if (strstr(argv[3], "close_range"))
      forbid(436, EPERM);
    threads(n, 3);
  } else if (!strcmp(scenario, "interrupt first calls")) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    require(!sigaction(SIGALRM, &action, NULL), "sigaction");
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    for (int i = 0; i < n; i++) {
      pthread_t thread;
      require(!pthread_create(&thread, NULL, interrupted_call, (void *)(long)(1 + i % 100)),
              "pthread_create");
      pthread_join(thread, NULL);
    }
    printf("%d\n", (int)handled);
  } else if (!strcmp(scenario, "fiber")) {
    /* A call begins on one thread and returns on another. */
    static char stack[256 << 10];
    require(!getcontext(&fiber), "getcontext");
    fiber.uc_stack = (stack_t){.ss_sp = stack, .ss_size = sizeof stack};
    fiber.uc_link = &left;
    makecontext(&fiber, run_fiber, 0);
    require(!swapcontext(&left, &fiber), "swapcontext");
    usleep(200000);
    pthread_t thread;
    require(!pthread_create(&thread, NULL, resume_fiber, NULL), "pthread_create");
    pthread_join(thread, NULL);
  } else if (!strcmp(scenario, "pause")) {
    calls(1);
    usleep(200000);
    calls(1);
  } else if (!strcmp(scenario, "replaced")) {
    /* Another file takes the place of the one in the trace's folder, argv[2]. */
    calls(1);
    char file[4096], moved[4096 + 8];
    snprintf(file, sizeof file, "%s/%d.0.trace", argv[2], getpid());
    snprintf(moved, sizeof moved, "%s.moved", file);
    require(!rename(file, moved), "rename");
    require(close(open(file, O_CREAT | O_EXCL | O_WRONLY, 0600)) == 0, "open");
    threads(1, 3);
    calls(1);
  } else if (!strcmp(scenario, "folder gone")) {
    /* The folder of the trace, argv[2], turns into a file. */
    calls(1);
    char moved[4096];
    snprintf(moved, sizeof moved, "%s.moved", argv[2]);
    require(!rename(argv[2], moved), "rename");
    require(close(open(argv[2], O_CREAT | O_WRONLY, 0600)) == 0, "open");
    threads(1, 3);
    child(2);
    calls(1);
  } else if (!strcmp(scenario, "code")) {
    calls(2);
    uint64_t hash = 0;
    dl_iterate_phdr(hash_code, &hash);
    printf("%lx\n", hash);
  } else if (!strcmp(scenario, "all")) {
    printf("%d %g %s %d\n", miopenAlpha(1), miopenBeta(1, 0.5, 3, 4, 5, 6, 7, 8, 9.25),
           miopenText(3), miopenBare());
    miopenNothing();
    miopenAlpha(1);
  } else if (!strcmp(scenario, "beside")) {
    require(dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) != NULL, dlerror());
    calls(2);
  } else {
    require(0, "no such scenario");
  }
  return 0;
}
