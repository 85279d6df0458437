#include "backend.h"

#include <pthread.h>
#include <stdio.h>

#define LINES 64
#define LENGTH 320

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t count; /* of lines that came */
static char lines[LINES][LENGTH];

static void collect(void *user, int severity, const char *text) {
  (void)user;
  (void)severity;
  pthread_mutex_lock(&lock);
  snprintf(lines[count++ % LINES], LENGTH, "%s", text ? text : "");
  pthread_mutex_unlock(&lock);
}

void hipdnn_collect_log(const struct hipdnn_backend *backend) {
  /* The user pointer identifies the callback, NULL is refused. Called in the thread that logs: an
   * own thread of hipDNN would not have written yet when a failure is reported. */
  if (backend->call.set_user_log_callback)
    backend->call.set_user_log_callback(collect, HIPDNN_SEV_WARN, HIPDNN_LOG_CALLBACK_MODE_SYNC,
                                        lines);
}

uint64_t hipdnn_log_count(void) {
  pthread_mutex_lock(&lock);
  uint64_t now = count;
  pthread_mutex_unlock(&lock);
  return now;
}

int hipdnn_log_line(uint64_t index, char *text, size_t size) {
  pthread_mutex_lock(&lock);
  int there = index < count && count - index <= LINES;
  if (there)
    snprintf(text, size, "%s", lines[index % LINES]);
  pthread_mutex_unlock(&lock);
  return there;
}
