/* A libmiopen_hipdnn.so.1 that says what it is asked. LIBRARY_FAILS names the function that fails,
 * "forked" has it think that it was loaded by a parent. To set the stream 7 takes until another
 * handle's stream is set, as it may behind a plan that is being built. */
#define _GNU_SOURCE
#include "provider/entry/provider.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct miopen_provider_host *host;
static _Atomic uint64_t last;
static int forked;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  char line[512] = "  library ";
  vsnprintf(line + 10, sizeof line - 10, format, arguments);
  __builtin_va_end(arguments);
  printf("%s\n", line);
}

static int32_t done(const char *function, char *text) {
  const char *fails = getenv("LIBRARY_FAILS");
  if (!fails || strcmp(fails, function) != 0)
    return 0;
  if (getenv("LIBRARY_TALKS")) {
    memset(text, 'x', MIOPEN_PROVIDER_TEXT - 1);
    text[MIOPEN_PROVIDER_TEXT - 1] = 0;
  } else {
    snprintf(text, MIOPEN_PROVIDER_TEXT, "%s does not work today", function);
  }
  return 3;
}

static int32_t create(uint64_t provider, int32_t device, uint64_t *handle, char *text) {
  say("create of %d, device %d", (int)provider, (int)device);
  int32_t status = done("create", text);
  if (!status)
    *handle = ++last;
  return status;
}

static int32_t destroy(uint64_t handle, char *text) {
  say("destroy %d", (int)handle);
  return done("destroy", text);
}

static int32_t set_stream(uint64_t handle, void *stream, char *text) {
  static _Atomic int others;
  say("stream %d %p", (int)handle, stream);
  if (stream == (void *)7) {
    int before = others, i = 0;
    while (others == before && i++ < 3000)
      usleep(1000);
    say("stream %d is set%s", (int)handle, others == before ? ", after waiting in vain" : "");
  } else {
    others++;
  }
  return done("stream", text);
}

static int32_t applicable(uint64_t handle, struct miopen_provider_bytes graph, int64_t *ids,
                          uint32_t max, uint32_t *count, char *text) {
  say("applicable %d of %s bytes, at most %d", (int)handle, graph.size ? "some" : "no", (int)max);
  int32_t status = done("applicable", text);
  if (!status) {
    for (uint32_t i = 0; i < max && i < 2; i++)
      ids[i] = 100 + i;
    *count = 2;
  }
  return status;
}

static int32_t details(uint64_t handle, int64_t engine, struct miopen_provider_bytes graph,
                       void **data, size_t *size, char *text) {
  say("details %d of %lld of %s bytes", (int)handle, (long long)engine, graph.size ? "some" : "no");
  int32_t status = done("details", text);
  if (!status) {
    *data = strdup("details");
    *size = 7;
  }
  return status;
}

static int32_t workspace(uint64_t handle, struct miopen_provider_bytes config,
                         struct miopen_provider_bytes graph, size_t *bytes, char *text) {
  say("workspace %d of %d and %s bytes", (int)handle, (int)config.size, graph.size ? "some" : "no");
  int32_t status = done("workspace", text);
  if (!status)
    *bytes = 64;
  return status;
}

static int32_t prepare(uint64_t handle, struct miopen_provider_bytes config,
                       struct miopen_provider_bytes graph, uint64_t *context, char *text) {
  say("prepare %d of %d and %s bytes", (int)handle, (int)config.size, graph.size ? "some" : "no");
  int32_t status = done("prepare", text);
  if (!status)
    *context = ++last;
  return status;
}

static int32_t restore(uint64_t handle, struct miopen_provider_bytes serialized, uint64_t *context,
                       char *text) {
  say("restore %d of %d bytes", (int)handle, (int)serialized.size);
  int32_t status = done("restore", text);
  if (!status)
    *context = ++last;
  return status;
}

static int32_t context_destroy(uint64_t context, char *text) {
  say("context %d destroyed", (int)context);
  return done("context-destroy", text);
}

static int32_t context_workspace(uint64_t context, size_t *bytes, char *text) {
  say("workspace of context %d", (int)context);
  int32_t status = done("context-workspace", text);
  if (!status)
    *bytes = 32;
  return status;
}

static int32_t serialize(uint64_t context, void **data, size_t *size, char *text) {
  say("serialize %d", (int)context);
  int32_t status = done("serialize", text);
  if (!status) {
    *data = strdup("serialised");
    *size = 10;
  }
  return status;
}

static int32_t execute(uint64_t handle, uint64_t context, void *space,
                       const struct miopen_provider_buffer *buffers, uint32_t count, char *text) {
  say("execute %d %d with %s, %d buffers, the last %lld", (int)handle, (int)context,
      space ? "a workspace" : "no workspace", (int)count, (long long)buffers[count - 1].uid);
  return done("execute", text);
}

int miopen_hipdnn_forked(void) {
  const char *fails = getenv("LIBRARY_FAILS");
  return forked || (fails && strcmp(fails, "forked") == 0);
}

int miopen_provider_open(const struct miopen_provider_host *from,
                         struct miopen_provider_table *table, char *text) {
  static _Atomic uint64_t providers;
  size_t major = 0, minor = 0, patch = 0;
  if (from->version != MIOPEN_PROVIDER_VERSION || from->size != sizeof *from ||
      table->version != MIOPEN_PROVIDER_VERSION || table->size != sizeof *table ||
      from->miopen->size != sizeof *from->miopen)
    abort();
  from->miopen->get_version(&major, &minor, &patch);
  say("opened with MIOpen %d.%d.%d", (int)major, (int)minor, (int)patch);
  int device = -1, of_stream = -1;
  if (from->miopen->get_device && from->miopen->set_device(2) == 0 &&
      from->miopen->get_device(&device) == 0 &&
      from->miopen->stream_device((void *)4096, &of_stream) == 0)
    say("device %d, of the stream %d", device, of_stream);
  if (done("open", text))
    return 1;
  host = from;
  host->log(0, "an information");
  host->log(2, "an error");
  *table = (struct miopen_provider_table){
      .version = MIOPEN_PROVIDER_VERSION,
      .size = sizeof *table,
      .provider = ++providers,
      .create = create,
      .destroy = destroy,
      .set_stream = set_stream,
      .applicable = applicable,
      .details = details,
      .workspace = workspace,
      .prepare = prepare,
      .restore = restore,
      .context_destroy = context_destroy,
      .context_workspace = context_workspace,
      .serialize = serialize,
      .execute = execute,
  };
  return 0;
}
