/* A forwarding library that says on standard output what it is asked for. What it answers is in the
 * environment: BRIDGE_REFUSES, BRIDGE_NATIVE, BRIDGE_STATUS, BRIDGE_FORKED. With
 * BRIDGE_TAKES_SIGPIPE it does with that signal what Go's run time does. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "bridge.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct miopen_bridge_host *the_host;

static void handle_created(void *handle, void *stream) {
  printf("bridge created %d stream %p\n", handle != NULL, stream);
}

static void handle_destroyed(void *handle) {
  printf("bridge destroyed %d\n", handle != NULL);
}

static void stream_set(void *handle, void *stream) {
  printf("bridge stream %d %p\n", handle != NULL, stream);
}

static void profiling_set(void *handle, int32_t enabled) {
  printf("bridge profiling %d %d\n", handle != NULL, enabled);
}

static float kernel_time(void *handle, float native) {
  return handle ? native + the_host->kernel_time(handle) : 0;
}

static void say(const char *name, const struct miopen_bridge_tensor *t) {
  printf("bridge %s type %d rank %d vectorised %d cast %d:", name, t->type, t->rank, t->vectorised,
         t->cast);
  for (int i = 0; i < MIOPEN_BRIDGE_MAX_RANK; i++)
    printf(" %ld/%ld", (long)t->dims[i], (long)t->strides[i]);
  printf("\n");
}

static void convolution_forward(const struct miopen_bridge_call *call,
                                const struct miopen_bridge_convolution *p,
                                struct miopen_bridge_answer *answer) {
  printf("bridge convolution alpha %g %d beta %g %d %p %p %p workspace %p %lu\n", call->alpha,
         call->alpha_set, call->beta, call->beta_set, call->x, call->w, call->y, call->workspace,
         (unsigned long)call->workspace_bytes);
  say("x", &p->x);
  say("w", &p->w);
  say("y", &p->y);
  printf("bridge mode %d groups %d spatial %d attributes %d %d %d:", p->mode, p->groups, p->spatial,
         p->fp16_alternative, p->deterministic, p->fp8_rounding);
  for (int i = 0; i < MIOPEN_BRIDGE_MAX_SPATIAL; i++)
    printf(" %d/%d/%d", p->pads[i], p->strides[i], p->dilations[i]);
  printf("\n");
  if (getenv("BRIDGE_CALLS_BACK")) {
    /* As an engine that is linked against libMIOpen. */
    void *own = NULL;
    int (*create)(void **) = (int (*)(void **))dlsym(RTLD_DEFAULT, "miopenCreate");
    int (*destroy)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "miopenDestroy");
    printf("bridge called back: %d\n", create(&own) || destroy(own));
  }
  answer->route = getenv("BRIDGE_NATIVE") ? MIOPEN_BRIDGE_NATIVE : MIOPEN_BRIDGE_DONE;
  answer->status = getenv("BRIDGE_STATUS") ? atoi(getenv("BRIDGE_STATUS")) : 0;
}

static uint64_t unasked_native, unasked_failed;

static void unasked(uint64_t native, uint64_t failed) {
  unasked_native += native;
  unasked_failed += failed;
}

static void served_natively(void *handle) {
  printf("bridge told of a native call %d\n", handle != NULL);
}

static const char *error_text(int32_t status, const char *native) {
  static char text[100];
  snprintf(text, sizeof text, "[%d] %s", status, native);
  return text;
}

static int32_t last_error(void) {
  return 8;
}

static void statistics(struct miopen_bridge_statistics *out) {
  *out = (struct miopen_bridge_statistics){1, 2 + unasked_native, 3 + unasked_failed, 4, 5};
}

static void finish(void) {
  printf("bridge finished, not asked %d %d\n", (int)unasked_native, (int)unasked_failed);
  fflush(stdout);
}

static void take(int signal) {
  (void)signal;
}

__attribute__((constructor)) static void start(void) {
  if (getenv("BRIDGE_TAKES_SIGPIPE"))
    signal(SIGPIPE, take);
}

int miopen_hipdnn_forked(void) {
  return getenv("BRIDGE_FORKED") != NULL;
}

int miopen_bridge_open(const struct miopen_bridge_host *host, struct miopen_bridge_table *table) {
  const char *slash = strrchr(host->wrapper, '/'), *private = strrchr(host->private_library, '/');
  printf("bridge opened by %s with %s\n", slash ? slash : host->wrapper,
         private ? private : host->private_library);
  errno = ENOENT;
  if (host->version != MIOPEN_BRIDGE_VERSION || host->size != sizeof *host ||
      table->version != MIOPEN_BRIDGE_VERSION || table->size != sizeof *table)
    return 1;
  host->message("hello");
  the_host = host;
  if (getenv("BRIDGE_REFUSES"))
    return 1;
  *table = (struct miopen_bridge_table){
      .version = MIOPEN_BRIDGE_VERSION,
      .size = sizeof *table,
      .handle_created = handle_created,
      .handle_destroyed = handle_destroyed,
      .stream_set = stream_set,
      .profiling_set = profiling_set,
      .kernel_time = kernel_time,
      .convolution_forward = convolution_forward,
      .served_natively = served_natively,
      .unasked = unasked,
      .error_text = error_text,
      .last_error = last_error,
      .statistics = statistics,
      .finish = finish,
  };
  return 0;
}
