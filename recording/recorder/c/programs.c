// What a program does with programs.
#include "record.h"

#include <stdlib.h>
#include <string.h>

static GLuint create(const struct entry *e, GLuint name) {
  struct visit visit;
  struct context *c;
  if (name && (c = begin_work(&visit, e))) {
    add_program(c->group, name);
    end_work(&visit);
  }
  return name;
}

GLuint on_create_program(const struct entry *e) {
  bool outermost = enter();
  GLuint name = REAL(GLuint, e, (void))();
  leave();
  return outermost ? create(e, name) : name;
}

// refused reports whether OpenGL ES refuses a second shader of a stage.
static bool refused(const struct context *c, const struct program *program, const struct shader *shader) {
  for (size_t i = 0; i < program->shader_count; i++)
    if (c->api == 2 && program->shaders[i]->stage == shader->stage)
      return true;
  return false;
}

void on_attach(const struct entry *e, GLuint name, GLuint shader_name) {
  bool outermost = enter();
  REAL(void, e, (GLuint, GLuint))(name, shader_name);
  leave();
  struct visit visit;
  struct context *c;
  if (!outermost || !(c = begin_work(&visit, e)))
    return;
  struct program *program = find_program(c->group, name);
  struct shader *shader = find_shader(c->group, shader_name);
  if (program && !shader)
    program->why = "a shader is not known";
  if (program && shader && !refused(c, program, shader))
    attach_shader(program, shader);
  end_work(&visit);
}

void on_detach(const struct entry *e, GLuint name, GLuint shader_name) {
  struct visit visit;
  struct context *c;
  bool outermost = enter();
  if (outermost && (c = begin_work(&visit, e))) {
    struct program *program = find_program(c->group, name);
    struct shader *shader = find_shader(c->group, shader_name);
    if (program && shader)
      detach_shader(c->group, program, shader);
    end_work(&visit);
  }
  REAL(void, e, (GLuint, GLuint))(name, shader_name);
  leave();
}

// bind sets the number of an attribute or an output, unless GL refuses it.
static void bind(const struct entry *e, bool output, GLuint name, GLuint number, GLuint index, const char *variable) {
  struct visit visit;
  struct context *c;
  if (!variable || !strncmp(variable, "gl_", 3) || !(c = begin_work(&visit, e)))
    return;
  struct program *program = find_program(c->group, name);
  GLint limit = output ? c->max_outputs : c->max_attributes;
  if (program && index <= 1 && (!limit || number < (GLuint)limit))
    set_binding(program, output ? &program->outputs : &program->attributes, number, index, variable);
  end_work(&visit);
}

void on_bind_attribute(const struct entry *e, GLuint program, GLuint number, const GLchar *name) {
  bool outermost = enter();
  REAL(void, e, (GLuint, GLuint, const GLchar *))(program, number, name);
  leave();
  if (outermost)
    bind(e, false, program, number, 0, name);
}

void on_bind_output(const struct entry *e, GLuint program, GLuint number, const GLchar *name) {
  bool outermost = enter();
  REAL(void, e, (GLuint, GLuint, const GLchar *))(program, number, name);
  leave();
  if (outermost)
    bind(e, true, program, number, 0, name);
}

void on_bind_output_indexed(const struct entry *e, GLuint program, GLuint number, GLuint index, const GLchar *name) {
  bool outermost = enter();
  REAL(void, e, (GLuint, GLuint, GLuint, const GLchar *))(program, number, index, name);
  leave();
  if (outermost)
    bind(e, true, program, number, index, name);
}

// feedback_of returns the names as the file has them.
static struct text *feedback_of(size_t count, const char *const *names, GLenum mode) {
  size_t size = 4;
  for (size_t i = 0; i < count; i++)
    size += strlen(names[i]) + 1;
  struct text *text = new_text(NULL, size);
  if (!text)
    return NULL;
  char *next = text->bytes;
  for (int i = 0; i < 4; i++)
    *next++ = (char)(mode >> 8 * i);
  for (size_t i = 0; i < count; i++)
    next = stpcpy(next, names[i]) + 1;
  return text;
}

void on_feedback(const struct entry *e, GLuint name, GLsizei count, const GLchar *const *names, GLenum mode) {
  bool outermost = enter();
  REAL(void, e, (GLuint, GLsizei, const GLchar *const *, GLenum))(name, count, names, mode);
  leave();
  struct visit visit;
  struct context *c;
  if (!outermost || count < 0 || (count && (!names || !is_set((size_t)count, names))) || !(c = begin_work(&visit, e)))
    return;
  struct program *program = find_program(c->group, name);
  if (program) {
    drop_text(program->feedback);
    program->feedback = count ? feedback_of((size_t)count, names, mode) : NULL;
    if (count && !program->feedback)
      program->why = "no memory";
  }
  end_work(&visit);
}

void on_set_parameter(const struct entry *e, GLuint name, GLenum parameter, GLint value) {
  bool outermost = enter();
  REAL(void, e, (GLuint, GLenum, GLint))(name, parameter, value);
  leave();
  struct visit visit;
  struct context *c;
  if (!outermost || (value != 0 && value != 1) || !(c = begin_work(&visit, e)))
    return;
  struct program *program = find_program(c->group, name);
  if (program && parameter == GL_PROGRAM_SEPARABLE)
    program->separable = value;
  if (program && parameter == GL_PROGRAM_BINARY_RETRIEVABLE_HINT)
    program->retrievable = value;
  end_work(&visit);
}

static void forget(const struct entry *e, GLuint name, bool shaders) {
  struct visit visit;
  struct context *c = begin_work(&visit, e);
  if (!c)
    return;
  struct shader *shader = shaders ? find_shader(c->group, name) : NULL;
  if (shader)
    delete_shader(c->group, shader);
  else
    delete_program(c->group, name);
  __atomic_add_fetch(&c->group->epoch, 1, __ATOMIC_RELEASE);
  end_work(&visit);
}

