#include "os.h"
#include "ringfile.h"
#include "trace.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

/* A mapped ring, to be unmapped when its thread has ended. In memory of the process's own: what the
 * ring itself holds is a file's, which others can write. */
struct mapping {
  struct mapping *next;
  struct shim_ring *ring;
  uint32_t thread;
};

/* What belongs to one process and not to its forked children, in memory that reads as zeros there.
 */
struct process {
  uint64_t claim;      /* on opening the file */
  uint64_t generation; /* of this process's file, from 1; 0 until it is open */
  uint32_t settled;    /* the file is open, or cannot be opened */
  uint32_t refreshing; /* a thread is writing header->last */
  struct shim_file_header *header;
  uint64_t device, inode; /* of the file, which is opened again for every ring */
  /* A stack. A forked child leaves its parent's rings mapped: a signal handler may have forked in
   * the middle of a call, which then goes on in the child. */
  struct mapping *mappings;
  uint64_t mapped; /* rings */
  uint64_t many;   /* so many that it is time to look for threads that have ended */
  char path[PATH_MAX];
};

static struct process *process;
static char folder[PATH_MAX];
static bool use_tsc;
/* Files that this process and those that it was forked from have opened: a child's file has another
 * number than the one that its threads' rings were inherited from. */
static uint64_t generations;

/* The thread's ring. In the initial TLS block, where reaching it takes one instruction and never an
 * allocation. */
static __thread struct {
  struct shim_ring *ring; /* NULL when it could not be opened */
  uint64_t generation;    /* of the file that it is in; 0 before the first call */
} own __attribute__((tls_model("initial-exec")));

static uint64_t nanoseconds(clockid_t clock) {
  struct timespec t = {0, 0};
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t now(void) {
  return use_tsc ? __builtin_ia32_rdtsc() : nanoseconds(CLOCK_BOOTTIME);
}

/* The counter is a clock when it runs at one speed, whatever the cores do. */
static bool tsc_is_a_clock(void) {
  unsigned a, b, c, d = 0;
  const unsigned advanced_power_management = 0x80000007u, invariant = 1u << 8;
  return __get_cpuid(advanced_power_management, &a, &b, &c, &d) && (d & invariant);
}

/* Both clocks at one moment: of a few tries the one that took the least. */
static struct shim_moment take_moment(void) {
  if (!use_tsc) {
    uint64_t ns = now();
    return (struct shim_moment){ns, ns};
  }
  struct shim_moment best = {0, 0};
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < 5; i++) {
    uint64_t before = now();
    uint64_t ns = nanoseconds(CLOCK_BOOTTIME);
    uint64_t took = now() - before;
    if (took < shortest) {
      shortest = took;
      best = (struct shim_moment){before + took / 2, ns};
    }
  }
  return best;
}

static void refresh_moment(struct process *p) {
  uint32_t free = 0;
  if (!__atomic_compare_exchange_n(&p->refreshing, &free, 1, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED))
    return; /* somebody takes one just now */
  p->header->last = take_moment();
  __atomic_store_n(&p->refreshing, 0, __ATOMIC_RELEASE);
}

/* Extends the file by a range whose blocks exist: writing to a mapped page for which the disk has
 * no room would kill the process. Returns 0 or -ERROR. */
static long reserve(long file, uint64_t offset, uint64_t bytes) {
  long failed;
  do
    failed = SHIM_SYSCALL4(SYS_fallocate, file, 0, offset, bytes);
  while (failed == -EINTR);
  if (failed != -EOPNOTSUPP && failed != -ENOSYS)
    return failed;
  static const char zeros[SHIM_PAGE];
  for (uint64_t end = offset + bytes; offset < end;) {
    uint64_t n = end - offset < sizeof zeros ? end - offset : sizeof zeros;
    long written = SHIM_SYSCALL4(SYS_pwrite64, file, zeros, n, offset);
    if (written > 0)
      offset += (uint64_t)written;
    else if (written != -EINTR)
      return written ? written : -ENOSPC;
  }
  return 0;
}

/* A part of the process's file, to be mapped. */
struct part {
  struct process *process;
  bool create; /* the file, for its first part */
  uint64_t offset, bytes;
};

/* Opens the file, reserves the part and maps it. Returns its address or -ERROR. By the file's name,
 * and not through a descriptor that is kept: a host may close descriptors that it does not know,
 * and their numbers then belong to its own files. */
