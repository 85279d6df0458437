#define _GNU_SOURCE /* dl_iterate_phdr */
#include "identity.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

struct list {
  char *items;
  size_t room, size;
};

static void put(struct list *l, enum identity_item kind, const char *text, size_t length) {
  size_t whole = 1 + length + 1;
  if (l->size <= l->room && whole <= l->room - l->size) {
    char *item = l->items + l->size;
    item[0] = (char)kind;
    memcpy(item + 1, text, length);
    item[1 + length] = 0;
  }
  l->size += whole;
}

static size_t align4(size_t n) {
  return (n + 3) & ~(size_t)3;
}

/* Lists the build-id of a segment of notes. */
static void put_build_id(struct list *l, const char *notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes, sizeof note);
    size_t name = align4(note.n_namesz), whole = sizeof note + name + align4(note.n_descsz);
    if (whole > size)
      return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        memcmp(notes + sizeof note, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
      const unsigned char *id = (const unsigned char *)notes + sizeof note + name;
      char digits[2 * 64];
      if (note.n_descsz > sizeof digits / 2)
        return;
      for (size_t i = 0; i < note.n_descsz; i++) {
        digits[2 * i] = "0123456789abcdef"[id[i] >> 4];
        digits[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
      }
      put(l, IDENTITY_BUILD_ID, digits, 2 * (size_t)note.n_descsz);
      return;
    }
    notes += whole;
    size -= whole;
  }
}

/* The memory at an address if all of it is the object's, otherwise NULL. */
static const void *mapped(const struct dl_phdr_info *object, ElfW(Addr) address, size_t size) {
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    ElfW(Addr) offset = address - object->dlpi_addr - segment->p_vaddr;
    if (segment->p_type == PT_LOAD && offset < segment->p_memsz &&
        size <= segment->p_memsz - offset)
      return (const void *)address;
  }
  return NULL;
}

/* Lists the names in a dynamic section. */
static void put_names(struct list *l, const struct dl_phdr_info *object, const void *section,
                      size_t section_size) {
  const ElfW(Dyn) *dynamic = section;
  size_t count = section_size / sizeof *dynamic;
  ElfW(Addr) table = 0;
  size_t size = 0;
  for (size_t i = 0; i < count && dynamic[i].d_tag != DT_NULL; i++)
    if (dynamic[i].d_tag == DT_STRTAB)
      table = dynamic[i].d_un.d_ptr;
    else if (dynamic[i].d_tag == DT_STRSZ)
      size = dynamic[i].d_un.d_val;
  /* The loader makes the table's address one of memory, but not in a section that is read-only. */
  const char *strings = mapped(object, table, size);
  if (!strings)
    strings = mapped(object, object->dlpi_addr + table, size);
  if (!strings)
    return;
  for (size_t i = 0; i < count && dynamic[i].d_tag != DT_NULL; i++) {
    size_t at = dynamic[i].d_un.d_val;
    if ((dynamic[i].d_tag == DT_SONAME || dynamic[i].d_tag == DT_NEEDED) && at < size)
      put(l, dynamic[i].d_tag == DT_SONAME ? IDENTITY_SONAME : IDENTITY_NEEDED, strings + at,
          strnlen(strings + at, size - at));
  }
}

static int visit(struct dl_phdr_info *object, size_t size, void *argument) {
  (void)size;
  struct list *l = argument;
  put(l, IDENTITY_FILE, object->dlpi_name, strlen(object->dlpi_name));
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    const void *memory = mapped(object, object->dlpi_addr + segment->p_vaddr, segment->p_memsz);
    /* Notes that are aligned to eight bytes are properties, not build-ids. */
    if (memory && segment->p_type == PT_NOTE && segment->p_align <= 4)
      put_build_id(l, memory, segment->p_memsz);
    if (memory && segment->p_type == PT_DYNAMIC)
      put_names(l, object, memory, segment->p_memsz);
  }
  return 0;
}

size_t identity_loaded(char *list, size_t size) {
  struct list l = {list, size, 0};
  dl_iterate_phdr(visit, &l);
  return l.size;
}
