// What a program does with shaders. What ends an object is handled before the driver's call,
// since its name may be given to another thread during the call; the rest after it.
#include "record.h"

#include <string.h>

bool is_set(size_t count, const char *const *strings) {
  for (size_t i = 0; i < count; i++)
    if (!strings[i])
      return false;
  return true;
}

struct text *joined(size_t count, const char *const *strings, const GLint *lengths) {
  size_t size = 0;
  for (size_t i = 0; i < count; i++)
    size += lengths && lengths[i] >= 0 ? (size_t)lengths[i] : strlen(strings[i]);
  struct text *text = new_text(NULL, size);
  char *next = text ? text->bytes : NULL;
  for (size_t i = 0; i < count && text; i++) {
    size_t n = lengths && lengths[i] >= 0 ? (size_t)lengths[i] : strlen(strings[i]);
    memcpy(next, strings[i], n);
    next += n;
  }
  return text;
}

GLuint on_create_shader(const struct entry *e, GLenum stage) {
  bool outermost = enter();
  GLuint name = REAL(GLuint, e, (GLenum))(stage);
  leave();
  struct visit visit;
  struct context *c;
  if (outermost && name && (c = begin_work(&visit, e))) {
    add_shader(c->group, name, stage);
    end_work(&visit);
  }
  return name;
}

static void set_source(struct shader *shader, struct text *text) {
  drop_text(shader->source);
  drop_text(shader->module);
  shader->source = text;
  shader->module = NULL;
  shader->why = text ? "a shader was not compiled" : "a shader's text is too long";
}

void on_source(const struct entry *e, GLuint name, GLsizei count, const GLchar *const *strings, const GLint *lengths) {
  bool outermost = enter();
  REAL(void, e, (GLuint, GLsizei, const GLchar *const *, const GLint *))(name, count, strings, lengths);
  leave();
  struct visit visit;
  struct context *c;
  if (!outermost || count < 0 || !strings || !is_set((size_t)count, strings) || !(c = begin_work(&visit, e)))
    return;
  struct shader *shader = find_shader(c->group, name);
  if (shader)
    set_source(shader, joined((size_t)count, strings, lengths));
  end_work(&visit);
}

void on_compile(const struct entry *e, GLuint name) {
  struct visit visit;
  struct context *c;
  bool outermost = enter();
  if (outermost && (c = begin_work(&visit, e))) {
    struct shader *shader = find_shader(c->group, name);
    if (shader && !shader->module) { // else an error of GL
      drop_compiled(&shader->compiled);
      shader->compiled.text = share_text(shader->source);
    }
    end_work(&visit);
  }
  REAL(void, e, (GLuint))(name);
  leave();
}

// on_compile_include: the texts of glNamedString are not recorded.
void on_compile_include(const struct entry *e, GLuint name, GLsizei count, const GLchar *const *paths, const GLint *lengths) {
  struct visit visit;
  struct context *c;
  bool outermost = enter();
  if (outermost && (c = begin_work(&visit, e))) {
    struct shader *shader = find_shader(c->group, name);
    if (shader) {
      drop_compiled(&shader->compiled);
      shader->why = "a shader was compiled by glCompileShaderIncludeARB";
    }
    end_work(&visit);
  }
  REAL(void, e, (GLuint, GLsizei, const GLchar *const *, const GLint *))(name, count, paths, lengths);
  leave();
}

static void set_module(struct shader *shader, struct text *module, const char *why) {
  drop_text(shader->source);
  drop_text(shader->module);
  drop_compiled(&shader->compiled);
  shader->source = NULL;
  shader->module = share_text(module);
  shader->why = why;
}

void on_shader_binary(const struct entry *e, GLsizei count, const GLuint *names, GLenum format, const void *bytes, GLsizei size) {
  bool outermost = enter();
  REAL(void, e, (GLsizei, const GLuint *, GLenum, const void *, GLsizei))(count, names, format, bytes, size);
  leave();
  struct visit visit;
  struct context *c;
  if (!outermost || count < 0 || !names || size < 0 || !bytes || !(c = begin_work(&visit, e)))
    return;
  bool spirv = format == GL_SHADER_BINARY_FORMAT_SPIR_V;
  struct text *module = spirv ? new_text(bytes, (size_t)size) : NULL;
  for (GLsizei i = 0; i < count; i++) {
    struct shader *shader = find_shader(c->group, names[i]);
    if (shader)
      set_module(shader, module, spirv ? "a module was not specialized" : "a shader is a binary of the driver");
  }
  drop_text(module);
  end_work(&visit);
}

static void put(char **next, uint32_t value) {
  for (int i = 0; i < 4; i++)
    *(*next)++ = (char)(value >> 8 * i);
}

// constants_of returns entry point and constants as the file has them.
static struct text *constants_of(const char *entry, size_t count, const GLuint *indices, const GLuint *values) {
  size_t length = strlen(entry);
  struct text *text = new_text(NULL, length + 8 * count + 8);
  if (!text)
    return NULL;
  char *next = text->bytes;
  put(&next, (uint32_t)length);
  memcpy(next, entry, length);
  next += length;
  put(&next, (uint32_t)count);
  for (size_t i = 0; i < count; i++) {
    put(&next, indices[i]);
    put(&next, values[i]);
  }
  return text;
}

void on_specialize(const struct entry *e, GLuint name, const GLchar *entry, GLuint count, const GLuint *indices, const GLuint *values) {
  struct visit visit;
  struct context *c;
  bool outermost = enter();
  if (outermost && entry && (!count || (indices && values)) && (c = begin_work(&visit, e))) {
    struct shader *shader = find_shader(c->group, name);
    if (shader && shader->module) {
      drop_compiled(&shader->compiled);
      shader->compiled = (struct compiled){share_text(shader->module), true, constants_of(entry, count, indices, values)};
    }
    end_work(&visit);
  }
  REAL(void, e, (GLuint, const GLchar *, GLuint, const GLuint *, const GLuint *))(name, entry, count, indices, values);
  leave();
}

void on_delete_shader(const struct entry *e, GLuint name) {
  struct visit visit;
  struct context *c;
  bool outermost = enter();
  if (outermost && (c = begin_work(&visit, e))) {
    struct shader *shader = find_shader(c->group, name);
    if (shader)
      delete_shader(c->group, shader);
    end_work(&visit);
  }
  REAL(void, e, (GLuint))(name);
  leave();
}
