#define _GNU_SOURCE
#include "identity.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

bool identity_equal(const struct identity *a, const struct identity *b) {
  return a->size != 0 && a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

void identity_text(const struct identity *id, char *text) {
  static const char digits[] = "0123456789abcdef";
  if (!id->size) {
    strcpy(text, "none");
    return;
  }
  for (size_t i = 0; i < id->size; i++) {
    *text++ = digits[id->bytes[i] >> 4];
    *text++ = digits[id->bytes[i] & 15];
  }
  *text = 0;
}

/* Looks for the build-id among the notes of a segment. */
static bool read_notes(const unsigned char *notes, size_t size, struct identity *id) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    memcpy(&header, notes, sizeof header);
    size_t name = ((size_t)header.n_namesz + 3) & ~(size_t)3;
    size_t contents = ((size_t)header.n_descsz + 3) & ~(size_t)3;
    notes += sizeof header;
    size -= sizeof header;
    if (name > size || contents > size - name)
      return false;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && memcmp(notes, "GNU", 4) == 0 &&
        header.n_descsz <= sizeof id->bytes) {
      id->size = header.n_descsz;
      memcpy(id->bytes, notes + name, header.n_descsz);
      return true;
    }
    notes += name + contents;
    size -= name + contents;
  }
  return false;
}

static bool read_at(int file, void *to, size_t size, uint64_t offset) {
  return offset <= INT64_MAX && pread(file, to, size, (off_t)offset) == (ssize_t)size;
}

void identity_of_file(const char *path, struct identity *id) {
  id->size = 0;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0)
    return;
  ElfW(Ehdr) header;
  if (read_at(file, &header, sizeof header, 0) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
      header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(ElfW(Phdr))) {
    for (unsigned i = 0; i < header.e_phnum && !id->size; i++) {
      ElfW(Phdr) segment;
      unsigned char notes[4096]; /* some hundred bytes in practice */
      if (!read_at(file, &segment, sizeof segment, header.e_phoff + i * sizeof segment))
        break;
      if (segment.p_type == PT_NOTE && segment.p_filesz <= sizeof notes &&
          read_at(file, notes, segment.p_filesz, segment.p_offset))
        read_notes(notes, segment.p_filesz, id);
    }
  }
  close(file);
}

struct search {
  uintptr_t address;
  struct identity *id;
};

static int visit(struct dl_phdr_info *library, size_t size, void *argument) {
  (void)size;
  struct search *search = argument;
  bool here = false;
  for (unsigned i = 0; i < library->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
    here |= segment->p_type == PT_LOAD &&
            search->address - (library->dlpi_addr + segment->p_vaddr) < segment->p_memsz;
  }
  if (!here)
    return 0;
  for (unsigned i = 0; i < library->dlpi_phnum && !search->id->size; i++) {
    const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
    if (segment->p_type == PT_NOTE)
      read_notes((const unsigned char *)library->dlpi_addr + segment->p_vaddr, segment->p_memsz,
                 search->id);
  }
  return 1;
}

void identity_of_loaded(const void *address, struct identity *id) {
  id->size = 0;
  dl_iterate_phdr(visit, &(struct search){(uintptr_t)address, id});
}
