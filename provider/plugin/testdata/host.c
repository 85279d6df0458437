/* Plays hipDNN: loads plugins and calls their functions as the lines on standard input say. Every
 * call of a plugin is made with errno at 77 and must leave it there.
 *
 *   plugin PATH              loads one; the calls below go to the last
 *   static                   name, version, API version, type, engine names
 *   nulls                    every function with each of its pointers null in turn
 *   ids MAX                  GetAllEngineIds, -1: null array
 *   log on|off               log LEVEL sets the level
 *   create H | destroy H | stream H NUMBER
 *   applicable H GRAPH MAX   GRAPH, CONFIG and other data are files
 *   details H ENGINE GRAPH | workspace H CONFIG GRAPH
 *   prepare H C CONFIG GRAPH | restore H C FILE
 *   oldrestore H C CONFIG FILE   as a hipDNN does that passes the engine's configuration too
 *   contextnulls H C         functions of a context, with their other pointers null
 *   drop H C | size H C | serialize H C FILE | newserialize H C FILE ENGINE
 *   buffer UID FILE          memory with a file's bytes, again or anew; store UID FILE writes it
 *   execute H C WORKSPACE    with all buffers; overrides H C N: as if N had other shapes
 *   preload LIBRARY          loads a library and does nothing with it
 *   bridge LIBRARY           opens the library as the wrapper does, by its path
 *   bridgecall               calls a function of the bridge's table
 *   process                  how many libmiopen_hipdnn.so.1 are mapped, and threads of the process
 *   sigpipe                  writes into a broken pipe; ignoresigpipe has the process ignore it
 *   disposition              of SIGPIPE
 *   fork ... end             the lines between are a child's; barefork: one without fork's handlers
 *   behind LINE              another thread is at that by the next line; join waits for it
 *   constructor LIBRARY GRAPH   loads a library whose constructor calls constructing(), in which
 *                            two threads ask about a graph, with handles 0 and 1
 *   threads N GRAPH          N threads with handles of their own, and wrong calls in between
 */
#define _GNU_SOURCE
#include "provider/plugin/src/engine_plugin.h"
#include "shim/runtime/src/bridge.h"
#include "tests/clients/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTIONS(F)                                                                               \
  F(hipdnnPluginGetName)                                                                           \
  F(hipdnnPluginGetVersion)                                                                        \
  F(hipdnnPluginGetType)                                                                           \
  F(hipdnnPluginGetLastErrorString)                                                                \
  F(hipdnnPluginGetApiVersion)                                                                     \
  F(hipdnnPluginSetLoggingCallback)                                                                \
  F(hipdnnPluginSetLogLevel)                                                                       \
  F(hipdnnEnginePluginGetAllEngineIds)                                                             \
  F(hipdnnEnginePluginCreate)                                                                      \
  F(hipdnnEnginePluginDestroy)                                                                     \
  F(hipdnnEnginePluginSetStream)                                                                   \
  F(hipdnnEnginePluginGetApplicableEngineIds)                                                      \
  F(hipdnnEnginePluginGetEngineDetails)                                                            \
  F(hipdnnEnginePluginDestroyEngineDetails)                                                        \
  F(hipdnnEnginePluginGetWorkspaceSize)                                                            \
  F(hipdnnEnginePluginCreateExecutionContext)                                                      \
  F(hipdnnEnginePluginDestroyExecutionContext)                                                     \
  F(hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext)                                        \
  F(hipdnnEnginePluginExecuteOpGraph)                                                              \
  F(hipdnnEnginePluginSerializeExecutionContext)                                                   \
  F(hipdnnEnginePluginSerializeExecutionContextWithEngineId)                                       \
  F(hipdnnEnginePluginDestroySerializedExecutionContext)                                           \
  F(hipdnnEnginePluginCreateExecutionContextFromSerialized)                                        \
  F(hipdnnEnginePluginExecuteOpGraphWithOverrides)                                                 \
  F(hipdnnEnginePluginGetEngineName)

static struct {
#define MEMBER(name) __typeof__(&name) name;
  FUNCTIONS(MEMBER)
#undef MEMBER
} p;

