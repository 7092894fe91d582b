// A program as the content of a file: docs/recording.md.
#include "record.h"

#include <stdlib.h>
#include <string.h>

enum tag { CONTEXT = 1, SEPARABLE, CREATED, STAGE, ATTRIBUTE, OUTPUT, FEEDBACK, RETRIEVABLE };
enum form { GLSL = 1, SPIRV };

// A content that cannot grow has a capacity of 0.
static bool reserve(struct content *c, size_t more) {
  if (c->size + more <= c->capacity)
    return true;
  size_t capacity = 2 * c->capacity > c->size + more ? 2 * c->capacity : c->size + more;
  uint8_t *bytes = c->capacity && c->size + more <= max_file ? realloc(c->bytes, capacity) : NULL;
  if (!bytes) {
    c->capacity = 0;
    return false;
  }
  c->bytes = bytes;
  c->capacity = capacity;
  return true;
}

static void add(struct content *c, const void *bytes, size_t size) {
  if (!size || !reserve(c, size))
    return;
  memcpy(c->bytes + c->size, bytes, size);
  c->size += size;
}

static void add_number(struct content *c, uint32_t value) {
  uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
  add(c, bytes, sizeof bytes);
}

static void begin_field(struct content *c, enum tag tag, size_t size) {
  add_number(c, tag);
  add_number(c, (uint32_t)size);
}

static void add_context(struct content *c, const struct context *context) {
  begin_field(c, CONTEXT, 20);
  add_number(c, context->api);
  add_number(c, context->major);
  add_number(c, context->minor);
  add_number(c, context->profile);
  add_number(c, context->flags);
}

static void add_flag(struct content *c, enum tag tag, bool set) {
  if (!set)
    return;
  begin_field(c, tag, 4);
  add_number(c, 1);
}

// add_stage returns NULL, or why the shader cannot be recorded.
static const char *add_stage(struct content *c, const struct shader *shader) {
  const struct compiled *compiled = &shader->compiled;
  if (!compiled->text)
    return shader->why;
  if (compiled->spirv && !compiled->constants)
    return "no memory";
  size_t constants = compiled->spirv ? compiled->constants->size : 0;
  if (8 + constants + compiled->text->size > max_field)
    return "a shader's text is too long";
  begin_field(c, STAGE, 8 + constants + compiled->text->size);
  add_number(c, shader->stage);
  add_number(c, compiled->spirv ? SPIRV : GLSL);
  if (compiled->spirv)
    add(c, compiled->constants->bytes, constants);
  add(c, compiled->text->bytes, compiled->text->size);
  return NULL;
}

static void add_bindings(struct content *c, enum tag tag, const struct bindings *bindings) {
  for (size_t i = 0; i < bindings->count; i++) {
    const struct binding *binding = &bindings->list[i];
    size_t length = strlen(binding->name);
    begin_field(c, tag, length + (tag == OUTPUT ? 8 : 4));
    add_number(c, binding->number);
    if (tag == OUTPUT)
      add_number(c, binding->index);
    add(c, binding->name, length);
  }
}

const char *encode(struct content *c, const struct context *context, const struct program *program) {
  if (!context->valid)
    return "the version of the context is not known";
  if (program->why)
    return program->why;
  if (!program->shader_count)
    return "a program has no shaders";
  *c = (struct content){.bytes = malloc(4096)};
  c->capacity = c->bytes ? 4096 : 0;
  add(c, "SCPROG1\n", 8);
  add_context(c, context);
  add_flag(c, SEPARABLE, program->separable);
  add_flag(c, CREATED, program->created);
  for (size_t i = 0; i < program->shader_count; i++) {
    const char *why = add_stage(c, program->shaders[i]);
    if (why)
      return why;
  }
  add_bindings(c, ATTRIBUTE, &program->attributes);
  add_bindings(c, OUTPUT, &program->outputs);
  if (program->feedback) {
    begin_field(c, FEEDBACK, program->feedback->size);
    add(c, program->feedback->bytes, program->feedback->size);
  }
  add_flag(c, RETRIEVABLE, program->retrievable);
  return c->capacity ? NULL : "no memory, or a program is too large";
}
