// Contexts: which one is current in a thread, which share their objects, and what the driver
// says of each.
//
// A context that was made current without the recorder's knowledge is found by what the
// driver says, and shares its objects with all others of that kind.
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__thread struct context *current;

static struct context *contexts; // that are not destroyed
static uint64_t groups;          // made
static struct context *unseen;
static pthread_key_t at_exit;
static pthread_once_t key_made = PTHREAD_ONCE_INIT;

// The functions below are called with the lock, until it is said otherwise.

static struct context *new_context(void *display, void *handle, struct group *group) {
  struct context *c = calloc(1, sizeof *c);
  if (c && !group) {
    group = calloc(1, sizeof *group);
    if (group)
      group->id = ++groups;
  }
  if (!c || !group) {
    free(c);
    return NULL;
  }
  group->contexts++;
  *c = (struct context){.next = contexts, .display = display, .handle = handle, .group = group, .references = 1};
  return contexts = c;
}

static void drop_context(struct context *c) {
  if (!c || --c->references)
    return;
  if (!--c->group->contexts)
    free_group(c->group);
  forget_pipelines(c);
  free(c);
}

static struct context **find_context(void *display, void *handle) {
  struct context **c = &contexts;
  while (*c && ((*c)->display != display || (*c)->handle != handle))
    c = &(*c)->next;
  return c;
}

// take removes a context from the list.
static struct context *take(struct context **c) {
  struct context *taken = *c;
  if (taken)
    *c = taken->next;
  return taken;
}

// known returns the context of a handle, also of one that was made unseen.
static struct context *known(void *display, void *handle) {
  struct context *c = *find_context(display, handle);
  return c ? c : new_context(display, handle, NULL);
}

static void set_current(struct context *c) {
  if (c)
    c->references++;
  drop_context(current);
  current = c;
}

// From here on the functions take the lock.

static void thread_ended(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  set_current(NULL);
  pthread_mutex_unlock(&lock);
}

static void make_key(void) {
  pthread_key_create(&at_exit, thread_ended);
}

static void created(void *display, void *handle, void *share) {
  struct visit visit;
  if (!handle || !recording)
    return;
  begin_visit(&visit);
  pthread_mutex_lock(&lock);
  drop_context(take(find_context(display, handle))); // its end was not seen
  struct context *other = share ? known(display, share) : NULL;
  new_context(display, handle, other ? other->group : NULL);
  pthread_mutex_unlock(&lock);
  end_visit(&visit);
}

// destroying is called before the driver's function, and destroyed after it: in between
// another thread may get the same handle for a new context.
static struct context *destroying(void *display, void *handle) {
  pthread_mutex_lock(&lock);
  struct context *c = take(find_context(display, handle));
  pthread_mutex_unlock(&lock);
  return c;
}

static void destroyed(struct context *c, bool ok) {
  struct visit visit;
  if (!c)
    return;
  begin_visit(&visit);
  pthread_mutex_lock(&lock);
  if (ok) {
    drop_context(c);
  } else {
    c->next = contexts;
    contexts = c;
  }
  pthread_mutex_unlock(&lock);
  end_visit(&visit);
}

static void made_current(void *display, void *handle) {
  struct visit visit;
  if (!recording || (current && current->display == display && current->handle == handle) || (!current && !handle))
    return;
  begin_visit(&visit);
  pthread_once(&key_made, make_key);
  pthread_setspecific(at_exit, &at_exit);
  pthread_mutex_lock(&lock);
  set_current(handle ? known(display, handle) : NULL);
  pthread_mutex_unlock(&lock);
  end_visit(&visit);
}

// ---- What the driver says. No lock is held.

// set_version parses "4.5 (Core Profile) Mesa" and "OpenGL ES 3.2 Mesa".
static bool set_version(struct context *c, const char *version) {
  c->api = strncmp(version, "OpenGL ES", 9) ? 1 : 2;
  version += strcspn(version, "0123456789");
  return sscanf(version, "%u.%u", &c->major, &c->minor) == 2;
}

static bool from(const struct context *c, unsigned major, unsigned minor) {
  return c->major > major || (c->major == major && c->minor >= minor);
}

static uint32_t integer(const struct entry *e, GLenum name) {
  GLint value = 0;
  e->get_integer(name, &value);
  return (uint32_t)value;
}

