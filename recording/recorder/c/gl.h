// What the recorder needs of the headers of OpenGL, EGL and GLX. They are not included: a
// machine that runs programs seldom has them. Displays and contexts are only compared.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef unsigned int GLenum, GLuint, GLbitfield;
typedef int GLint, GLsizei;
typedef char GLchar;
typedef unsigned char GLubyte;

typedef const GLubyte *(*get_string_function)(GLenum);
typedef void (*get_integer_function)(GLenum, GLint *);

enum {
  GL_VENDOR = 0x1F00,
  GL_RENDERER = 0x1F01,
  GL_VERSION = 0x1F02,
  GL_CONTEXT_FLAGS = 0x821E,
  GL_CONTEXT_PROFILE_MASK = 0x9126,
  GL_MAX_DRAW_BUFFERS = 0x8824,
  GL_MAX_VERTEX_ATTRIBS = 0x8869,
  GL_LINK_STATUS = 0x8B82, // also GL_OBJECT_LINK_STATUS_ARB
  GL_PROGRAM_BINARY_RETRIEVABLE_HINT = 0x8257,
  GL_PROGRAM_SEPARABLE = 0x8258,
  GL_SHADER_BINARY_FORMAT_SPIR_V = 0x9551,
};
