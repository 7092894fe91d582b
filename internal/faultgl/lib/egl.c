#define _GNU_SOURCE
#include "fault.h"

#include <EGL/egl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

static void *library;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread EGLint pending = EGL_SUCCESS;

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// next_library opens the libEGL.so.1 that stands behind this one in the search path.
static void next_library(void) {
  Dl_info self;
  Dl_serinfo size, *paths;
  void *here = dladdr(next_library, &self) ? dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  if (!here || dlinfo(here, RTLD_DI_SERINFOSIZE, &size))
    return;
  paths = malloc(size.dls_size);
  dlinfo(here, RTLD_DI_SERINFOSIZE, paths);
  if (dlinfo(here, RTLD_DI_SERINFO, paths))
    return;
  for (unsigned i = 0; i < paths->dls_cnt && !library; i++) {
    char name[4096];
    snprintf(name, sizeof name, "%s/libEGL.so.1", paths->dls_serpath[i].dls_name);
    if (!same_file(name, self.dli_fname))
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  free(paths);
}

void *egl_real(const char *name) {
  pthread_once(&once, next_library);
  if (!library) {
    fprintf(stderr, "faultgl: there is no other libEGL.so.1\n");
    _exit(97);
  }
  return dlsym(library, name);
}

#define FORWARD(type, name, parameters, arguments) \
  PUBLIC type name parameters {                    \
    static type(*real) parameters;                 \
    if (!real)                                     \
      real = (type(*) parameters)egl_real(#name);  \
    return real arguments;                         \
  }

FORWARD(EGLDisplay, eglGetDisplay, (EGLNativeDisplayType native), (native))
FORWARD(EGLBoolean, eglTerminate, (EGLDisplay display), (twin_display(display)))
FORWARD(EGLBoolean, eglBindAPI, (EGLenum api), (api))
FORWARD(EGLBoolean, eglQueryContext, (EGLDisplay display, EGLContext context, EGLint attribute, EGLint *value), (twin_display(display), context, attribute, value))
FORWARD(EGLBoolean, eglReleaseThread, (void), ())
FORWARD(EGLContext, eglGetCurrentContext, (void), ())
FORWARD(EGLDisplay, eglGetCurrentDisplay, (void), ())
FORWARD(EGLSurface, eglGetCurrentSurface, (EGLint which), (which))
FORWARD(const char *, eglQueryString, (EGLDisplay display, EGLint name), (twin_display(display), name))
FORWARD(EGLBoolean, eglChooseConfig,
        (EGLDisplay display, const EGLint *wanted, EGLConfig *configs, EGLint size, EGLint *count),
        (twin_display(display), wanted, configs, size, count))
FORWARD(EGLSurface, eglCreatePbufferSurface, (EGLDisplay display, EGLConfig config, const EGLint *attributes),
        (twin_display(display), config, attributes))
FORWARD(EGLBoolean, eglDestroySurface, (EGLDisplay display, EGLSurface surface), (twin_display(display), surface))

// fails reports whether a call with a fault must fail, and sets the error.
static bool fails(const char *at, EGLint refused) {
  switch (fault_hit(at, 0, NULL)) {
  case REFUSE:
    pending = refused;
    return true;
  case OUT_OF_MEMORY:
    pending = EGL_BAD_ALLOC;
    return true;
  case LOST:
    pending = EGL_CONTEXT_LOST;
    return true;
  default:
    return false;
  }
}

PUBLIC EGLint eglGetError(void) {
  static EGLint (*real)(void);
  if (!real)
    real = (EGLint(*)(void))egl_real("eglGetError");
  EGLint code = pending;
  pending = EGL_SUCCESS;
  return code != EGL_SUCCESS ? code : real();
}

PUBLIC EGLBoolean eglInitialize(EGLDisplay display, EGLint *major, EGLint *minor) {
  if (fails("eglInitialize", EGL_NOT_INITIALIZED))
    return EGL_FALSE;
  EGLBoolean (*real)(EGLDisplay, EGLint *, EGLint *) = egl_real("eglInitialize");
  return real(twin_display(display), major, minor);
}

PUBLIC EGLContext eglCreateContext(EGLDisplay display, EGLConfig config, EGLContext shared, const EGLint *attributes) {
  if (fails("eglCreateContext", EGL_BAD_MATCH))
    return EGL_NO_CONTEXT;
  EGLContext (*real)(EGLDisplay, EGLConfig, EGLContext, const EGLint *) = egl_real("eglCreateContext");
  return real(twin_display(display), config, shared, attributes);
}

PUBLIC EGLBoolean eglMakeCurrent(EGLDisplay display, EGLSurface draw, EGLSurface read, EGLContext context) {
  if (context && fails("eglMakeCurrent", EGL_BAD_ACCESS))
    return EGL_FALSE;
  gl_reset();
  EGLBoolean (*real)(EGLDisplay, EGLSurface, EGLSurface, EGLContext) = egl_real("eglMakeCurrent");
  twin_make_current(display, context);
  return real(twin_display(display), draw, read, context);
}

PUBLIC EGLBoolean eglDestroyContext(EGLDisplay display, EGLContext context) {
  if (fails("eglDestroyContext", EGL_BAD_CONTEXT))
    return EGL_FALSE;
  EGLBoolean (*real)(EGLDisplay, EGLContext) = egl_real("eglDestroyContext");
  return real(twin_display(display), context);
}

typedef void (*proc)(void);

PUBLIC proc eglGetProcAddress(const char *name) {
  static proc (*real)(const char *);
  if (!real)
    real = (proc(*)(const char *))egl_real("eglGetProcAddress");
  return (proc)twin_hook(name, (void *)real(name));
}
