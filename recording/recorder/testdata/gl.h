// Contexts and functions of GL for the programs that the tests record. How a program gets its
// functions is its first argument:
//
//   link     by their symbols; only where LINKED is defined
//   local    by dlopen with RTLD_LOCAL, and dlsym
//   global   by dlopen with RTLD_GLOBAL, and dlsym with RTLD_DEFAULT
//   self     the same, and dlsym with dlopen(NULL)
//   proc     by eglGetProcAddress
#pragma once
#define _GNU_SOURCE
#define GL_GLEXT_PROTOTYPES
#define EGL_EGLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTIONS(F)                                                       \
  F(PFNEGLCREATECONTEXTPROC, eglCreateContext)                             \
  F(PFNEGLDESTROYCONTEXTPROC, eglDestroyContext)                           \
  F(PFNEGLMAKECURRENTPROC, eglMakeCurrent)                                 \
  F(PFNEGLBINDAPIPROC, eglBindAPI)                                         \
  F(PFNEGLCHOOSECONFIGPROC, eglChooseConfig)                               \
  F(PFNEGLGETERRORPROC, eglGetError)                                       \
  F(PFNEGLINITIALIZEPROC, eglInitialize)                                   \
  F(PFNEGLTERMINATEPROC, eglTerminate)                                     \
  F(PFNGLATTACHSHADERPROC, glAttachShader)                                 \
  F(PFNGLBINDATTRIBLOCATIONPROC, glBindAttribLocation)                     \
  F(PFNGLBINDFRAGDATALOCATIONPROC, glBindFragDataLocation)                 \
  F(PFNGLBINDFRAGDATALOCATIONINDEXEDPROC, glBindFragDataLocationIndexed)   \
  F(PFNGLBINDPROGRAMPIPELINEPROC, glBindProgramPipeline)                   \
  F(PFNGLCOMPILESHADERPROC, glCompileShader)                               \
  F(PFNGLCREATEPROGRAMPROC, glCreateProgram)                               \
  F(PFNGLCREATESHADERPROC, glCreateShader)                                 \
  F(PFNGLCREATESHADERPROGRAMVPROC, glCreateShaderProgramv)                 \
  F(PFNGLDELETEPROGRAMPROC, glDeleteProgram)                               \
  F(PFNGLDELETESHADERPROC, glDeleteShader)                                 \
  F(PFNGLDETACHSHADERPROC, glDetachShader)                                 \
  F(PFNGLGENPROGRAMPIPELINESPROC, glGenProgramPipelines)                   \
  F(PFNGLGETATTACHEDSHADERSPROC, glGetAttachedShaders)                     \
  F(PFNGLGETERRORPROC, glGetError)                                         \
  F(PFNGLGETPROGRAMBINARYPROC, glGetProgramBinary)                         \
  F(PFNGLGETPROGRAMIVPROC, glGetProgramiv)                                 \
  F(PFNGLGETSHADERIVPROC, glGetShaderiv)                                   \
  F(PFNGLLINKPROGRAMPROC, glLinkProgram)                                   \
  F(PFNGLPROGRAMBINARYPROC, glProgramBinary)                               \
  F(PFNGLPROGRAMPARAMETERIPROC, glProgramParameteri)                       \
  F(PFNGLSHADERBINARYPROC, glShaderBinary)                                 \
  F(PFNGLSHADERSOURCEPROC, glShaderSource)                                 \
  F(PFNGLSPECIALIZESHADERPROC, glSpecializeShader)                         \
  F(PFNGLTRANSFORMFEEDBACKVARYINGSPROC, glTransformFeedbackVaryings)       \
  F(PFNGLUSEPROGRAMPROC, glUseProgram)                                     \
  F(PFNGLUSEPROGRAMSTAGESPROC, glUseProgramStages)

// The typedef of the one function that glext.h leaves to gl.h.
typedef GLenum(*PFNGLGETERRORPROC)(void);

static struct {
#define F(type, name) type name;
  FUNCTIONS(F)
#undef F
} gl;

static EGLDisplay display;
static EGLConfig config;

static void fail(const char *why) {
  fprintf(stderr, "%s\n", why);
  exit(3);
}

static void *function(const char *how, void *egl, void *opengl, const char *name) {
  void *library = strncmp(name, "egl", 3) ? opengl : egl;
  if (!strcmp(how, "global"))
    library = RTLD_DEFAULT;
  if (!strcmp(how, "self"))
    library = dlopen(NULL, RTLD_NOW);
  if (!strcmp(how, "proc")) {
    void *(*get)(const char *) = (void *(*)(const char *))dlsym(egl, "eglGetProcAddress");
    return get(name);
  }
  return dlsym(library, name);
}

