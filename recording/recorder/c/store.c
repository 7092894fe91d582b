// Files. Each is open for one write only: a program that closes descriptors it does not
// know, or counts its own, must not meet one of the recorder's.
#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

char folder[PATH_MAX / 2];

void open_folder(const char *path) {
  if (strlen(path) < sizeof folder)
    strcpy(folder, path);
}

void make_folders(void) {
  static const char *const names[] = {"", "/v1", "/v1/programs", "/v1/processes", "/v1/tmp"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", folder, names[i]);
    mkdir(path, 0700);
  }
}

void hexadecimal(const uint8_t digest[32], char text[65]) {
  for (int i = 0; i < 32; i++) {
    text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  text[64] = 0;
}

// fits reports whether a file may have a size: the kernel ends a process that writes past
// its limit.
static bool fits(size_t size) {
  struct rlimit limit;
  if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < size) {
    errno = EFBIG;
    return false;
  }
  return true;
}

static bool write_all(int file, const void *bytes, size_t size) {
  const char *next = bytes;
  while (size > 0) {
    ssize_t n = write(file, next, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    next += n;
    size -= (size_t)n;
  }
  return true;
}

bool append(const char *path, bool first, const char *line, size_t size, size_t before) {
  if (!fits(before + size))
    return false;
  int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | (first ? O_CREAT | O_EXCL : 0), 0600);
  if (file < 0)
    return false;
  ssize_t n;
  do
    n = write(file, line, size);
  while (n < 0 && errno == EINTR);
  if (n > 0 && (size_t)n < size && ftruncate(file, (off_t)before))
    n = 0; // a part of the line stays: a reader sees that it is cut
  close(file);
  if (n != (ssize_t)size && first)
    unlink(path);
  return n == (ssize_t)size;
}

// write_file writes a file that does not exist.
static bool write_file(const char *path, const struct content *content) {
  if (!fits(content->size))
    return false;
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return false;
  bool written = write_all(file, content->bytes, content->size);
  int error = errno;
  if (close(file) && written)
    error = errno, written = false;
  if (!written)
    unlink(path);
  errno = error;
  return written;
}

static bool rename_into(const char *temporary, const char *path, const char *parent) {
  if (!rename(temporary, path))
    return true;
  if (errno == ENOENT && (!mkdir(parent, 0700) || errno == EEXIST) && !rename(temporary, path))
    return true;
  int error = errno;
  unlink(temporary);
  errno = error;
  return false;
}

const char *store(const uint8_t digest[32], const struct content *content) {
  static unsigned counter;
  char name[65], parent[PATH_MAX], path[PATH_MAX], temporary[PATH_MAX];
  struct stat there;
  hexadecimal(digest, name);
  snprintf(parent, sizeof parent, "%s/v1/programs/%.2s", folder, name);
  snprintf(path, sizeof path, "%s/v1/programs/%.2s/%s.bin", folder, name, name);
  if (!stat(path, &there) && (size_t)there.st_size == content->size)
    return NULL;
  unsigned number = __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
  // In containers all processes have one number: the time tells them apart.
  snprintf(temporary, sizeof temporary, "%s/v1/tmp/%.16s-%d-%u-%lld", folder, name, (int)getpid(), number, (long long)now());
  if (!write_file(temporary, content) || !rename_into(temporary, path, parent))
    return strerror(errno);
  return NULL;
}
