// First uses of programs. A program may be used thousands of times in a frame, so a thread
// remembers what needs no look under the lock.
#include "record.h"

#include <stdlib.h>
#include <string.h>

enum { PROGRAM_KEY = 0, PIPELINE_KEY = 1 };

// recent has names of the current group whose use is logged, or is not to be. They hold
// until the group's epoch changes. Pipelines are of a context, which stands for their group.
static __thread struct {
  const void *owner;
  uint64_t group;
  struct {
    uint64_t key;
    uint32_t epoch;
  } names[32];
} recent;

// is_new reports whether a use may be a first one.
static bool is_new(GLuint name, unsigned kind) {
  struct context *c = current;
  if (!c)
    return true;
  if (recent.owner != c || recent.group != c->group->id) {
    memset(&recent, 0, sizeof recent);
    recent.owner = c;
    recent.group = c->group->id;
  }
  uint64_t key = (uint64_t)name << 1 | kind;
  uint32_t epoch = __atomic_load_n(&c->group->epoch, __ATOMIC_ACQUIRE);
  unsigned i = key % 32;
  if (recent.names[i].key == key && recent.names[i].epoch == epoch)
    return false;
  recent.names[i].key = key;
  recent.names[i].epoch = epoch;
  return true;
}

// first returns whether a program's use is its first in this process. Called with the lock.
static bool first(struct group *group, GLuint name, uint8_t digest[32]) {
  struct program *program = find_program(group, name);
  if (!program || !program->linked || program->failed || !mark(program->digest, USED))
    return false;
  memcpy(digest, program->digest, 32);
  return true;
}

static void log_uses(uint8_t digests[][32], int count) {
  for (int i = 0; i < count; i++)
    log_digest("use", digests[i]);
}

static void use(const struct entry *e, GLuint name) {
  struct visit visit;
  struct context *c = begin_work(&visit, e);
  uint8_t digest[1][32];
  if (!c)
    return;
  int count = first(c->group, name, digest[0]);
  pthread_mutex_unlock(&lock);
  log_uses(digest, count);
  end_visit(&visit);
}

void on_use(const struct entry *e, GLuint name) {
  if (name && recording && is_new(name, PROGRAM_KEY))
    use(e, name);
  REAL(void, e, (GLuint))(name);
}

// ---- Pipelines.

static struct pipeline *find_pipeline(struct context *c, GLuint name) {
  for (size_t i = 0; i < c->pipeline_count; i++)
    if (c->pipelines[i].name == name)
      return &c->pipelines[i];
  return NULL;
}

static struct pipeline *add_pipeline(struct context *c, GLuint name) {
  struct pipeline *more = realloc(c->pipelines, (c->pipeline_count + 1) * sizeof *more);
  if (!more)
    return NULL;
  c->pipelines = more;
  more[c->pipeline_count] = (struct pipeline){.name = name};
  return &more[c->pipeline_count++];
}

void forget_pipelines(struct context *c) {
  free(c->pipelines);
}

// use_pipeline logs the first uses of the programs of a bound pipeline. It gives the lock
// back.
static void use_pipeline(struct context *c) {
  uint8_t digests[6][32];
  int count = 0;
  struct pipeline *pipeline = find_pipeline(c, c->pipeline);
  for (int i = 0; i < 6 && pipeline; i++)
    count += first(c->group, pipeline->programs[i], digests[count]);
  pthread_mutex_unlock(&lock);
  log_uses(digests, count);
}

static void bind(const struct entry *e, GLuint name) {
  struct visit visit;
  struct context *c = begin_work(&visit, e);
  if (!c)
    return;
  c->pipeline = name;
  use_pipeline(c);
  end_visit(&visit);
}

void on_bind_pipeline(const struct entry *e, GLuint name) {
  if (recording && ((current && current->pipeline != name) || is_new(name, PIPELINE_KEY)))
    bind(e, name);
  REAL(void, e, (GLuint))(name);
}

void on_use_stages(const struct entry *e, GLuint name, GLbitfield stages, GLuint program) {
  REAL(void, e, (GLuint, GLbitfield, GLuint))(name, stages, program);
  struct visit visit;
  struct context *c;
  if (!recording || !name || !(c = begin_work(&visit, e)))
    return;
  struct pipeline *pipeline = find_pipeline(c, name);
  if (!pipeline)
    pipeline = add_pipeline(c, name);
  for (int i = 0; i < 6 && pipeline; i++)
    if (stages >> i & 1)
      pipeline->programs[i] = program;
  __atomic_add_fetch(&c->group->epoch, 1, __ATOMIC_RELEASE);
  use_pipeline(c);
  end_visit(&visit);
}

void on_delete_pipelines(const struct entry *e, GLsizei count, const GLuint *names) {
  struct visit visit;
  struct context *c;
  if (recording && names && (c = begin_work(&visit, e))) {
    for (GLsizei i = 0; i < count; i++) {
      struct pipeline *pipeline = find_pipeline(c, names[i]);
      if (pipeline)
        *pipeline = c->pipelines[--c->pipeline_count];
      if (c->pipeline == names[i])
        c->pipeline = 0;
    }
    end_work(&visit);
  }
  REAL(void, e, (GLsizei, const GLuint *))(count, names);
}
