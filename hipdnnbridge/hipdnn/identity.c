#define _GNU_SOURCE /* dl_iterate_phdr */
#include "identity.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

struct search {
  struct stat file;
  unsigned char *id;
  size_t size, found;
};

static size_t align4(size_t n) {
  return (n + 3) & ~(size_t)3;
}

/* Copies the build-id of a segment of notes. */
static void read_notes(struct search *s, const char *notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes, sizeof note);
    size_t name = align4(note.n_namesz), whole = sizeof note + name + align4(note.n_descsz);
    if (whole > size)
      return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        memcmp(notes + sizeof note, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
      if (note.n_descsz <= s->size) {
        memcpy(s->id, notes + sizeof note + name, note.n_descsz);
        s->found = note.n_descsz;
      }
      return;
    }
    notes += whole;
    size -= whole;
  }
}

static int visit(struct dl_phdr_info *object, size_t size, void *argument) {
  (void)size;
  struct search *s = argument;
  struct stat file;
  if (!object->dlpi_name || !*object->dlpi_name || stat(object->dlpi_name, &file) != 0 ||
      file.st_dev != s->file.st_dev || file.st_ino != s->file.st_ino)
    return 0;
  for (int i = 0; i < object->dlpi_phnum && s->found == 0; i++)
    /* Notes that are aligned to eight bytes are properties, not build-ids. */
    if (object->dlpi_phdr[i].p_type == PT_NOTE && object->dlpi_phdr[i].p_align <= 4)
      read_notes(s, (const char *)(uintptr_t)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr),
                 object->dlpi_phdr[i].p_memsz);
  return 1;
}

size_t identity_build_id(const char *file, unsigned char *id, size_t size) {
  struct search s = {.id = id, .size = size};
  if (stat(file, &s.file) != 0)
    return 0;
  dl_iterate_phdr(visit, &s);
  return s.found;
}
