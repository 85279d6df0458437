/* host PLUGIN [without-device]: loads a plugin as hipDNN does and runs it. It is not linked against
 * any MIOpen. The exit status is 0, or 1 with what failed on stderr. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: host PLUGIN [without-device]\n");
    return 2;
  }
  void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) {
    fprintf(stderr, "dlopen failed: %s\n", dlerror());
    return 1;
  }
  int (*run)(int) = (int (*)(int))dlsym(plugin, "plugin_run");
  if (!run) {
    fprintf(stderr, "dlsym failed: %s\n", dlerror());
    return 1;
  }
  int result = run(argc > 2);
  if (result < 0) {
    fprintf(stderr, "plugin_run returned %d\n", result);
    return 1;
  }
  printf("plugin_run returned %d\n", result);
  return 0;
}
