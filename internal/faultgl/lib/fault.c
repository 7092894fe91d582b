#define _GNU_SOURCE
#include "fault.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_FAULTS = 16, MAX_POINTS = 64 };

static const char *const mode_names[] = {
    [CRASH] = "crash", [CRASH_THREAD] = "crash-thread", [EXIT] = "exit", [HANG] = "hang",
    [SLOW] = "slow", [MEMORY] = "memory", [PRINT] = "print", [GARBAGE] = "garbage",
    [WRONG] = "wrong", [REFUSE] = "refuse", [OUT_OF_MEMORY] = "out-of-memory", [LOST] = "lost",
    [RAISE] = "raise", [LENGTH] = "length", [TIMEOUT] = "timeout", [TWIN] = "twin",
};

static struct fault faults[MAX_FAULTS];
static int fault_count;
static struct {
  const char *at;
  uint32_t results;
} points[MAX_POINTS];
static int point_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint32_t fault_bits(const enum mode *modes) {
  uint32_t bits = 0;
  for (; *modes != NO_FAULT; modes++)
    bits |= 1u << *modes;
  return bits;
}

static void bad_fault(const char *fault, const char *why) {
  fprintf(stderr, "faultgl: %s: %s\n", fault, why);
  _exit(97);
}

void fault_support(const char *at, uint32_t results) {
  if (point_count == MAX_POINTS)
    bad_fault(at, "too many entry points");
  points[point_count].at = at;
  points[point_count++].results = results;
}

static void check(const struct fault *f, const char *line) {
  for (int i = 0; i < point_count; i++) {
    if (strcmp(points[i].at, f->at))
      continue;
    if (f->mode > PRINT && !(points[i].results & 1u << f->mode))
      bad_fault(line, "this entry point has no such result");
    return;
  }
  bad_fault(line, "no such entry point");
}

// copy takes the first length bytes of text.
static void copy(char *to, size_t size, const char *text, size_t length, const char *line) {
  if (length >= size)
    bad_fault(line, "too long");
  memcpy(to, text, length);
  to[length] = 0;
}

