/* The file that MIOPEN_HIPDNN_TRACE=ring:FOLDER writes, FOLDER/PID.N.trace. Little endian; clocks
 * are in ticks of the file's clock.
 *
 * A process has a file of its own: a forked child starts another at its first call, a program that
 * was started with exec too. The header page is followed by the names and, at a multiple of the
 * page size, the rings. Each thread has a ring of its own, from its first call on. Ring K is at
 * header_bytes + K * ring_stride; a ring that could not be opened is a gap, possibly behind the end
 * of the file. When a ring is full, the oldest records are overwritten; it stays when its thread
 * ends, and when there are SHIM_RINGS, the calls of further threads are only counted. */
#ifndef MIOPEN_SHIM_RINGFILE_H_
#define MIOPEN_SHIM_RINGFILE_H_

#include <stddef.h>
#include <stdint.h>

#define SHIM_FILE_MAGIC "MIOTRC02"
#define SHIM_PAGE 4096
#define SHIM_RING_CAPACITY 65536 /* records; a power of two */
#define SHIM_RINGS 1024          /* at most, in a file; together 2 GiB */

enum {
  SHIM_CLOCK_BOOTTIME = 0, /* ticks are nanoseconds of CLOCK_BOOTTIME */
  SHIM_CLOCK_TSC = 1,      /* ticks of the time stamp counter, to be calibrated by the pairs */
};

/* One moment on two clocks. Both 0: never taken. The second one counts the time that the machine
 * sleeps, as the time stamp counter does when only the cores are stopped. */
struct shim_moment {
  uint64_t clock;       /* the file's clock */
  uint64_t boottime_ns; /* CLOCK_BOOTTIME */
};

struct shim_file_header {
  char magic[8]; /* SHIM_FILE_MAGIC, written last */
  uint32_t header_bytes;
  uint32_t record_bytes;
  uint32_t ring_capacity;
  uint32_t ring_stride; /* bytes */
  uint32_t process;
  uint32_t parent;
  uint32_t clock; /* SHIM_CLOCK_* */
  uint32_t functions;
  struct shim_moment start;
  struct shim_moment last; /* taken when a ring is opened and when the process exits */
  uint64_t start_realtime_ns;
  uint32_t names; /* offset: NUL-terminated, in the order of the indices */
  uint32_t names_bytes;
  uint64_t rings_opened;   /* places given to rings, those that could not be opened among them */
  char command[16];        /* the kernel's name of the process, NUL-terminated */
  uint64_t rings_lost;     /* of rings_opened, those that could not be opened */
  uint64_t calls_lost;     /* calls of the threads without a ring */
  uint64_t threads_beyond; /* threads without a ring because there were SHIM_RINGS already */
};

enum {
  SHIM_RECORD_TIMED = 1, /* duration is valid */
  SHIM_RECORD_OPEN = 2,  /* the call had not returned */
};

struct shim_record {
  uint64_t sequence; /* of the call in its thread, from 1; 0 is an empty record. Written last */
  uint64_t clock;    /* at entry */
  uint32_t function; /* index */
  uint32_t flags;    /* SHIM_RECORD_*; 0 for a function whose duration is not taken */
  uint64_t duration;
};

struct shim_ring {
  uint32_t thread;
  uint32_t unused;
  uint64_t calls; /* of this thread; the record of call S, from 0, is records[S % capacity] */
  char unused_page[SHIM_PAGE - 16];
  struct shim_record records[SHIM_RING_CAPACITY];
};

_Static_assert(sizeof(struct shim_record) == 32, "layout");
_Static_assert(sizeof(struct shim_ring) == SHIM_PAGE + 32 * SHIM_RING_CAPACITY, "layout");
_Static_assert(offsetof(struct shim_file_header, start) == 40, "layout");
_Static_assert(offsetof(struct shim_file_header, start_realtime_ns) == 72, "layout");
_Static_assert(offsetof(struct shim_file_header, rings_opened) == 88, "layout");
_Static_assert(offsetof(struct shim_file_header, calls_lost) == 120, "layout");
_Static_assert(sizeof(struct shim_file_header) == 136, "layout");

#endif
