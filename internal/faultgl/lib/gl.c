#define _GNU_SOURCE
#include "fault.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned int GLenum, GLuint, GLbitfield;
typedef int GLint, GLsizei;
typedef intptr_t GLintptr, GLsizeiptr;
typedef void *GLsync;

enum {
  NO_ERROR = 0, INVALID_OPERATION = 0x0502, GL_OUT_OF_MEMORY = 0x0505, CONTEXT_LOST = 0x0507,
  GL_RENDERER = 0x1F01, COMPILE_STATUS = 0x8B81, LINK_STATUS = 0x8B82, INFO_LOG_LENGTH = 0x8B84,
  PROGRAM_BINARY_LENGTH = 0x8741, GUILTY_CONTEXT_RESET = 0x8253,
  WAIT_FAILED = 0x911D, TIMEOUT_EXPIRED = 0x911B,
};

static const char refusal[] = "refused by faultgl";
static const char odd_text[] = "\x1b[31mred\x1b]0;title\x07\r\xff\xfe\xc3(";

// An object is a shader or a program: GL gives them names of one kind. Tests make few.
enum { MAX_OBJECTS = 1 << 16 };
static struct {
  uint32_t tags;
  const char *log; // of a failure that has no cause in the real driver
  bool wrong;      // dispatches compute nothing
} objects[MAX_OBJECTS];

static GLuint slot(GLuint name) { return name % MAX_OBJECTS; }

static __thread GLenum pending;
static __thread bool lost;
static __thread GLuint current, dispatched;

void gl_reset(void) {
  lost = false;
  pending = NO_ERROR;
}