// parse_conditions reads ",3", ",once", ",twin" and ",while=PATH".
static void parse_conditions(struct fault *f, char *conditions, const char *line) {
  char *rest = NULL;
  for (char *word = strtok_r(conditions, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
    if (!strcmp(word, "once"))
      f->once = true;
    else if (!strcmp(word, "twin"))
      f->twin = true;
    else if (!strncmp(word, "while=", 6))
      copy(f->path, sizeof f->path, word + 6, strlen(word + 6), line);
    else if ((f->call = atoi(word)) <= 0)
      bad_fault(line, "unknown condition");
  }
}

// parse reads MODE[=ARGUMENT]@ENTRY[,CONDITION...][:TEXT].
static void parse(const char *line) {
  if (fault_count == MAX_FAULTS)
    bad_fault(line, "too many faults");
  struct fault *f = &faults[fault_count++];
  const char *at = strchr(line, '@');
  if (!at)
    bad_fault(line, "no @");
  size_t mode_length = strcspn(line, "=@");
  for (f->mode = 0; f->mode < NO_FAULT; f->mode++)
    if (strlen(mode_names[f->mode]) == mode_length && !strncmp(mode_names[f->mode], line, mode_length))
      break;
  if (f->mode == NO_FAULT)
    bad_fault(line, "no such mode");
  if (line[mode_length] == '=')
    copy(f->argument, sizeof f->argument, line + mode_length + 1, at - line - mode_length - 1, line);
  at++;
  size_t name = strcspn(at, ",:");
  copy(f->at, sizeof f->at, at, name, line);
  const char *text = strchr(at, ':');
  if (text)
    copy(f->text, sizeof f->text, text + 1, strlen(text + 1), line);
  char conditions[sizeof f->path];
  copy(conditions, sizeof conditions, at + name, (text ? (size_t)(text - at) : strlen(at)) - name, line);
  parse_conditions(f, conditions, line);
  check(f, line);
}

__attribute__((constructor)) static void read_faults(void) {
  const char *variable = getenv("SHADERCACHE_TEST_FAULT");
  char *lines = variable ? strdup(variable) : NULL;
  gl_support();
  char *rest = NULL;
  for (char *line = lines ? strtok_r(lines, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
    parse(line);
  free(lines);
}

// die ends the process the way a driver's bug does: by a fault where the signal has one.
__attribute__((noreturn)) static void die(int number) {
  switch (number) {
  case SIGSEGV:
    *(volatile int *)8 = 1;
    break;
  case SIGBUS: {
    char name[] = "/tmp/faultgl-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    char *past = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (past != MAP_FAILED)
      *(volatile char *)past = 1;
    break;
  }
  case SIGABRT:
    abort();
  }
  kill(getpid(), number);
  for (;;)
    pause();
}

static void *die_on_thread(void *number) {
  die((int)(intptr_t)number);
  return NULL;
}

static void take_memory(size_t bytes) {
  enum { STEP = 4 << 20 };
  for (size_t taken = 0; taken < bytes; taken += STEP) {
    void *block = malloc(STEP);
    if (!block)
      abort(); // as LLVM does
    memset(block, 1, STEP);
  }
}

static void print_line(const char *text) {
  char line[256];
  int length = snprintf(line, sizeof line, "%s\n", *text ? text : "a message of the driver");
  if (write(STDOUT_FILENO, line, length) < 0)
    return;
}

// act carries out a mode whose effect is inside the call.
static void act(enum mode mode, const char *argument) {
  int number = atoi(argument);
  pthread_t thread;
  switch (mode) {
  case CRASH:
    die(number ? number : SIGSEGV);
  case CRASH_THREAD:
    pthread_create(&thread, NULL, die_on_thread, (void *)(intptr_t)(number ? number : SIGSEGV));
    for (;;)
      pause();
  case EXIT:
    exit(*argument ? number : 1);
  case HANG:
    for (;;)
      pause();
  case SLOW:
    usleep(number * 1000);
    break;
  case MEMORY:
    take_memory((size_t)number << 20);
    break;
  case PRINT:
    print_line(argument);
    break;
  default:
    break;
  }
}

static uint64_t digest(const void *data, size_t length) {
  uint64_t sum = 14695981039346656037u;
  for (const unsigned char *p = data; length--; p++)
    sum = (sum ^ *p) * 1099511628211u;
  return sum;
}

// state_file names a file of the state directory, which lasts over processes.
static bool state_file(char path[1100], uint64_t a, uint64_t b) {
  const char *dir = getenv("SHADERCACHE_TEST_FAULT_STATE");
  if (!dir || !*dir)
    return false;
  snprintf(path, 1100, "%.1000s/%016llx-%016llx", dir, (unsigned long long)a, (unsigned long long)b);
  return true;
}

static bool create(const char *path) {
  int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (fd >= 0)
    close(fd);
  return fd >= 0;
}

// first reports whether no call and no process before was hit by the fault.
static bool first(const struct fault *f) {
  char path[1100];
  if (!state_file(path, digest(f->at, strlen(f->at)), digest(f->text, strlen(f->text)) + f->mode))
    bad_fault(f->at, "once needs SHADERCACHE_TEST_FAULT_STATE");
  return create(path);
}

// condition_file_exists looks for a relative path in the directory of Mesa's cache.
static bool condition_file_exists(const char *path) {
  const char *dir = getenv("MESA_SHADER_CACHE_DIR");
  char full[2200];
  if (*path == '/' || !dir)
    return !access(path, F_OK);
  snprintf(full, sizeof full, "%s/%s", dir, path);
  return !access(full, F_OK);
}

static bool applies(struct fault *f, const char *at, bool tagged) {
  if (strcmp(f->at, at) || (*f->text && !tagged) || (f->twin && !twin_is_current()) || (*f->path && !condition_file_exists(f->path)))
    return false;
  pthread_mutex_lock(&lock);
  int call = ++f->calls;
  pthread_mutex_unlock(&lock);
  return (!f->call || f->call == call) && (!f->once || first(f));
}

enum mode fault_hit(const char *at, uint32_t tags, const char **argument) {
  for (int i = 0; i < fault_count; i++) {
    struct fault *f = &faults[i];
    if (!applies(f, at, tags & 1u << i))
      continue;
    if (f->mode > PRINT) {
      if (argument)
        *argument = f->argument;
      return f->mode;
    }
    act(f->mode, f->argument);
  }
  return NO_FAULT;
}

uint32_t fault_tags(const char *text, size_t length) {
  uint32_t tags = 0;
  for (int i = 0; i < fault_count; i++)
    if (*faults[i].text && memmem(text, length, faults[i].text, strlen(faults[i].text)))
      tags |= 1u << i;
  return tags;
}

void fault_remember(const void *payload, size_t length, uint32_t tags) {
  char path[1100];
  for (int i = 0; i < fault_count; i++)
    if (tags & 1u << i && state_file(path, digest(faults[i].text, strlen(faults[i].text)), digest(payload, length)))
      create(path);
}

uint32_t fault_recall(const void *payload, size_t length) {
  char path[1100];
  uint32_t tags = 0;
  for (int i = 0; i < fault_count; i++)
    if (*faults[i].text && state_file(path, digest(faults[i].text, strlen(faults[i].text)), digest(payload, length)) &&
        !access(path, F_OK))
      tags |= 1u << i;
  return tags;
}
