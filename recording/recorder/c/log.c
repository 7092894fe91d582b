// The log of this process. It is made by the first line, so that processes without OpenGL
// leave none.
#include "record.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char path[PATH_MAX];
static int64_t began;
static size_t written;
static bool opened, ended;

// The contexts that were logged, by hash of their lines. A process has few.
static uint64_t contexts[64];
static size_t context_count;

static int64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t now(void) {
  return read_clock(CLOCK_MONOTONIC);
}

static void plain(char *text) {
  for (; *text; text++)
    if ((unsigned char)*text < ' ' || *text == 127)
      *text = ' ';
}

static bool write_line(const char *line, size_t size) {
  if (!append(path, !opened, line, size, written))
    return false;
  written += size;
  return true;
}

// begin_log makes the file, with its first line.
static bool begin_log(void) {
  char program[PATH_MAX], line[PATH_MAX + 128];
  ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  program[n < 0 ? 0 : n] = 0;
  plain(program);
  make_folders();
  int64_t start = read_clock(CLOCK_REALTIME);
  began = now();
  snprintf(path, sizeof path, "%s/v1/processes/%lld-%d.log", folder, (long long)start, (int)getpid());
  int size = snprintf(line, sizeof line, "process\t0\t1\t%s\t%lld\n", program, (long long)start);
  opened = write_line(line, (size_t)size);
  ended = !opened; // a folder that cannot be written to is not tried again
  return opened;
}

// log_line writes a line. It has no effect where the log cannot be written.
__attribute__((format(printf, 2, 3))) static void log_line(const char *kind, const char *format, ...) {
  char fields[2048], line[2200];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fields, sizeof fields, format, arguments);
  va_end(arguments);

  pthread_mutex_lock(&log_lock);
  if (!ended && (opened || begin_log())) {
    if (written > max_log) {
      ended = true;
      kind = "lost", strcpy(fields, "the log is full");
    }
    int size = snprintf(line, sizeof line, "%s\t%lld\t%s\n", kind, (long long)(now() - began), fields);
    write_line(line, (size_t)size);
  }
  pthread_mutex_unlock(&log_lock);
}

void log_context(const struct context *c) {
  char line[1400];
  snprintf(line, sizeof line, "%u\t%u\t%u\t%u\t%u\t%s", c->api, c->major, c->minor, c->profile, c->flags, c->driver);
  uint64_t hash = 14695981039346656037u; // FNV-1a
  for (const char *p = line; *p; p++)
    hash = (hash ^ (unsigned char)*p) * 1099511628211u;

  bool logged = false;
  pthread_mutex_lock(&log_lock);
  for (size_t i = 0; i < context_count; i++)
    logged |= contexts[i] == hash;
  if (!logged && context_count < sizeof contexts / sizeof *contexts)
    contexts[context_count++] = hash;
  pthread_mutex_unlock(&log_lock);
  if (!logged)
    log_line("context", "%s", line);
}

void log_link(const uint8_t digest[32], int64_t nanoseconds) {
  char text[65];
  hexadecimal(digest, text);
  log_line("link", "%s\t%lld", text, (long long)nanoseconds);
}

void log_digest(const char *kind, const uint8_t digest[32]) {
  char text[65];
  hexadecimal(digest, text);
  log_line(kind, "%s", text);
}

void log_binary(GLenum format, GLsizei size) {
  log_line("binary", "%u\t%d", format, size);
}

void log_lost(const char *reason) {
  log_line("lost", "%s", reason);
}

void lock_log(void) {
  pthread_mutex_lock(&log_lock);
}

void unlock_log(void) {
  pthread_mutex_unlock(&log_lock);
}

void restart_log(void) {
  opened = ended = false;
  written = context_count = 0;
}