static void load(const char *how) {
#ifdef LINKED
  if (!strcmp(how, "link")) {
#define F(type, name) gl.name = name;
    FUNCTIONS(F)
#undef F
    return;
  }
#endif
  int mode = RTLD_NOW | (strcmp(how, "global") && strcmp(how, "self") ? RTLD_LOCAL : RTLD_GLOBAL);
  if (dlsym(RTLD_DEFAULT, "glLinkProgram") && strcmp(how, "link") && !getenv("LINKED"))
    fail("there is a glLinkProgram before a library was opened");
  void *egl = dlopen("libEGL.so.1", mode), *opengl = dlopen("libGL.so.1", mode);
#define F(type, name)                                    \
  if (!(gl.name = (type)function(how, egl, opengl, #name))) \
    fail("no " #name);
  FUNCTIONS(F)
#undef F
}

// open_display makes no context current. The display is surfaceless, or else the first
// device's.
static void open_display(void) {
  void *egl = dlopen("libEGL.so.1", RTLD_NOW);
  PFNEGLGETPLATFORMDISPLAYPROC get;
  PFNEGLQUERYDEVICESEXTPROC devices;
  void *(*address)(const char *);
  *(void **)&get = dlsym(egl, "eglGetPlatformDisplay");
  *(void **)&address = dlsym(egl, "eglGetProcAddress");
  *(void **)&devices = address("eglQueryDevicesEXT");
  EGLint count;
  EGLDeviceEXT device;
  display = get(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
  if (!gl.eglInitialize(display, NULL, NULL) && devices && devices(1, &device, &count) && count) {
    display = get(EGL_PLATFORM_DEVICE_EXT, device, NULL);
    gl.eglInitialize(display, NULL, NULL);
  }
  if (!gl.eglChooseConfig(display, (EGLint[]){EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE}, &config, 1, &count))
    fail("no display");
  if (!count)
    config = NULL; // EGL_NO_CONFIG_KHR
}

// context makes a context that shares its objects with another, of OpenGL 4.5 or ES 3.2.
static EGLContext context(EGLContext share, int es) {
  EGLint core[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 5, EGL_NONE};
  EGLint embedded[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 2, EGL_NONE};
  gl.eglBindAPI(es ? EGL_OPENGL_ES_API : EGL_OPENGL_API);
  EGLContext c = gl.eglCreateContext(display, config, share, es ? embedded : core);
  if (!c)
    fail("no context");
  return c;
}

static void current(EGLContext c) {
  gl.eglBindAPI(EGL_OPENGL_API);
  if (!gl.eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, c))
    fail("not current");
}

// text returns the source of a shader: a letter for its stage, and a number. The tests make
// the same.
static const char *text(const char *name) {
  static __thread char texts[8][512];
  static __thread int next;
  char *t = texts[next++ % 8];
  const char *version = name[0] == 'e' || name[0] == 'g' ? "310 es" : "430";
  switch (name[0]) {
  case 'v':
  case 'e':
    snprintf(t, 512, "#version %s\nin vec4 a;\nin vec4 b;\nout vec4 c;\nvoid main() { c = b; gl_Position = a * %s.0; }\n", version, name + 1);
    break;
  case 'f':
  case 'g':
    snprintf(t, 512, "#version %s\nprecision highp float;\nin vec4 c;\nout vec4 d;\nvoid main() { d = c * %s.0; }\n", version, name + 1);
    break;
  default:
    snprintf(t, 512, "#version %s\nlayout(local_size_x = 1) in;\nlayout(std430, binding = 0) buffer B { float v[]; };\nvoid main() { v[0] = %s.0; }\n", version, name + 1);
  }
  return t;
}

static GLenum stage(const char *name) {
  return name[0] == 'c' ? GL_COMPUTE_SHADER : name[0] == 'v' || name[0] == 'e' ? GL_VERTEX_SHADER : GL_FRAGMENT_SHADER;
}

static GLuint shader(const char *name) {
  GLuint s = gl.glCreateShader(stage(name));
  const char *t = text(name);
  gl.glShaderSource(s, 1, &t, NULL);
  gl.glCompileShader(s);
  return s;
}

static GLuint attached(const char *first, const char *second) {
  GLuint p = gl.glCreateProgram(), s = shader(first);
  gl.glAttachShader(p, s);
  gl.glDeleteShader(s);
  if (second) {
    s = shader(second);
    gl.glAttachShader(p, s);
    gl.glDeleteShader(s);
  }
  return p;
}

static GLuint linked(const char *first, const char *second) {
  GLuint p = attached(first, second);
  gl.glLinkProgram(p);
  return p;
}

static inline void ok(GLuint p) {
  GLint status = 0;
  gl.glGetProgramiv(p, GL_LINK_STATUS, &status);
  if (!status)
    fail("a program was not linked");
}