static void describe(struct context *c, const struct entry *e, const char *version) {
  const char *vendor = (const char *)e->get_string(GL_VENDOR);
  const char *renderer = (const char *)e->get_string(GL_RENDERER);
  bool es = !strncmp(version, "OpenGL ES", 9);
  if (!set_version(c, version) || !e->get_integer)
    return;
  if (!es && from(c, 3, 2))
    c->profile = integer(e, GL_CONTEXT_PROFILE_MASK);
  if (from(c, 3, es ? 2 : 0))
    c->flags = integer(e, GL_CONTEXT_FLAGS);
  if (from(c, 2, 0))
    c->max_attributes = (GLint)integer(e, GL_MAX_VERTEX_ATTRIBS);
  if (from(c, es ? 3 : 2, 0))
    c->max_outputs = (GLint)integer(e, GL_MAX_DRAW_BUFFERS);
  snprintf(c->driver, sizeof c->driver, "%.300s\t%.300s\t%.300s", vendor ? vendor : "", renderer ? renderer : "", version);
  for (char *p = c->driver; *p; p++)
    if ((unsigned char)*p < ' ' && *p != '\t')
      *p = ' ';
  c->valid = true;
}

// adopt makes the context that was not seen the thread's.
static void adopt(void) {
  pthread_mutex_lock(&lock);
  if (!unseen)
    unseen = new_context(&unseen, &unseen, NULL);
  set_current(unseen);
  pthread_mutex_unlock(&lock);
}

struct context *described(const struct entry *e) {
  if ((current && current->described) || !e->get_string)
    return current;
  const char *version = (const char *)e->get_string(GL_VERSION);
  if (!version)
    return NULL; // no context is current: GL ignores the call
  if (!current)
    adopt();
  if (current && !current->described) {
    current->described = true;
    describe(current, e, version);
  }
  return current;
}

struct context *begin_work(struct visit *visit, const struct entry *e) {
  begin_visit(visit);
  struct context *c = described(e);
  if (c)
    pthread_mutex_lock(&lock);
  else
    end_visit(visit);
  return c;
}

void end_work(const struct visit *visit) {
  pthread_mutex_unlock(&lock);
  end_visit(visit);
}

// ---- The functions that are wrapped.

void *on_egl_create(const struct entry *e, void *display, void *config, void *share, const int *attributes) {
  void *context = REAL(void *, e, (void *, void *, void *, const int *))(display, config, share, attributes);
  created(display, context, share);
  return context;
}

void *on_glx_create(const struct entry *e, void *display, void *visual, void *share, int direct) {
  void *context = REAL(void *, e, (void *, void *, void *, int))(display, visual, share, direct);
  created(display, context, share);
  return context;
}

void *on_glx_create_new(const struct entry *e, void *display, void *config, int type, void *share, int direct) {
  void *context = REAL(void *, e, (void *, void *, int, void *, int))(display, config, type, share, direct);
  created(display, context, share);
  return context;
}

void *on_glx_create_attributes(const struct entry *e, void *display, void *config, void *share, int direct, const int *attributes) {
  void *context = REAL(void *, e, (void *, void *, void *, int, const int *))(display, config, share, direct, attributes);
  created(display, context, share);
  return context;
}

unsigned on_egl_destroy(const struct entry *e, void *display, void *context) {
  struct context *c = destroying(display, context);
  unsigned ok = REAL(unsigned, e, (void *, void *))(display, context);
  destroyed(c, ok);
  return ok;
}

void on_glx_destroy(const struct entry *e, void *display, void *context) {
  struct context *c = destroying(display, context);
  REAL(void, e, (void *, void *))(display, context);
  destroyed(c, true);
}

unsigned on_egl_make_current(const struct entry *e, void *display, void *draw, void *read, void *context) {
  unsigned ok = REAL(unsigned, e, (void *, void *, void *, void *))(display, draw, read, context);
  if (ok)
    made_current(display, context);
  return ok;
}

int on_glx_make_current(const struct entry *e, void *display, unsigned long drawable, void *context) {
  int ok = REAL(int, e, (void *, unsigned long, void *))(display, drawable, context);
  if (ok)
    made_current(display, context);
  return ok;
}

int on_glx_make_context_current(const struct entry *e, void *display, unsigned long draw, unsigned long read, void *context) {
  int ok = REAL(int, e, (void *, unsigned long, unsigned long, void *))(display, draw, read, context);
  if (ok)
    made_current(display, context);
  return ok;
}

unsigned on_egl_release_thread(const struct entry *e) {
  unsigned ok = REAL(unsigned, e, (void))();
  if (ok)
    made_current(NULL, NULL);
  return ok;
}

// on_egl_terminate: the contexts of a display end, or as soon as they are not current.
unsigned on_egl_terminate(const struct entry *e, void *display) {
  struct visit visit;
  begin_visit(&visit);
  pthread_mutex_lock(&lock);
  for (struct context **c = &contexts; *c;) {
    if ((*c)->display == display)
      drop_context(take(c));
    else
      c = &(*c)->next;
  }
  pthread_mutex_unlock(&lock);
  end_visit(&visit);
  return REAL(unsigned, e, (void *))(display);
}