void on_delete_program(const struct entry *e, GLuint name) {
  if (enter())
    forget(e, name, false);
  REAL(void, e, (GLuint))(name);
  leave();
}

void on_delete_object(const struct entry *e, GLuint name) {
  if (enter())
    forget(e, name, true);
  REAL(void, e, (GLuint))(name);
  leave();
}

// ---- Links.

// link is a call of the driver that links a program, from before it to after it.
struct link {
  struct content content;
  const char *why; // it cannot be recorded
  bool seen;
};

static void encode_link(struct link *link, const struct context *c, const struct program *program) {
  link->seen = true;
  link->why = program ? encode(&link->content, c, program) : "a program is not known";
}

// set_linked keeps what a use of the program is to log.
static void set_linked(struct program *program, struct group *group, const uint8_t *digest) {
  if (program) {
    program->linked = digest;
    program->failed = false;
    if (digest)
      memcpy(program->digest, digest, 32);
  }
  __atomic_add_fetch(&group->epoch, 1, __ATOMIC_RELEASE);
}

// keep stores the program of a link. It returns NULL, or why it cannot.
static const char *keep(const uint8_t digest[32], const struct content *content) {
  pthread_mutex_lock(&lock);
  bool stored = marked(digest, STORED);
  pthread_mutex_unlock(&lock);
  const char *why = stored ? NULL : store(digest, content);
  if (why || stored)
    return why;
  pthread_mutex_lock(&lock);
  mark(digest, STORED);
  pthread_mutex_unlock(&lock);
  return NULL;
}

// log_end writes what a link comes to.
static void log_end(struct link *link, struct context *c, GLuint name, int64_t nanoseconds) {
  uint8_t digest[32];
  log_context(c);
  if (!link->why) {
    sha256(link->content.bytes, link->content.size, digest);
    link->why = keep(digest, &link->content);
  }
  if (link->why)
    log_lost(link->why);
  else
    log_link(digest, nanoseconds);
  pthread_mutex_lock(&lock);
  set_linked(find_program(c->group, name), c->group, link->why ? NULL : digest);
  pthread_mutex_unlock(&lock);
}

static void end_link(struct link *link, GLuint name, int64_t nanoseconds) {
  struct visit visit;
  begin_visit(&visit);
  if (link->seen && current)
    log_end(link, current, name, nanoseconds);
  free(link->content.bytes);
  end_visit(&visit);
}

void on_link(const struct entry *e, GLuint name) {
  struct link link = {0};
  struct visit visit;
  struct context *c;
  bool outermost = enter();
  if (outermost && (c = begin_work(&visit, e))) {
    encode_link(&link, c, find_program(c->group, name));
    end_work(&visit);
  }
  int64_t start = now();
  REAL(void, e, (GLuint))(name);
  int64_t end = now();
  leave();
  if (outermost)
    end_link(&link, name, end - start);
}

// add_created makes the program of glCreateShaderProgramv, whose shader lives only inside.
static void add_created(struct link *link, struct context *c, GLuint name, struct shader *shader) {
  struct program *program = add_program(c->group, name);
  if (program) {
    program->separable = program->created = true;
    attach_shader(program, shader);
  }
  encode_link(link, c, program);
  if (program) {
    program->shader_count = 0;
    program->created = false;
  }
}

GLuint on_create_shader_program(const struct entry *e, GLenum stage, GLsizei count, const GLchar *const *strings) {
  bool outermost = enter();
  int64_t start = now();
  GLuint name = REAL(GLuint, e, (GLenum, GLsizei, const GLchar *const *))(stage, count, strings);
  int64_t end = now();
  leave();
  struct link link = {0};
  struct visit visit;
  struct context *c;
  if (!outermost || !name || count < 0 || !strings || !is_set((size_t)count, strings) || !(c = begin_work(&visit, e)))
    return name;
  struct shader shader = {.stage = stage, .why = "a shader's text is too long"};
  shader.compiled.text = joined((size_t)count, strings, NULL);
  add_created(&link, c, name, &shader);
  drop_compiled(&shader.compiled);
  end_work(&visit);
  end_link(&link, name, end - start);
  return name;
}

// on_get_program: that a link has failed is known when the program asks. The recorder does
// not ask: the driver would have to finish the link, which the program may want later.
void on_get_program(const struct entry *e, GLuint name, GLenum parameter, GLint *value) {
  REAL(void, e, (GLuint, GLenum, GLint *))(name, parameter, value);
  struct visit visit;
  struct context *c;
  if (!recording || parameter != GL_LINK_STATUS || !value || *value || !(c = begin_work(&visit, e)))
    return;
  uint8_t digest[32];
  struct program *program = find_program(c->group, name);
  bool failed = program && program->linked && !program->failed;
  if (failed) {
    program->failed = true;
    memcpy(digest, program->digest, 32);
  }
  end_work(&visit);
  if (failed) {
    begin_visit(&visit);
    log_digest("failed", digest);
    end_visit(&visit);
  }
}

void on_program_binary(const struct entry *e, GLuint name, GLenum format, const void *bytes, GLsizei size) {
  bool outermost = enter();
  REAL(void, e, (GLuint, GLenum, const void *, GLsizei))(name, format, bytes, size);
  leave();
  struct visit visit;
  struct context *c;
  if (!outermost || !(c = begin_work(&visit, e)))
    return;
  set_linked(find_program(c->group, name), c->group, NULL);
  end_work(&visit);
  begin_visit(&visit);
  log_context(c);
  log_binary(format, size);
  end_visit(&visit);
}