static void fail(const char *what) {
  printf("FAILED: %s\n", what);
  fflush(stdout);
  _exit(3);
}

#define CALL(status, call)                                                                         \
  do {                                                                                             \
    errno = 77;                                                                                    \
    status = (int)p.call;                                                                          \
    if (errno != 77)                                                                               \
      fail("errno changed: " #call);                                                               \
  } while (0)

enum { MANY = 64 };
static hipdnnEnginePluginHandle_t handles[MANY];
static hipdnnEnginePluginExecutionContext_t contexts[MANY];
static hipdnnPluginDeviceBuffer_t buffers[MANY];
static size_t buffer_sizes[MANY];
static uint32_t buffer_count;

static const char *text(void) {
  const char *error = NULL;
  p.hipdnnPluginGetLastErrorString(&error);
  return error;
}

static void answer(int status) {
  if (status)
    printf("status %d: %s\n", status, text());
  else
    printf("ok\n");
}

static hipdnnPluginConstData_t read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    fail(path);
  static __thread unsigned char space[1 << 22];
  size_t size = fread(space, 1, sizeof space, file);
  fclose(file);
  /* Of its exact size, for what watches over memory. */
  unsigned char *bytes = malloc(size ? size : 1);
  memcpy(bytes, space, size);
  return (hipdnnPluginConstData_t){bytes, size};
}

static void write_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
    fail(path);
}

static void line_of_log(hipdnnSeverity_t severity, const char *line) {
  if (strchr(line, '\n'))
    fail("a line of the log with a newline");
  printf("  log %d: %s\n", severity, line);
}

static void *plugin;

static void load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    printf("does not load: %s\n", dlerror());
    return;
  }