static long map_by_name(void *argument) {
  const struct part *part = argument;
  struct process *p = part->process;
  int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (part->create ? O_CREAT | O_EXCL : 0);
  long file = SHIM_SYSCALL3(SYS_open, p->path, flags, 0600);
  if (file < 0)
    return file;
  struct stat identity;
  long result = SHIM_SYSCALL2(SYS_fstat, file, &identity);
  if (!result && part->create) {
    p->device = identity.st_dev;
    p->inode = identity.st_ino;
  }
  if (!result && (identity.st_dev != p->device || identity.st_ino != p->inode))
    result = -ESTALE;
  if (!result)
    result = reserve(file, part->offset, part->bytes);
  if (!result)
    result = SHIM_SYSCALL6(SYS_mmap, 0, part->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                           part->offset);
  if (SHIM_FAILED(result) && part->create)
    SHIM_SYSCALL1(SYS_unlink, p->path);
  return result;
}

/* The same without a moment in which the host could meet the file's descriptor, where that can be.
 * It may be without a standard one, and still write to that number; or close numbers, or duplicate
 * onto them, at any time. */
static long map_part(struct part part) {
  return shim_with_own_descriptors(map_by_name, &part);
}

/* Creates FOLDER/PID.N.trace with the smallest N that is free, and maps its beginning. Returns the
 * address or -ERROR. */
static long create_file(struct process *p, uint64_t bytes) {
  SHIM_SYSCALL2(SYS_mkdir, folder, 0777); /* that it exists is no failure; others show below */
  for (uint64_t n = 0;; n++) {
    /* One byte less than there are: shim_line keeps one for a newline, here it is the NUL's. */
    struct shim_line path = {p->path, sizeof p->path, 0};
    shim_append(&path, folder);
    shim_append(&path, "/");
    shim_append_number(&path, (uint64_t)SHIM_SYSCALL0(SYS_getpid));
    shim_append(&path, ".");
    shim_append_number(&path, n);
    shim_append(&path, ".trace");
    p->path[path.length] = 0;
    if (path.length + 1 == path.size)
      return -ENAMETOOLONG;
    long result = map_part((struct part){p, true, 0, bytes});
    if (result != -EEXIST)
      return result;
  }
}

/* Makes the process's file. Returns 0 or -ERROR. Under the claim. */
static long open_file(struct process *p) {
  uint32_t names_bytes = miopen_shim_name_offsets[miopen_shim_count];
  uint32_t header_bytes = (SHIM_PAGE + names_bytes + SHIM_PAGE - 1) / SHIM_PAGE * SHIM_PAGE;
  long result = create_file(p, header_bytes);
  if (SHIM_FAILED(result))
    return result;
  struct shim_file_header *h = (struct shim_file_header *)result;
  h->header_bytes = header_bytes;
  h->record_bytes = sizeof(struct shim_record);
  h->ring_capacity = SHIM_RING_CAPACITY;
  h->ring_stride = sizeof(struct shim_ring);
  h->process = (uint32_t)SHIM_SYSCALL0(SYS_getpid);
  h->parent = (uint32_t)SHIM_SYSCALL0(SYS_getppid);
  h->clock = use_tsc ? SHIM_CLOCK_TSC : SHIM_CLOCK_BOOTTIME;
  h->functions = miopen_shim_count;
  h->start = take_moment();
  h->start_realtime_ns = nanoseconds(CLOCK_REALTIME);
  h->names = SHIM_PAGE;
  h->names_bytes = names_bytes;
  SHIM_SYSCALL2(SYS_prctl, PR_GET_NAME, h->command);
  char *names = (char *)h + SHIM_PAGE;
  for (uint32_t i = 0; i < names_bytes; i++)
    names[i] = miopen_shim_names[i];
  p->header = h;
  uint64_t magic;
  __builtin_memcpy(&magic, SHIM_FILE_MAGIC, sizeof magic);
  __atomic_store_n((uint64_t *)h->magic, magic, __ATOMIC_RELEASE);
  __atomic_store_n(&p->generation, ++generations, __ATOMIC_RELEASE);
  return 0;
}

/* Makes the file unless this process has it, or has tried. Returns whether it has; the one that
 * tries has a message when it has not. */
