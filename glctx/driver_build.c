//go:build linux && cgo

#define _GNU_SOURCE
#include "driver_build.h"

#include <elf.h>
#include <link.h>
#include <string.h>

struct found {
  struct sc_build *builds;
  size_t count;
  const char *below; // see sc_mesa_builds
};

static int starts_with(const char *name, const char *prefix) {
  return strncmp(name, prefix, strlen(prefix)) == 0;
}

// is_mesa_driver reports whether a library is one that holds a driver: libgallium-*.so
// from Mesa 24.2 on, *_dri.so before. below: see sc_mesa_builds.
static int is_mesa_driver(const char *path, const char *below) {
  static const char suffix[] = "_dri.so";
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  size_t length = strlen(name), end = sizeof suffix - 1;
  return starts_with(name, "libgallium") || (*below && starts_with(name, below)) ||
         (length > end && strcmp(name + length - end, suffix) == 0);
}

static size_t padded(size_t bytes) { return (bytes + 3) & ~(size_t)3; }

// find_build_id copies the build id of a segment of notes to build, and reports whether
// it has one.
static int find_build_id(const unsigned char *notes, size_t left, struct sc_build *build) {
  ElfW(Nhdr) note;
  while (left >= sizeof note) {
    memcpy(&note, notes, sizeof note);
    size_t name = padded(note.n_namesz), id = padded(note.n_descsz);
    left -= sizeof note;
    notes += sizeof note;
    if (name > left || id > left - name)
      return 0;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        memcmp(notes, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && note.n_descsz <= SC_BUILD_ID_BYTES) {
      memcpy(build->id, notes + name, note.n_descsz);
      build->bytes = note.n_descsz;
      return 1;
    }
    left -= name + id;
    notes += name + id;
  }
  return 0;
}

static int examine(struct dl_phdr_info *library, size_t size, void *data) {
  struct found *found = data;
  (void)size;
  if (!is_mesa_driver(library->dlpi_name, found->below))
    return 0;
  for (ElfW(Half) i = 0; i < library->dlpi_phnum && found->count < SC_BUILDS; i++) {
    const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
    const void *notes = (const void *)(library->dlpi_addr + segment->p_vaddr);
    if (segment->p_type == PT_NOTE && find_build_id(notes, segment->p_memsz, &found->builds[found->count])) {
      found->count++;
      break;
    }
  }
  return 0;
}

size_t sc_mesa_builds(struct sc_build *builds, const char *below) {
  struct found found = {builds, 0, below};
  dl_iterate_phdr(examine, &found);
  return found.count;
}