#define FIND(name)                                                                                 \
  p.name = (__typeof__(&name))dlsym(library, #name);                                               \
  if (!p.name)                                                                                     \
    fail("there is no " #name);
  FUNCTIONS(FIND)
#undef FIND
  plugin = library;
  printf("loaded\n");
}

static void say_static(void) {
  const char *name, *version, *api;
  hipdnnPluginType_t type;
  int status;
  CALL(status, hipdnnPluginGetName(&name));
  CALL(status, hipdnnPluginGetVersion(&version));
  CALL(status, hipdnnPluginGetApiVersion(&api));
  CALL(status, hipdnnPluginGetType(&type));
  if (status)
    fail("no static answers");
  printf("%s %s, API %s, type %d\n", name, version, api, type);
  int64_t ids[MANY];
  uint32_t count = 0;
  CALL(status, hipdnnEnginePluginGetAllEngineIds(ids, MANY, &count));
  for (uint32_t i = 0; i < count; i++) {
    CALL(status, hipdnnEnginePluginGetEngineName(ids[i], &name));
    if (status)
      fail("an engine without a name");
    printf("engine %lld %s\n", (long long)ids[i], name);
  }
}

/* A call that has to be refused, and with a text of its own. */
#define REFUSED(call)                                                                              \
  do {                                                                                             \
    int refused;                                                                                   \
    CALL(refused, hipdnnEnginePluginGetEngineName(12345, &unused_name)); /* another text */        \
    CALL(refused, call);                                                                           \
    if (refused != HIPDNN_PLUGIN_STATUS_BAD_PARAM || strstr(text(), "12345") || !*text())          \
      fail("not refused: " #call);                                                                 \
    refusals++;                                                                                    \
  } while (0)

static void nulls(void) {
  int refusals = 0, status;
  const char *unused_name;
  unsigned char bytes[64] = {0};
  hipdnnPluginConstData_t data = {bytes, sizeof bytes}, none = {NULL, 8}, out = {NULL, 0};
  hipdnnPluginConstData_t endless = {bytes, (size_t)1 << 40};
  hipdnnEnginePluginHandle_t h;
  uint32_t count;
  int64_t id;
  size_t size;
  hipdnnEnginePluginExecutionContext_t made, other = calloc(1, 64);
  hipdnnEnginePluginHandle_t stranger = calloc(1, 64);
  CALL(status, hipdnnEnginePluginCreate(&h));
  if (status)
    fail("no handle");
  REFUSED(hipdnnPluginGetName(NULL));
  REFUSED(hipdnnPluginGetVersion(NULL));
  REFUSED(hipdnnPluginGetApiVersion(NULL));
  REFUSED(hipdnnPluginGetType(NULL));
  REFUSED(hipdnnPluginSetLogLevel((hipdnnSeverity_t)5));
  REFUSED(hipdnnPluginSetLogLevel((hipdnnSeverity_t)-1));
  REFUSED(hipdnnEnginePluginGetAllEngineIds(&id, 1, NULL));
  REFUSED(hipdnnEnginePluginGetAllEngineIds(NULL, 1, &count));
  REFUSED(hipdnnEnginePluginGetEngineName(1, &unused_name));
  REFUSED(hipdnnEnginePluginGetEngineName(1, NULL));
  REFUSED(hipdnnEnginePluginCreate(NULL));
  hipdnnPluginConstData_t *no_data[] = {NULL, &none, &endless};
  for (int i = 0; i < 3; i++) {
    hipdnnPluginConstData_t *wrong = no_data[i];
    REFUSED(hipdnnEnginePluginGetApplicableEngineIds(h, wrong, &id, 1, &count));
    REFUSED(hipdnnEnginePluginGetEngineDetails(h, 1, wrong, &out));
    REFUSED(hipdnnEnginePluginDestroyEngineDetails(h, wrong));
    REFUSED(hipdnnEnginePluginGetWorkspaceSize(h, wrong, &data, &size));
    REFUSED(hipdnnEnginePluginGetWorkspaceSize(h, &data, wrong, &size));
    REFUSED(hipdnnEnginePluginCreateExecutionContext(h, wrong, &data, &made));
    REFUSED(hipdnnEnginePluginCreateExecutionContext(h, &data, wrong, &made));
    REFUSED(hipdnnEnginePluginCreateExecutionContextFromSerialized(h, wrong, &made));
    REFUSED(hipdnnEnginePluginDestroySerializedExecutionContext(h, wrong));
  }
  for (int i = 0; i < 2; i++) {
    hipdnnEnginePluginHandle_t wrong = i ? stranger : NULL;
    hipdnnEnginePluginExecutionContext_t wrong_context = i ? other : NULL;
    REFUSED(hipdnnEnginePluginDestroy(wrong));
    REFUSED(hipdnnEnginePluginSetStream(wrong, NULL));
    REFUSED(hipdnnEnginePluginGetApplicableEngineIds(wrong, &data, &id, 1, &count));
    REFUSED(hipdnnEnginePluginGetEngineDetails(wrong, 1, &data, &out));
    REFUSED(hipdnnEnginePluginDestroyEngineDetails(wrong, &data));
    REFUSED(hipdnnEnginePluginGetWorkspaceSize(wrong, &data, &data, &size));
    REFUSED(hipdnnEnginePluginCreateExecutionContext(wrong, &data, &data, &made));
    REFUSED(hipdnnEnginePluginDestroyExecutionContext(wrong, other));
    REFUSED(hipdnnEnginePluginDestroyExecutionContext(h, wrong_context));
    REFUSED(hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(wrong, other, &size));
    REFUSED(hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(h, wrong_context, &size));
    REFUSED(hipdnnEnginePluginExecuteOpGraph(wrong, other, NULL, buffers, 1));
    REFUSED(hipdnnEnginePluginExecuteOpGraph(h, wrong_context, NULL, buffers, 1));
    REFUSED(hipdnnEnginePluginSerializeExecutionContext(wrong, other, &out));
    REFUSED(hipdnnEnginePluginSerializeExecutionContext(h, wrong_context, &out));
    REFUSED(hipdnnEnginePluginDestroySerializedExecutionContext(wrong, &data));
    REFUSED(hipdnnEnginePluginCreateExecutionContextFromSerialized(wrong, &data, &made));
    REFUSED(hipdnnEnginePluginExecuteOpGraphWithOverrides(wrong, other, NULL, buffers, 1, 0, NULL,
                                                          NULL, NULL, NULL));
    REFUSED(hipdnnEnginePluginExecuteOpGraphWithOverrides(h, wrong_context, NULL, buffers, 1, 0,
                                                          NULL, NULL, NULL, NULL));
  }
  REFUSED(hipdnnEnginePluginGetApplicableEngineIds(h, &data, NULL, 1, &count));
  REFUSED(hipdnnEnginePluginGetApplicableEngineIds(h, &data, &id, 1, NULL));
  REFUSED(hipdnnEnginePluginGetEngineDetails(h, 1, &data, NULL));
  REFUSED(hipdnnEnginePluginGetWorkspaceSize(h, &data, &data, NULL));
  REFUSED(hipdnnEnginePluginCreateExecutionContext(h, &data, &data, NULL));
  REFUSED(hipdnnEnginePluginCreateExecutionContextFromSerialized(h, &data, NULL));
  REFUSED(hipdnnEnginePluginSerializeExecutionContextWithEngineId(h, 1, other, &out));
  p.hipdnnPluginGetLastErrorString(NULL);
  CALL(status, hipdnnEnginePluginDestroy(h));
  free(other);
  free(stranger);
  printf("%d refusals\n", refusals);
}

/* With a context: what can be null beside it. */
static void context_nulls(hipdnnEnginePluginHandle_t h, hipdnnEnginePluginExecutionContext_t c) {
  int refusals = 0;
  const char *unused_name;
  REFUSED(hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(h, c, NULL));
  REFUSED(hipdnnEnginePluginSerializeExecutionContext(h, c, NULL));
  REFUSED(hipdnnEnginePluginExecuteOpGraph(h, c, NULL, NULL, 1));
  REFUSED(hipdnnEnginePluginExecuteOpGraph(h, c, NULL, buffers, 0));
  REFUSED(hipdnnEnginePluginExecuteOpGraphWithOverrides(h, c, NULL, NULL, 1, 0, NULL, NULL, NULL,
                                                        NULL));
  printf("%d refusals\n", refusals);
}

static void say_process(void) {
  printf("%d libraries, %s\n", forwarding_libraries(),
         thread_count() == 1 ? "one thread" : "several threads");
}

static struct miopen_bridge_table bridge;

static void bridge_message(const char *line) {
  printf("  bridge: %s\n", line);
}

static void open_bridge(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    printf("does not load: %s\n", dlerror());
    return;
  }
  int (*forked)(void) = (int (*)(void))dlsym(library, "miopen_hipdnn_forked");
  int (*open)(const struct miopen_bridge_host *, struct miopen_bridge_table *) =
      (int (*)(const struct miopen_bridge_host *, struct miopen_bridge_table *))dlsym(
          library, MIOPEN_BRIDGE_OPEN);
  if (!open || !forked)
    fail("no bridge");
  if (forked()) {
    printf("forked\n");
    return;
  }
  static struct miopen_bridge_host host = {
      .version = MIOPEN_BRIDGE_VERSION,
      .size = sizeof host,
      .wrapper = "/nowhere/libMIOpen.so.1",
      .private_library = "/nowhere/libMIOpen_private.so.1",
      .message = bridge_message,
  };
  bridge.version = MIOPEN_BRIDGE_VERSION;
  bridge.size = sizeof bridge;
  printf("bridge %s\n", open(&host, &bridge) ? "refuses" : "open");
}

struct job {
  pthread_t thread;
  const char *graph;
  int wrong;
};

static void *work(void *argument) {
  struct job *job = argument;
  hipdnnEnginePluginHandle_t h;
  hipdnnPluginConstData_t graph = read_file(job->graph);
  unsigned char rubbish[16] = {0};
  hipdnnPluginConstData_t malformed = {rubbish, sizeof rubbish};
  for (int i = 0; i < 50; i++) {
    int64_t ids[MANY];
    uint32_t count = 77;
    int status;
    CALL(status, hipdnnEnginePluginCreate(&h));
    job->wrong += status != 0;
    CALL(status, hipdnnEnginePluginSetStream(h, NULL));
    job->wrong += status != 0;
    CALL(status, hipdnnEnginePluginGetApplicableEngineIds(h, &graph, ids, MANY, &count));
    job->wrong += status != 0 || count == 77;
    hipdnnPluginConstData_t out;
    CALL(status, hipdnnEnginePluginGetEngineDetails(h, 1, &malformed, &out));
    job->wrong += status != HIPDNN_PLUGIN_STATUS_BAD_PARAM || !strstr(text(), "EngineDetails");
    CALL(status, hipdnnPluginSetLoggingCallback(i % 2 ? line_of_log : NULL));
    job->wrong += status != 0;
    CALL(status, hipdnnEnginePluginDestroy(h));
    job->wrong += status != 0;
  }
  free((void *)graph.ptr);
  return NULL;
}

static void run_threads(int count, const char *graph) {
  struct job jobs[MANY];
  int wrong = 0;
  for (int i = 0; i < count; i++) {
    jobs[i] = (struct job){.graph = graph};
    if (pthread_create(&jobs[i].thread, NULL, work, &jobs[i]))
      fail("no thread");
  }
  for (int i = 0; i < count; i++) {
    pthread_join(jobs[i].thread, NULL);
    wrong += jobs[i].wrong;
  }
  printf("%d wrong\n", wrong);
}

static void run(char *line);

/* The child has its lines already; an alarm ends one that hangs. */
static void run_forked(bool bare) {
  char lines[64][1024];
  int count = 0;
  while (count < 64 && fgets(lines[count], sizeof lines[count], stdin) &&
         strcmp(lines[count], "end\n") != 0)
    count++;
  fflush(stdout);
  pid_t child = bare ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
  if (child == 0) {
    alarm(20);
    for (int i = 0; i < count; i++)
      run(lines[i]);
    fflush(stdout);
    _exit(0);
  }
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child)
    fail("no child");
  printf("child %s %d\n", WIFEXITED(status) ? "exited" : "killed by",
         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static struct {
  pthread_t thread;
  char line[1024];
} behind;

static void *run_behind(void *unused) {
  (void)unused;
  run(behind.line);
  return NULL;
}

static char constructing_graph[512];

/* The loader's lock is held. */
__attribute__((visibility("default"))) void constructing(void) {
  char line[600];
  snprintf(line, sizeof line, "behind applicable 0 %s 1", constructing_graph);
  run(line);
  snprintf(line, sizeof line, "applicable 1 %s 1", constructing_graph);
  run(line);
}

static void run(char *line) {
  char *word[8] = {"", "", "", "", "", "", "", ""};
  int words = 0, status;
  line[strcspn(line, "\n")] = 0;
  char shown[1024];
  snprintf(shown, sizeof shown, "%s", line);
  for (char *rest, *next = strtok_r(line, " ", &rest); next && words < 8;
       next = strtok_r(NULL, " ", &rest))
    word[words++] = next;
  if (!words)
    return;
  const char *command = word[0];
  int h = atoi(word[1]), c = atoi(word[2]);
  size_t size = 0;
  hipdnnPluginConstData_t data, more, out = {NULL, 0};
#define IS(name) (strcmp(command, name) == 0)
  if (IS("plugin")) {
    load(word[1]);
  } else if (IS("static")) {
    say_static();
  } else if (IS("nulls")) {
    nulls();
  } else if (IS("contextnulls")) {
    context_nulls(handles[h], contexts[c]);
  } else if (IS("ids")) {
    int64_t ids[MANY] = {0};
    uint32_t count = 99;
    CALL(status, hipdnnEnginePluginGetAllEngineIds(h ? ids : NULL, (uint32_t)h, &count));
    printf("ids %d of %d:", status, (int)count);
    for (int i = 0; i < MANY && ids[i]; i++)
      printf(" %lld", (long long)ids[i]);
    printf("\n");
  } else if (IS("log")) {
    if (strcmp(word[1], "on") == 0)
      CALL(status, hipdnnPluginSetLoggingCallback(line_of_log));
    else if (strcmp(word[1], "off") == 0)
      CALL(status, hipdnnPluginSetLoggingCallback(NULL));
    else
      CALL(status, hipdnnPluginSetLogLevel((hipdnnSeverity_t)h));
    answer(status);
  } else if (IS("create")) {
    CALL(status, hipdnnEnginePluginCreate(&handles[h]));
    answer(status);
  } else if (IS("destroy")) {
    CALL(status, hipdnnEnginePluginDestroy(handles[h]));
    answer(status);
  } else if (IS("stream")) {
    CALL(status, hipdnnEnginePluginSetStream(handles[h], (hipStream_t)(uintptr_t)c));
    answer(status);
  } else if (IS("applicable")) {
    int64_t ids[MANY] = {0};
    uint32_t count = 99, max = (uint32_t)atoi(word[3]);
    data = read_file(word[2]);
    CALL(status, hipdnnEnginePluginGetApplicableEngineIds(handles[h], &data, max ? ids : NULL, max,
                                                          &count));
    free((void *)data.ptr);
    if (status) {
      answer(status);
    } else {
      printf("applicable %d:", (int)count);
      for (int i = 0; i < MANY && ids[i]; i++)
        printf(" %lld", (long long)ids[i]);
      printf("\n");
    }
  } else if (IS("details")) {
    data = read_file(word[3]);
    CALL(status, hipdnnEnginePluginGetEngineDetails(handles[h], atoll(word[2]), &data, &out));
    free((void *)data.ptr);
    if (status) {
      answer(status);
    } else {
      printf("%d bytes of details\n", (int)out.size);
      if (*word[4])
        write_file(word[4], out.ptr, out.size);
      CALL(status, hipdnnEnginePluginDestroyEngineDetails(handles[h], &out));
      if (status || out.ptr || out.size)
        fail("details are still there");
    }
  } else if (IS("workspace")) {
    data = read_file(word[2]);
    more = read_file(word[3]);
    CALL(status, hipdnnEnginePluginGetWorkspaceSize(handles[h], &data, &more, &size));
    free((void *)data.ptr);
    free((void *)more.ptr);
    answer(status);
    if (!status)
      printf("%d bytes\n", (int)size);
  } else if (IS("prepare")) {
    data = read_file(word[3]);
    more = read_file(word[4]);
    hipdnnEnginePluginExecutionContext_t unset = (hipdnnEnginePluginExecutionContext_t)&run;
    contexts[c] = unset;
    CALL(status, hipdnnEnginePluginCreateExecutionContext(handles[h], &data, &more, &contexts[c]));
    free((void *)data.ptr);
    free((void *)more.ptr);
    if ((status != 0) != (contexts[c] == unset))
      fail("a context and a failure");
    answer(status);
  } else if (IS("restore")) {
    data = read_file(word[3]);
    CALL(status,
         hipdnnEnginePluginCreateExecutionContextFromSerialized(handles[h], &data, &contexts[c]));
    free((void *)data.ptr);
    answer(status);
  } else if (IS("oldrestore")) {
    data = read_file(word[3]);
    more = read_file(word[4]);
    hipdnnPluginConstData_t before = more;
    hipdnnEnginePluginExecutionContext_t made = NULL;
    int (*old)(hipdnnEnginePluginHandle_t, const hipdnnPluginConstData_t *,
               const hipdnnPluginConstData_t *, hipdnnEnginePluginExecutionContext_t *) =
        (__typeof__(old))dlsym(plugin, "hipdnnEnginePluginCreateExecutionContextFromSerialized");
    status = old(handles[h], &data, &more, &made);
    if (more.ptr != before.ptr || more.size != before.size || !made != !!status)
      fail("a context was overwritten");
    contexts[c] = made;
    free((void *)data.ptr);
    free((void *)more.ptr);
    answer(status);
  } else if (IS("drop")) {
    CALL(status, hipdnnEnginePluginDestroyExecutionContext(handles[h], contexts[c]));
    answer(status);
  } else if (IS("size")) {
    CALL(status,
         hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(handles[h], contexts[c], &size));
    answer(status);
    if (!status)
      printf("%d bytes\n", (int)size);
  } else if (IS("serialize") || IS("newserialize")) {
    if (IS("serialize"))
      CALL(status, hipdnnEnginePluginSerializeExecutionContext(handles[h], contexts[c], &out));
    else
      CALL(status, hipdnnEnginePluginSerializeExecutionContextWithEngineId(
                       handles[h], atoll(word[4]), contexts[c], &out));
    answer(status);
    if (!status) {
      write_file(word[3], out.ptr, out.size);
      CALL(status, hipdnnEnginePluginDestroySerializedExecutionContext(handles[h], &out));
      if (status || out.ptr || out.size)
        fail("the serialised context is still there");
    }
  } else if (IS("buffer")) {
    data = read_file(word[2]);
    uint32_t i = 0;
    while (i < buffer_count && (buffers[i].uid != h || buffer_sizes[i] != data.size))
      i++;
    if (i == buffer_count) {
      buffers[i] =
          (hipdnnPluginDeviceBuffer_t){h, aligned_alloc(256, (data.size + 255) / 256 * 256)};
      buffer_sizes[buffer_count++] = data.size;
    }
    memcpy(buffers[i].ptr, data.ptr, data.size);
    free((void *)data.ptr);
  } else if (IS("store")) {
    for (uint32_t i = 0; i < buffer_count; i++)
      if (buffers[i].uid == h)
        write_file(word[2], buffers[i].ptr, buffer_sizes[i]);
  } else if (IS("execute")) {
    int bytes = atoi(word[3]);
    void *space = bytes ? aligned_alloc(256, ((size_t)bytes + 255) / 256 * 256) : NULL;
    CALL(status,
         hipdnnEnginePluginExecuteOpGraph(handles[h], contexts[c], space, buffers, buffer_count));
    free(space);
    answer(status);
  } else if (IS("overrides")) {
    CALL(status, hipdnnEnginePluginExecuteOpGraphWithOverrides(
                     handles[h], contexts[c], NULL, buffers, buffer_count, (uint32_t)atoi(word[3]),
                     NULL, NULL, NULL, NULL));
    answer(status);
  } else if (IS("error")) {
    printf("error of %d bytes\n", (int)strlen(text()));
  } else if (IS("preload")) {
    if (!dlopen(word[1], RTLD_NOW | RTLD_LOCAL))
      fail(dlerror());
  } else if (IS("bridge")) {
    open_bridge(word[1]);
  } else if (IS("bridgecall")) {
    struct miopen_bridge_statistics now;
    bridge.statistics(&now);
    printf("bridge forwarded %d\n", (int)now.forwarded);
  } else if (IS("process")) {
    say_process();
  } else if (IS("sigpipe")) {
    int ends[2];
    if (pipe(ends) || close(ends[0]) || write(ends[1], "", 1) == 1)
      fail("no broken pipe");
    printf("goes on\n");
  } else if (IS("disposition")) {
    struct sigaction now;
    sigaction(SIGPIPE, NULL, &now);
    printf("SIGPIPE %s\n", now.sa_handler == SIG_DFL   ? "ends the process"
                           : now.sa_handler == SIG_IGN ? "is ignored"
                                                       : "is handled");
  } else if (IS("constructor")) {
    snprintf(constructing_graph, sizeof constructing_graph, "%s", word[2]);
    if (!dlopen(word[1], RTLD_NOW | RTLD_LOCAL))
      fail(dlerror());
  } else if (IS("ignoresigpipe")) {
    signal(SIGPIPE, SIG_IGN);
  } else if (IS("behind")) {
    snprintf(behind.line, sizeof behind.line, "%s", strchr(shown, ' ') + 1);
    if (pthread_create(&behind.thread, NULL, run_behind, NULL))
      fail("no thread");
    usleep(200 * 1000);
  } else if (IS("join")) {
    pthread_join(behind.thread, NULL);
  } else if (IS("fork") || IS("barefork")) {
    run_forked(IS("barefork"));
  } else if (IS("threads")) {
    run_threads(h, word[2]);
  } else {
    fail(shown);
  }
}

int main(void) {
  char line[1024];
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin))
    run(line);
  printf("end\n");
  return 0;
}
