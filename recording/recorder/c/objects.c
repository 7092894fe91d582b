// The shaders and programs of contexts that share them. All is called with the lock.
//
// A shader exists until it is deleted and attached to no program. A program that is deleted
// while it is current still exists for the driver, and no longer here: a link of it is lost.
#include "record.h"

#include <stdlib.h>
#include <string.h>

static size_t kept; // bytes of texts

struct text *new_text(const void *bytes, size_t size) {
  if (size > max_field || kept + size > max_kept)
    return NULL;
  struct text *text = malloc(sizeof *text + size);
  if (!text)
    return NULL;
  text->references = 1;
  text->size = size;
  if (bytes)
    memcpy(text->bytes, bytes, size);
  kept += size;
  return text;
}

struct text *share_text(struct text *text) {
  if (text)
    text->references++;
  return text;
}

void drop_text(struct text *text) {
  if (!text || --text->references)
    return;
  kept -= text->size;
  free(text);
}

void drop_compiled(struct compiled *compiled) {
  drop_text(compiled->text);
  drop_text(compiled->constants);
  *compiled = (struct compiled){0};
}

// place returns where an object of a name is, or where it would be.
static struct object *place(struct object *objects, size_t capacity, GLuint name) {
  size_t i = name * 2654435761u & (capacity - 1);
  while (objects[i].name && objects[i].name != name)
    i = (i + 1) & (capacity - 1);
  return &objects[i];
}

static struct object *find(struct group *group, GLuint name, enum kind kind) {
  if (!group->capacity || !name)
    return NULL;
  struct object *object = place(group->objects, group->capacity, name);
  return object->name && object->kind == kind ? object : NULL;
}

struct shader *find_shader(struct group *group, GLuint name) {
  struct object *object = find(group, name, SHADER);
  return object ? object->shader : NULL;
}

struct program *find_program(struct group *group, GLuint name) {
  struct object *object = find(group, name, PROGRAM);
  return object ? object->program : NULL;
}

// remove_object closes the gap in the chain of objects with nearby places.
static void remove_object(struct group *group, GLuint name) {
  size_t mask = group->capacity - 1;
  struct object *gap = place(group->objects, group->capacity, name);
  gap->name = 0;
  group->count--;
  for (size_t i = (size_t)(gap - group->objects + 1) & mask; group->objects[i].name; i = (i + 1) & mask) {
    struct object moved = group->objects[i];
    group->objects[i].name = 0;
    *place(group->objects, group->capacity, moved.name) = moved;
  }
}

static void free_shader(struct shader *shader) {
  drop_text(shader->source);
  drop_text(shader->module);
  drop_compiled(&shader->compiled);
  free(shader);
}

static void free_bindings(struct bindings *bindings) {
  for (size_t i = 0; i < bindings->count; i++)
    free(bindings->list[i].name);
  free(bindings->list);
}

static void free_program(struct program *program) {
  free(program->shaders);
  free_bindings(&program->attributes);
  free_bindings(&program->outputs);
  drop_text(program->feedback);
  free(program);
}

// forget removes what had a name that the driver gives again.
static void forget(struct group *group, GLuint name) {
  struct object *object = group->capacity ? place(group->objects, group->capacity, name) : NULL;
  if (!object || !object->name)
    return;
  if (object->kind == PROGRAM) {
    delete_program(group, name);
    return;
  }
  for (size_t i = 0; i < group->capacity; i++)
    if (group->objects[i].name && group->objects[i].kind == PROGRAM)
      detach_shader(group, group->objects[i].program, object->shader);
  delete_shader(group, object->shader);
}

static bool grow(struct group *group) {
  size_t capacity = group->capacity ? 2 * group->capacity : 32;
  struct object *objects = calloc(capacity, sizeof *objects);
  if (!objects)
    return false;
  for (size_t i = 0; i < group->capacity; i++)
    if (group->objects[i].name)
      *place(objects, capacity, group->objects[i].name) = group->objects[i];
  free(group->objects);
  group->objects = objects;
  group->capacity = capacity;
  return true;
}

static struct object *add(struct group *group, GLuint name) {
  forget(group, name);
  if (2 * (group->count + 1) > group->capacity && !grow(group))
    return NULL;
  struct object *object = place(group->objects, group->capacity, name);
  object->name = name;
  group->count++;
  return object;
}

struct shader *add_shader(struct group *group, GLuint name, GLenum stage) {
  struct shader *shader = calloc(1, sizeof *shader);
  struct object *object = shader ? add(group, name) : NULL;
  if (!object) {
    free(shader);
    return NULL;
  }
  *shader = (struct shader){.name = name, .stage = stage, .why = "a shader was not compiled"};
  object->kind = SHADER;
  object->shader = shader;
  return shader;
}

struct program *add_program(struct group *group, GLuint name) {
  struct program *program = calloc(1, sizeof *program);
  struct object *object = program ? add(group, name) : NULL;
  if (!object) {
    free(program);
    return NULL;
  }
  object->kind = PROGRAM;
  object->program = program;
  return program;
}

static void remove_unused(struct group *group, struct shader *shader) {
  if (!shader->deleted || shader->attached)
    return;
  remove_object(group, shader->name);
  free_shader(shader);
}

void delete_shader(struct group *group, struct shader *shader) {
  shader->deleted = true;
  remove_unused(group, shader);
}

void attach_shader(struct program *program, struct shader *shader) {
  for (size_t i = 0; i < program->shader_count; i++)
    if (program->shaders[i] == shader)
      return; // an error of GL
  struct shader **more = realloc(program->shaders, (program->shader_count + 1) * sizeof *more);
  if (!more) {
    program->why = "no memory";
    return;
  }
  program->shaders = more;
  more[program->shader_count++] = shader;
  shader->attached++;
}

void detach_shader(struct group *group, struct program *program, struct shader *shader) {
  for (size_t i = 0; i < program->shader_count; i++) {
    if (program->shaders[i] != shader)
      continue;
    program->shader_count--;
    memmove(program->shaders + i, program->shaders + i + 1, (program->shader_count - i) * sizeof shader);
    shader->attached--;
    remove_unused(group, shader);
    return;
  }
}

void delete_program(struct group *group, GLuint name) {
  struct program *program = find_program(group, name);
  if (!program)
    return;
  while (program->shader_count)
    detach_shader(group, program, program->shaders[program->shader_count - 1]);
  remove_object(group, name);
  free_program(program);
}

void set_binding(struct program *program, struct bindings *bindings, GLuint number, GLuint index, const char *name) {
  size_t i = 0;
  while (i < bindings->count && strcmp(bindings->list[i].name, name) < 0)
    i++;
  if (i < bindings->count && !strcmp(bindings->list[i].name, name)) {
    bindings->list[i].number = number;
    bindings->list[i].index = index;
    return;
  }
  struct binding *more = realloc(bindings->list, (bindings->count + 1) * sizeof *more);
  if (more)
    bindings->list = more;
  char *copy = more ? strdup(name) : NULL;
  if (!copy) {
    program->why = "no memory";
    return;
  }
  memmove(more + i + 1, more + i, (bindings->count - i) * sizeof *more);
  more[i] = (struct binding){number, index, copy};
  bindings->count++;
}

void free_group(struct group *group) {
  for (size_t i = 0; i < group->capacity; i++) {
    struct object *object = &group->objects[i];
    if (object->name && object->kind == SHADER)
      free_shader(object->shader);
    if (object->name && object->kind == PROGRAM)
      free_program(object->program);
  }
  free(group->objects);
  free(group);
}
