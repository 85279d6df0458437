/* What a process has mapped and runs, for programs that tests look into. */
#ifndef TESTS_CLIENTS_PROCESS_H_
#define TESTS_CLIENTS_PROCESS_H_

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* How many files named libmiopen_hipdnn.so.1, each with a Go runtime in it, are mapped; eight at
 * most are told apart. */
static inline int forwarding_libraries(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[4096], seen[8][4096];
  int libraries = 0;
  while (fgets(line, sizeof line, maps)) {
    char *path = strchr(line, '/');
    if (!path || !strstr(path, "/libmiopen_hipdnn.so.1"))
      continue;
    bool known = false;
    for (int i = 0; i < libraries; i++)
      known |= strcmp(seen[i], path) == 0;
    if (!known && libraries < 8)
      strcpy(seen[libraries++], path);
  }
  fclose(maps);
  return libraries;
}

static inline int thread_count(void) {
  int threads = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *entry; (entry = readdir(tasks));)
    threads += entry->d_name[0] != '.';
  closedir(tasks);
  return threads;
}

#endif