// HOOK defines the function that stands in for a GL function. In its body, real calls
// the driver's.
#define HOOK(type, name, parameters)       \
  static type(*real_##name) parameters;    \
  static type hook_##name parameters

// fails sets the error of a call and reports whether it must have no effect.
static bool fails(enum mode mode) {
  switch (mode) {
  case REFUSE:
    pending = INVALID_OPERATION;
    return true;
  case OUT_OF_MEMORY:
    pending = GL_OUT_OF_MEMORY;
    return true;
  case LOST:
    lost = true;
    return true;
  default:
    return lost;
  }
}

HOOK(GLenum, glGetError, (void)) {
  fault_hit("glGetError", 0, NULL);
  GLenum code = lost ? CONTEXT_LOST : pending;
  pending = NO_ERROR;
  return code ? code : real_glGetError();
}

HOOK(GLenum, glGetGraphicsResetStatus, (void)) { return lost ? GUILTY_CONTEXT_RESET : real_glGetGraphicsResetStatus(); }

HOOK(const unsigned char *, glGetString, (GLenum name)) {
  static char odd[512];
  const char *argument = "";
  const unsigned char *text = real_glGetString(name);
  if (name == GL_RENDERER && text && twin_is_current())
    text = twin_name(text);
  enum mode mode = fault_hit("glGetString", 0, &argument);
  if (mode == GARBAGE && name == GL_RENDERER && text) {
    snprintf(odd, sizeof odd, "%.300s %s", text,
             !strcmp(argument, "escape") ? "\x1b[31mred\x1b]0;title\x07" : !strcmp(argument, "bytes") ? "\xff\xfe\xc3(" : odd_text);
    return (const unsigned char *)odd;
  }
  return fails(mode) && mode != LOST ? NULL : text;
}

HOOK(GLuint, glCreateShader, (GLenum type)) {
  GLuint name = real_glCreateShader(type);
  memset(&objects[slot(name)], 0, sizeof objects[0]);
  return name;
}

HOOK(GLuint, glCreateProgram, (void)) {
  GLuint name = real_glCreateProgram();
  memset(&objects[slot(name)], 0, sizeof objects[0]);
  return name;
}

HOOK(void, glShaderSource, (GLuint shader, GLsizei count, const char *const *texts, const GLint *lengths)) {
  for (GLsizei i = 0; i < count; i++)
    objects[slot(shader)].tags |= fault_tags(texts[i], lengths && lengths[i] >= 0 ? (size_t)lengths[i] : strlen(texts[i]));
  real_glShaderSource(shader, count, texts, lengths);
}

HOOK(void, glAttachShader, (GLuint program, GLuint shader)) {
  objects[slot(program)].tags |= objects[slot(shader)].tags;
  objects[slot(program)].wrong |= objects[slot(shader)].wrong;
  real_glAttachShader(program, shader);
}

// makes applies the fault of a call that makes a shader or a program, and reports
// whether the real call takes place.
static bool makes(const char *at, GLuint object) {
  enum mode mode = fault_hit(at, objects[slot(object)].tags, NULL);
  if (mode == REFUSE || mode == GARBAGE) {
    objects[slot(object)].log = mode == REFUSE ? refusal : odd_text;
    return false;
  }
  objects[slot(object)].wrong |= mode == WRONG;
  return !fails(mode);
}

HOOK(void, glCompileShader, (GLuint shader)) {
  if (makes("glCompileShader", shader))
    real_glCompileShader(shader);
}

HOOK(void, glLinkProgram, (GLuint program)) {
  if (makes("glLinkProgram", program))
    real_glLinkProgram(program);
}

HOOK(void, glProgramBinary, (GLuint program, GLenum format, const void *payload, GLsizei length)) {
  objects[slot(program)].tags = fault_recall(payload, length);
  enum mode mode = fault_hit("glProgramBinary", objects[slot(program)].tags, NULL);
  if (mode == GARBAGE) { // of the bytes, between us and the driver
    unsigned char *damaged = malloc(length);
    for (GLsizei i = 0; i < length; i++)
      damaged[i] = ((const unsigned char *)payload)[i] ^ (i % 7 == 3);
    real_glProgramBinary(program, format, damaged, length);
    free(damaged);
    return;
  }
  if (mode == REFUSE) { // as drivers do it: by the link status alone
    objects[slot(program)].log = refusal;
    return;
  }
  objects[slot(program)].wrong = mode == WRONG;
  if (!fails(mode))
    real_glProgramBinary(program, format, payload, length);
  if (mode == RAISE)
    pending = INVALID_OPERATION;
}

HOOK(void, glGetProgramBinary, (GLuint program, GLsizei size, GLsizei *length, GLenum *format, void *payload)) {
  const char *argument = "";
  GLsizei written = 0;
  uint32_t tags = objects[slot(program)].tags;
  enum mode mode = fault_hit("glGetProgramBinary", tags, &argument);
  if (!fails(mode)) {
    real_glGetProgramBinary(program, size, &written, format, payload);
    fault_remember(payload, written, tags);
  }
  if (mode == GARBAGE)
    for (GLsizei i = 0; i < written; i++)
      ((unsigned char *)payload)[i] = i * 2654435761u >> 13;
  if (length)
    *length = mode == LENGTH ? atoi(argument) : written;
}

static void status(GLuint object, GLenum name, GLenum done, GLint *value) {
  if (!objects[slot(object)].log)
    return;
  if (name == done)
    *value = 0;
  if (name == INFO_LOG_LENGTH)
    *value = strlen(objects[slot(object)].log) + 1;
}

HOOK(void, glGetShaderiv, (GLuint shader, GLenum name, GLint *value)) {
  real_glGetShaderiv(shader, name, value);
  status(shader, name, COMPILE_STATUS, value);
}

// glGetProgramiv has faults for the length of the program binary alone.
HOOK(void, glGetProgramiv, (GLuint program, GLenum name, GLint *value)) {
  const char *argument = "";
  real_glGetProgramiv(program, name, value);
  status(program, name, LINK_STATUS, value);
  if (name == PROGRAM_BINARY_LENGTH) {
    enum mode mode = fault_hit("glGetProgramiv", objects[slot(program)].tags, &argument);
    if (mode == LENGTH)
      *value = atoi(argument);
    fails(mode);
  }
}

static void info_log(const char *text, GLsizei size, GLsizei *length, char *out) {
  int n = snprintf(out, size, "%s", text);
  if (length)
    *length = n < size ? n : size - 1;
}

HOOK(void, glGetShaderInfoLog, (GLuint shader, GLsizei size, GLsizei *length, char *text)) {
  if (objects[slot(shader)].log)
    info_log(objects[slot(shader)].log, size, length, text);
  else
    real_glGetShaderInfoLog(shader, size, length, text);
}

HOOK(void, glGetProgramInfoLog, (GLuint program, GLsizei size, GLsizei *length, char *text)) {
  if (objects[slot(program)].log)
    info_log(objects[slot(program)].log, size, length, text);
  else
    real_glGetProgramInfoLog(program, size, length, text);
}

HOOK(void, glUseProgram, (GLuint program)) {
  current = program;
  real_glUseProgram(program);
}

HOOK(void, glDeleteProgram, (GLuint program)) {
  fault_hit("glDeleteProgram", objects[slot(program)].tags, NULL);
  real_glDeleteProgram(program);
}

HOOK(void, glDispatchCompute, (GLuint x, GLuint y, GLuint z)) {
  dispatched = current;
  enum mode mode = fault_hit("glDispatchCompute", objects[slot(current)].tags, NULL);
  if (!fails(mode) && mode != WRONG && !objects[slot(current)].wrong)
    real_glDispatchCompute(x, y, z);
}

// A program that computes wrong is not primed either.
HOOK(void, glDispatchComputeIndirect, (GLintptr offset)) {
  dispatched = current;
  enum mode mode = fault_hit("glDispatchComputeIndirect", objects[slot(current)].tags, NULL);
  if (!fails(mode) && mode != WRONG && !objects[slot(current)].wrong)
    real_glDispatchComputeIndirect(offset);
}

HOOK(GLsync, glFenceSync, (GLenum condition, GLbitfield flags)) {
  enum mode mode = fault_hit("glFenceSync", objects[slot(dispatched)].tags, NULL);
  if (fails(mode) && !lost)
    return NULL;
  return real_glFenceSync(condition, flags);
}

// Fences of a lost context are signalled.
HOOK(GLenum, glClientWaitSync, (GLsync fence, GLbitfield flags, uint64_t nanos)) {
  enum mode mode = fault_hit("glClientWaitSync", objects[slot(dispatched)].tags, NULL);
  if (mode == TIMEOUT) {
    for (; nanos >= 1000000000u; nanos -= 1000000000u)
      sleep(1);
    usleep(nanos / 1000);
    return TIMEOUT_EXPIRED;
  }
  if (fails(mode) && !lost)
    return WAIT_FAILED;
  return real_glClientWaitSync(fence, flags, nanos);
}

HOOK(void, glFinish, (void)) {
  fault_hit("glFinish", objects[slot(dispatched)].tags, NULL);
  real_glFinish();
}

HOOK(void, glFlush, (void)) {
  fault_hit("glFlush", objects[slot(dispatched)].tags, NULL);
  real_glFlush();
}

HOOK(void *, glMapNamedBufferRange, (GLuint buffer, GLintptr offset, GLsizeiptr length, GLbitfield access)) {
  return fails(fault_hit("glMapNamedBufferRange", 0, NULL)) ? NULL : real_glMapNamedBufferRange(buffer, offset, length, access);
}

HOOK(void, glNamedBufferStorage, (GLuint buffer, GLsizeiptr size, const void *data, GLbitfield flags)) {
  if (!fails(fault_hit("glNamedBufferStorage", 0, NULL)))
    real_glNamedBufferStorage(buffer, size, data, flags);
}

// WRONG results of a read: each byte differs.
HOOK(void, glGetNamedBufferSubData, (GLuint buffer, GLintptr offset, GLsizeiptr size, void *data)) {
  enum mode mode = fault_hit("glGetNamedBufferSubData", 0, NULL);
  if (fails(mode))
    return;
  real_glGetNamedBufferSubData(buffer, offset, size, data);
  for (GLsizeiptr i = 0; mode == WRONG && i < size; i++)
    ((unsigned char *)data)[i] ^= 0x5A;
}

static const struct {
  const char *name;
  void *hook, *real;
} hooks[] = {
#define ENTRY(name) {#name, (void *)hook_##name, (void *)&real_##name}
    ENTRY(glGetError), ENTRY(glGetGraphicsResetStatus), ENTRY(glGetString), ENTRY(glCreateShader),
    ENTRY(glCreateProgram), ENTRY(glShaderSource), ENTRY(glAttachShader), ENTRY(glCompileShader),
    ENTRY(glLinkProgram), ENTRY(glProgramBinary), ENTRY(glGetProgramBinary), ENTRY(glGetShaderiv),
    ENTRY(glGetProgramiv), ENTRY(glGetShaderInfoLog), ENTRY(glGetProgramInfoLog), ENTRY(glUseProgram),
    ENTRY(glDeleteProgram), ENTRY(glDispatchCompute), ENTRY(glDispatchComputeIndirect), ENTRY(glFenceSync),
    ENTRY(glClientWaitSync), ENTRY(glFinish), ENTRY(glFlush), ENTRY(glMapNamedBufferRange),
    ENTRY(glNamedBufferStorage), ENTRY(glGetNamedBufferSubData),
#undef ENTRY
};

void *gl_hook(const char *name, void *real) {
  for (size_t i = 0; real && i < sizeof hooks / sizeof *hooks; i++)
    if (!strcmp(hooks[i].name, name)) {
      *(void **)hooks[i].real = real;
      return hooks[i].hook;
    }
  return real;
}

void gl_support(void) {
  const uint32_t failures = MODES(REFUSE, OUT_OF_MEMORY, LOST);
  fault_support("eglQueryDevicesEXT", MODES(TWIN));
  fault_support("eglInitialize", failures);
  fault_support("eglCreateContext", failures);
  fault_support("eglMakeCurrent", failures);
  fault_support("eglDestroyContext", failures);
  fault_support("glGetString", failures | MODES(GARBAGE));
  fault_support("glCompileShader", failures | MODES(GARBAGE, WRONG));
  fault_support("glLinkProgram", failures | MODES(GARBAGE, WRONG));
  fault_support("glProgramBinary", failures | MODES(GARBAGE, WRONG, RAISE));
  fault_support("glGetProgramBinary", failures | MODES(GARBAGE, LENGTH));
  fault_support("glGetProgramiv", failures | MODES(LENGTH));
  fault_support("glDispatchCompute", failures | MODES(WRONG));
  fault_support("glDispatchComputeIndirect", failures | MODES(WRONG));
  fault_support("glFenceSync", failures);
  fault_support("glClientWaitSync", failures | MODES(TIMEOUT));
  fault_support("glMapNamedBufferRange", failures);
  fault_support("glNamedBufferStorage", failures);
  fault_support("glGetNamedBufferSubData", failures | MODES(WRONG));
  fault_support("glGetError", 0);
  fault_support("glDeleteProgram", 0);
  fault_support("glFinish", 0);
  fault_support("glFlush", 0);
}
