/**
 * @file
 * What a call of miopenGetVersion costs in a process, and what it allocates. The environment says
 * how the library traces.
 *
 *     worker time LIBRARY ROUNDS CALLS
 *
 * makes one call, then ROUNDS blocks of CALLS calls, and prints for each block "call", tab,
 * nanoseconds per call.
 *
 *     worker allocations LIBRARY CALLS
 *
 * makes one call, then CALLS calls that are watched, and prints one row of tab separated fields:
 *
 *     allocations  LIBRARY'S  KERNEL'S  CONTROL'S  CONTROL'S
 *
 * the calls of malloc, calloc, realloc and their kin, the system calls that get memory from the
 * kernel (mmap, mremap, brk), and the same two of a control that allocates once in either way, with
 * the same watch. The memory functions are this program's, in front of those of the C library for
 * every library of the process. The system calls are trapped by a seccomp filter, so that nothing
 * that enters the kernel escapes, whoever issues it; they fail with ENOMEM. The filter cannot be
 * taken off again, hence the two modes.
 *
 * Exit status: 0; 1 with the reason on stderr, a failed call among them; 2 for usage.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

typedef int (*version_fn)(size_t *major, size_t *minor, size_t *patch);

/* The C library's own names of its allocator. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static volatile sig_atomic_t allocations, system_calls;

void *malloc(size_t size) {
  allocations++;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  allocations++;
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  allocations++;
  return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
  allocations++;
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory != NULL ? 0 : ENOMEM;
}

void free(void *memory) {
  __libc_free(memory);
}

static void on_trap(int signal, siginfo_t *info, void *context) {
  (void)signal;
  (void)info;
  system_calls++;
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -ENOMEM;
}

/* Traps the system calls that get memory, from here to the end of the process. */
static int watch(void) {
#define TRAP_IF(number)                                                                            \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      TRAP_IF(SYS_mmap),
      TRAP_IF(SYS_mremap),
      TRAP_IF(SYS_brk),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("worker: the kernel refuses a seccomp filter");
    return -1;
  }
  return 0;
}

static int call(version_fn f, long calls) {
  size_t v[3];
  int bad = 0;
  for (long i = 0; i < calls; i++)
    bad |= f(&v[0], &v[1], &v[2]);
  if (bad != 0)
    fprintf(stderr, "worker: a call failed, OR of the statuses %d\n", bad);
  return bad;
}

static int time_calls(version_fn f, long rounds, long calls) {
  for (long round = 0; round < rounds; round++) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (call(f, calls) != 0)
      return 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ns = (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
    printf("call\t%.4f\n", ns / (double)calls);
  }
  return fflush(stdout) == 0 ? 0 : 1;
}

static int count_allocations(version_fn f, long calls) {
  if (watch() != 0)
    return 1;
  allocations = system_calls = 0;
  if (call(f, calls) != 0)
    return 1;
  long by_library = allocations, by_kernel = system_calls;

  allocations = system_calls = 0;
  void *volatile memory = malloc(1);
  free(memory);
  void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED)
    fprintf(stderr, "worker: the filter let mmap through\n");
  long control_library = allocations, control_kernel = system_calls;

  char row[128]; /* printf would allocate its buffer */
  int length = snprintf(row, sizeof row, "allocations\t%ld\t%ld\t%ld\t%ld\n", by_library, by_kernel,
                        control_library, control_kernel);
  return write(STDOUT_FILENO, row, (size_t)length) == length ? 0 : 1;
}

int main(int argc, char **argv) {
  int timed = argc == 5 && strcmp(argv[1], "time") == 0;
  if (!timed && !(argc == 4 && strcmp(argv[1], "allocations") == 0)) {
    fprintf(stderr, "usage: worker time LIBRARY ROUNDS CALLS\n"
                    "       worker allocations LIBRARY CALLS\n");
    return 2;
  }
  void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  version_fn f = library == NULL ? NULL : (version_fn)dlsym(library, "miopenGetVersion");
  if (f == NULL) {
    fprintf(stderr, "worker: %s\n", dlerror());
    return 1;
  }
  if (call(f, 1) != 0)
    return 1;
  return timed ? time_calls(f, strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10))
               : count_allocations(f, strtol(argv[3], NULL, 10));
}