static bool open_process(struct process *p, struct shim_line *messages) {
  shim_signals before = shim_block_signals();
  if (shim_claim(&p->claim, &p->settled) == SHIM_CLAIM_OURS) {
    long failed = open_file(p);
    if (failed) {
      shim_message(messages);
      shim_append(messages, "warning: cannot make the trace file ");
      shim_append_quoted(messages, p->path);
      shim_append(messages, " (error ");
      shim_append_number(messages, (uint64_t)-failed);
      shim_append(messages, failed == -ENOSPC   ? ", no space left"
                            : failed == -EACCES ? ", permission denied"
                            : failed == -ENOENT ? ", no such folder"
                                                : ", see errno(3)");
      shim_append(messages, "): tracing is off; MIOPEN_HIPDNN_TRACE=ring:FOLDER needs a folder "
                            "that can be written, or that can be made in an existing one");
    }
    shim_settle(&p->settled, 1);
  }
  shim_restore_signals(before);
  return __atomic_load_n(&p->generation, __ATOMIC_ACQUIRE) != 0;
}

/* Takes a place for a ring. SHIM_RINGS when there is none left: the rings of threads that have
 * ended stay in the file, and a host may start a thread for every request. */
static uint64_t take_place(struct shim_file_header *h) {
  uint64_t k = __atomic_load_n(&h->rings_opened, __ATOMIC_RELAXED);
  while (k < SHIM_RINGS && !__atomic_compare_exchange_n(&h->rings_opened, &k, k + 1, false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
  return k;
}

static void push_mapping(struct process *p, struct mapping *m) {
  m->next = __atomic_load_n(&p->mappings, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&p->mappings, &m->next, m, false, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED))
    ;
}

/* Unmaps the rings of threads that have ended. A thread exists for the kernel until its last
 * instruction, those of signal handlers and destructors included; when its identifier was given to
 * another one, the ring stays until that has ended too. The stack is taken as a whole: nobody else
 * reads what is freed here. */
static void unmap_ended(struct process *p, uint64_t pid) {
  struct mapping *next, *m = __atomic_exchange_n(&p->mappings, NULL, __ATOMIC_ACQUIRE);
  for (; m; m = next) {
    next = m->next;
    if (SHIM_SYSCALL3(SYS_tgkill, pid, m->thread, 0) != -ESRCH) {
      push_mapping(p, m);
      continue;
    }
    SHIM_SYSCALL2(SYS_munmap, m->ring, sizeof *m->ring);
    SHIM_SYSCALL2(SYS_munmap, m, sizeof *m);
    __atomic_fetch_sub(&p->mapped, 1, __ATOMIC_RELAXED);
  }
}

/* Notes the thread's ring, so that it is unmapped some time after the thread has ended: a host may
 * start one for every request. The rings are looked through when there are twice as many as after
 * the last time: for each new one it would take time with the square of their number. Not inlined,
 * which would cost every call larger offsets of its variables. */
static __attribute__((noinline)) void note_ring(struct process *p, struct shim_ring *ring) {
  uint64_t pid = (uint64_t)SHIM_SYSCALL0(SYS_getpid);
  /* A child of vfork runs on its parent's memory, the thread's variables among it, and has an
   * identifier that says nothing about that thread. */
  if (pid != p->header->process)
    return;
  if (__atomic_add_fetch(&p->mapped, 1, __ATOMIC_RELAXED) >=
      __atomic_load_n(&p->many, __ATOMIC_RELAXED)) {
    unmap_ended(p, pid);
    __atomic_store_n(&p->many, 2 * __atomic_load_n(&p->mapped, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  }
  struct mapping *m = shim_own_memory(sizeof *m);
  if (!m)
    return; /* the ring stays mapped */
  m->ring = ring;
  m->thread = (uint32_t)SHIM_SYSCALL0(SYS_gettid);
  push_mapping(p, m);
}

/* Gives the thread its ring in the process's file. */
static void open_thread(struct process *p) {
  shim_signals before = shim_block_signals();
  /* The signals were not blocked before: a handler may have come first. */
  if (own.generation != p->generation) {
    struct shim_file_header *h = p->header;
    uint64_t k = take_place(h);
    struct part part = {p, false, h->header_bytes + k * sizeof *own.ring, sizeof *own.ring};
    long ring = k < SHIM_RINGS ? map_part(part) : -ENOSPC;
    own.ring = NULL;
    if (SHIM_FAILED(ring)) {
      uint64_t *threads = k < SHIM_RINGS ? &h->rings_lost : &h->threads_beyond;
      __atomic_fetch_add(threads, 1, __ATOMIC_RELAXED);
    } else {
      own.ring = (struct shim_ring *)ring;
      own.ring->thread = (uint32_t)SHIM_SYSCALL0(SYS_gettid);
      refresh_moment(p);
      note_ring(p, own.ring);
    }
    own.generation = p->generation;
  }
  shim_restore_signals(before);
}

void shim_ring_finish(void) {
  if (process->generation)
    refresh_moment(process);
}

/* Copies the absolute form of a folder's name: the host may change its working directory before it
 * forks. */
static bool set_folder(const char *name) {
  struct shim_line path = {folder, sizeof folder, 0};
  if (name[0] != '/') {
    long length = SHIM_SYSCALL2(SYS_getcwd, folder, sizeof folder);
    if (length < 0 || folder[0] != '/')
      return false;
    path.length = (uint32_t)length - 1;
    shim_append(&path, "/");
  }
  shim_append(&path, name);
  folder[path.length] = 0;
  return path.length + 1 < path.size;
}

bool shim_ring_start(const char *name, struct shim_line *messages) {
  use_tsc = tsc_is_a_clock();
  const char *obstacle = NULL;
  if (!set_folder(name))
    obstacle = "the name of the folder is too long, or the working directory has none";
  else if (!(process = shim_own_memory(sizeof *process)))
    obstacle = "no memory that fork does not copy, which Linux has since 4.14";
  if (!obstacle)
    return open_process(process, messages);
  shim_message(messages);
  shim_append(messages, "warning: MIOPEN_HIPDNN_TRACE=ring: for folder ");
  shim_append_quoted(messages, name);
  shim_append(messages, ": ");
  shim_append(messages, obstacle);
  shim_append(messages, ": tracing is off");
  return false;
}

/* Opens a forked child's file. Not inlined, for the sake of the calls that follow. */
static __attribute__((noinline)) bool open_child(struct process *p) {
  char text[1024];
  struct shim_line messages = {text, sizeof text, 0};
  bool open = open_process(p, &messages);
  if (messages.length)
    shim_write_line(&messages);
  return open;
}

bool shim_ring_call(uint32_t index, struct shim_call *call) {
  struct process *p = process;
  uint64_t generation = __atomic_load_n(&p->generation, __ATOMIC_ACQUIRE);
  if (!generation) { /* a forked child's first call */
    if (!open_child(p))
      return false;
    generation = p->generation;
  }
  if (own.generation != generation)
    open_thread(p);
  struct shim_ring *ring = own.ring;
  if (!ring) {
    __atomic_fetch_add(&p->header->calls_lost, 1, __ATOMIC_RELAXED);
    return true;
  }
  /* One instruction, so that a handler on this thread takes either the place before or after. No
   * other thread writes here; only a child that a handler forked since the generation was read, and
   * that returned from the handler, writes this one call into its parent's ring too. */
  uint64_t sequence = 1;
  __asm__ volatile("xaddq %0, %1" : "+r"(sequence), "+m"(ring->calls) : : "cc");
  struct shim_record *r = &ring->records[sequence % SHIM_RING_CAPACITY];
  __atomic_store_n(&r->sequence, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  uint32_t words = miopen_shim_signatures[index].stack_words;
  bool timed = words != SHIM_WORDS_UNKNOWN;
  uint64_t clock = now();
  r->clock = clock;
  r->function = index;
  r->flags = timed ? SHIM_RECORD_OPEN : 0;
  r->duration = 0;
  __atomic_store_n(&r->sequence, sequence + 1, __ATOMIC_RELEASE);
  if (timed)
    *call = (struct shim_call){1, words, sequence, ring, clock};
  return true;
}

void miopen_shim_leave(const struct shim_call *call) {
  uint64_t end = now();
  /* Also returned from in a child that was forked during the call, whose record is its parent's,
   * and on another thread, by a stack that was left and resumed there. */
  if (own.ring != call->ring || own.generation != process->generation)
    return;
  struct shim_record *r = &call->ring->records[call->sequence % SHIM_RING_CAPACITY];
  if (r->sequence != call->sequence + 1)
    return; /* overwritten by the calls that were made during this one */
  r->duration = end - call->clock;
  __atomic_store_n(&r->flags, SHIM_RECORD_TIMED, __ATOMIC_RELEASE);
}
