/* threads THREADS CALLS: THREADS threads that make their first call at once, and CALLS each. */
#include "calls.h"

#include <pthread.h>

static pthread_barrier_t together;
static long calls;

static void *work(void *number) {
  struct stream s = {(long)number, 0};
  pthread_barrier_wait(&together);
  call_often(&s, calls);
  report(&s);
  return NULL;
}

int main(int argc, char **argv) {
  const long threads = argument(argc, argv, 1);
  calls = argument(argc, argv, 2);
  pthread_t *ids = calloc((size_t)threads, sizeof *ids);
  if (ids == NULL || pthread_barrier_init(&together, NULL, (unsigned)threads) != 0)
    die("no memory");
  for (long i = 0; i < threads; ++i)
    if (pthread_create(&ids[i], NULL, work, (void *)i) != 0)
      die("cannot create a thread");
  for (long i = 0; i < threads; ++i)
    pthread_join(ids[i], NULL);
  free(ids);
  return 0;
}
