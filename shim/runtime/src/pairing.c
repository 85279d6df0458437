#define _GNU_SOURCE /* dl_iterate_phdr */
#include "pairing.h"

#include "os.h"

#include <link.h>

#define SHIM_STATUS_INTERNAL_ERROR 5 /* miopenStatusInternalError */

SHIM_HIDDEN void miopen_shim_refuse_zero(void);

static int refuse_status(void) {
  return SHIM_STATUS_INTERNAL_ERROR;
}

static const char *refuse_text(void) {
  return "refused: libMIOpen.so.1 and libMIOpen_private.so.1 are not of the same split";
}

const void *shim_refusal(uint32_t index) {
  switch (miopen_shim_signatures[index].result) {
  case SHIM_RESULT_TEXT:
    return (const void *)refuse_text;
  case SHIM_RESULT_ZERO:
    return (const void *)miopen_shim_refuse_zero;
  default:
    return (const void *)refuse_status;
  }
}

static bool contains(const struct dl_phdr_info *object, const void *address) {
  uintptr_t at = (uintptr_t)address - object->dlpi_addr;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &object->dlpi_phdr[i];
    if (p->p_type == PT_LOAD && at - p->p_vaddr < p->p_memsz)
      return true;
  }
  return false;
}

/* The loaded object that contains an address. */
struct owner {
  const void *address;
  const char *name; /* as the loader has it; NULL when there is none */
};

static int find_owner(struct dl_phdr_info *object, size_t size, void *argument) {
  (void)size;
  struct owner *o = argument;
  if (!contains(object, o->address))
    return 0;
  o->name = object->dlpi_name[0] ? object->dlpi_name : "the program itself";
  return 1;
}

const char *shim_file_of(const void *address) {
  struct owner o = {address, NULL};
  dl_iterate_phdr(find_owner, &o);
  return o.name;
}

/* Appends the name of the file that an address belongs to. */
static void append_owner(struct shim_line *line, const void *address) {
  const char *name = shim_file_of(address);
  shim_append(line, name ? name : "memory of no file");
}

/* What an implementation is called, in messages. */
static void append_implementation(struct shim_line *line, uint32_t index) {
  shim_append(line, miopen_shim_names + miopen_shim_name_offsets[index]);
  shim_append(line, "_impl");
}

/* The functions have to be where they were in the library that was split, relative to each other.
 * A library that was built from other sources, or by another compiler, has another layout. */
bool shim_pairing_holds(struct shim_line *messages) {
  const void *first = NULL; /* what is bound, of the functions that are */
  uint32_t missing = UINT32_MAX, moved = UINT32_MAX;
  for (uint32_t i = 0; i < miopen_shim_count; i++) {
    const void *at = miopen_shim_slots[i];
    if (!at) {
      if (missing == UINT32_MAX)
        missing = i;
      continue;
    }
    if (!first)
      first = at;
    int64_t distance = (int64_t)((uintptr_t)at - (uintptr_t)miopen_shim_slots[0]);
    if (miopen_shim_slots[0] && distance != miopen_shim_offsets[i] && moved == UINT32_MAX)
      moved = i;
  }
  if (missing == UINT32_MAX && moved == UINT32_MAX)
    return true;
  shim_message(messages);
  shim_append(messages, "error: ");
  append_owner(messages, &miopen_shim_state);
  shim_append(messages, " was not made for ");
  if (first)
    append_owner(messages, first);
  else
    shim_append(messages, "the libMIOpen_private that is loaded");
  shim_append(messages, ": ");
  if (missing != UINT32_MAX) {
    append_implementation(messages, missing);
    shim_append(messages, " is missing");
  } else {
    append_implementation(messages, moved);
    shim_append(messages, " is not where it was when the library was split, it is in ");
    append_owner(messages, miopen_shim_slots[moved]);
  }
  shim_append(messages,
              "; every MIOpen call is refused. Install both files of one split, or split the "
              "library again, and preload nothing that defines *_impl");
  return false;
}

/* Whether a file name is that of a libMIOpen or a libMIOpen_private, of whatever version. */
static bool is_miopen(const char *path) {
  const char *name = path;
  for (const char *p = path; *p; p++)
    if (*p == '/')
      name = p + 1;
  const char *stem = "libMIOpen", *suffix = "_private", *end = ".so";
  for (; *stem; stem++, name++)
    if (*name != *stem)
      return false;
  if (*name == '_')
    for (; *suffix; suffix++, name++)
      if (*name != *suffix)
        return false;
  for (; *end; end++, name++)
    if (*name != *end)
      return false;
  return *name == 0 || *name == '.';
}

static int collect_others(struct dl_phdr_info *object, size_t size, void *argument) {
  (void)size;
  struct shim_line *line = argument;
  if (!is_miopen(object->dlpi_name) || contains(object, &miopen_shim_state) ||
      contains(object, miopen_shim_slots[0]))
    return 0;
  shim_append(line, line->length ? ", " : "");
  shim_append(line, object->dlpi_name);
  return 0;
}

void shim_report_second_library(struct shim_line *messages) {
  static char text[2048];
  struct shim_line others = {text, sizeof text, 0};
  dl_iterate_phdr(collect_others, &others);
  if (!others.length)
    return;
  others.text[others.length] = 0;
  shim_message(messages);
  shim_append(messages, "warning: more than one MIOpen in this process: ");
  append_owner(messages, &miopen_shim_state);
  shim_append(messages, " with ");
  append_owner(messages, miopen_shim_slots[0]);
  shim_append(messages, ", and ");
  shim_append(messages, others.text);
  shim_append(messages, "; calls that bind to the latter pass by this wrapper, and handles and "
                        "descriptors of one are nothing to the other");
}
