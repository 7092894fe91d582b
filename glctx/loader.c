//go:build linux && cgo

#define _GNU_SOURCE
#include "loader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifndef EGL_DEVICE_UUID_EXT
#define EGL_DEVICE_UUID_EXT 0x335C
#endif

typedef void (*proc)(void);

static struct {
  PFNEGLGETPROCADDRESSPROC getProcAddress;
  PFNEGLGETERRORPROC getError;
  PFNEGLGETDISPLAYPROC getDisplay;
  PFNEGLINITIALIZEPROC initialize;
  PFNEGLBINDAPIPROC bindAPI;
  PFNEGLCHOOSECONFIGPROC chooseConfig;
  PFNEGLCREATECONTEXTPROC createContext;
  PFNEGLCREATEPBUFFERSURFACEPROC createPbufferSurface;
  PFNEGLMAKECURRENTPROC makeCurrent;
  PFNEGLQUERYSTRINGPROC queryString;
  PFNEGLQUERYCONTEXTPROC queryContext;
  PFNEGLDESTROYCONTEXTPROC destroyContext;
  PFNEGLDESTROYSURFACEPROC destroySurface;
  PFNEGLRELEASETHREADPROC releaseThread;
  // Extensions: NULL where the loader does not know them.
  PFNEGLGETPLATFORMDISPLAYEXTPROC getPlatformDisplay;
  PFNEGLQUERYDEVICESEXTPROC queryDevices;
  PFNEGLQUERYDEVICESTRINGEXTPROC queryDeviceString;
  EGLBoolean (*queryDeviceBinary)(EGLDeviceEXT, EGLint, EGLint, void *, EGLint *);
} egl;

static char load_error[256];
static pthread_once_t load_once = PTHREAD_ONCE_INIT;

static void *library;

static proc resolve(const char *name) {
  proc p = (proc)dlsym(library, name);
  if (!p && !load_error[0])
    snprintf(load_error, sizeof load_error, "libEGL.so.1 has no %s", name);
  return p;
}

static void load(void) {
  library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    snprintf(load_error, sizeof load_error, "%s", why ? why : "libEGL.so.1 cannot be opened");
    return;
  }
#define CORE(field, name) egl.field = (__typeof__(egl.field))resolve(name)
  CORE(getProcAddress, "eglGetProcAddress");
  CORE(getError, "eglGetError");
  CORE(getDisplay, "eglGetDisplay");
  CORE(initialize, "eglInitialize");
  CORE(bindAPI, "eglBindAPI");
  CORE(chooseConfig, "eglChooseConfig");
  CORE(createContext, "eglCreateContext");
  CORE(createPbufferSurface, "eglCreatePbufferSurface");
  CORE(makeCurrent, "eglMakeCurrent");
  CORE(queryString, "eglQueryString");
  CORE(queryContext, "eglQueryContext");
  CORE(destroyContext, "eglDestroyContext");
  CORE(destroySurface, "eglDestroySurface");
  CORE(releaseThread, "eglReleaseThread");
#undef CORE
  if (load_error[0])
    return;
#define EXT(field, name) egl.field = (__typeof__(egl.field))egl.getProcAddress(name)
  EXT(getPlatformDisplay, "eglGetPlatformDisplayEXT");
  EXT(queryDevices, "eglQueryDevicesEXT");
  EXT(queryDeviceString, "eglQueryDeviceStringEXT");
  EXT(queryDeviceBinary, "eglQueryDeviceBinaryEXT");
#undef EXT
}

int sc_egl_load(void) {
  pthread_once(&load_once, load);
  return load_error[0] ? -1 : 0;
}

const char *sc_egl_load_error(void) { return load_error; }

void *sc_egl_proc(const char *name) {
  return egl.getProcAddress ? (void *)egl.getProcAddress(name) : NULL;
}

// The GL bindings refer to one of these two names. Defining them here, hidden,
// keeps libEGL and libGL out of the executable's list of libraries. A program
// that reaches them gets the real thing.
__attribute__((visibility("hidden"))) proc eglGetProcAddress(const char *name) {
  return sc_egl_load() == 0 ? (proc)sc_egl_proc(name) : NULL;
}

__attribute__((visibility("hidden"))) proc glXGetProcAddress(const unsigned char *name) {
  static proc (*real)(const unsigned char *);
  if (!real) {
    void *gl = dlopen("libGL.so.1", RTLD_NOW | RTLD_LOCAL);
    real = gl ? (proc(*)(const unsigned char *))dlsym(gl, "glXGetProcAddress") : NULL;
  }
  return real ? real(name) : NULL;
}

EGLint sc_egl_error(void) { return egl.getError(); }

EGLint sc_egl_devices(EGLDeviceEXT *devices, EGLint max) {
  EGLint count = 0;
  if (!egl.queryDevices || !egl.queryDevices(max, devices, &count))
    return -1;
  return count;
}

const char *sc_egl_device_string(EGLDeviceEXT device, EGLint name) {
  return egl.queryDeviceString ? egl.queryDeviceString(device, name) : NULL;
}

int sc_egl_device_uuid(EGLDeviceEXT device, unsigned char uuid[16]) {
  EGLint size = 0;
  const char *extensions = sc_egl_device_string(device, EGL_EXTENSIONS);
  if (!egl.queryDeviceBinary || !extensions || !strstr(extensions, "EGL_EXT_device_persistent_id"))
    return -1;
  if (!egl.queryDeviceBinary(device, EGL_DEVICE_UUID_EXT, 16, uuid, &size) || size != 16)
    return -1;
  return 0;
}

EGLDisplay sc_egl_device_display(EGLDeviceEXT device) {
  return egl.getPlatformDisplay ? egl.getPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, device, NULL)
                                : EGL_NO_DISPLAY;
}

EGLDisplay sc_egl_surfaceless_display(void) {
  return egl.getPlatformDisplay
             ? egl.getPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL)
             : EGL_NO_DISPLAY;
}

EGLDisplay sc_egl_default_display(void) { return egl.getDisplay(EGL_DEFAULT_DISPLAY); }

EGLBoolean sc_egl_initialize(EGLDisplay display, EGLint *major, EGLint *minor) {
  return egl.initialize(display, major, minor);
}

EGLBoolean sc_egl_bind_api(EGLenum api) { return egl.bindAPI(api); }

EGLConfig sc_egl_config(EGLDisplay display, EGLint surface_type, EGLint renderable) {
  const EGLint want[] = {EGL_RENDERABLE_TYPE, renderable, EGL_SURFACE_TYPE, surface_type, EGL_NONE};
  EGLConfig config = NULL;
  EGLint count = 0;
  if (!egl.chooseConfig(display, want, &config, 1, &count) || count == 0)
    return NULL;
  return config;
}

EGLContext sc_egl_create_context(EGLDisplay display, EGLConfig config, const EGLint *attributes) {
  return egl.createContext(display, config, EGL_NO_CONTEXT, attributes);
}

EGLSurface sc_egl_create_pbuffer(EGLDisplay display, EGLConfig config) {
  const EGLint size[] = {EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE};
  return egl.createPbufferSurface(display, config, size);
}

EGLBoolean sc_egl_make_current(EGLDisplay display, EGLSurface surface, EGLContext context) {
  return egl.makeCurrent(display, surface, surface, context);
}

int sc_egl_has(EGLDisplay display, const char *extension) {
  const char *list = egl.queryString(display, EGL_EXTENSIONS);
  return list && strstr(list, extension) != NULL;
}

EGLint sc_egl_context_value(EGLDisplay display, EGLContext context, EGLint name) {
  EGLint value = 0;
  return egl.queryContext(display, context, name, &value) ? value : -1;
}

EGLBoolean sc_egl_destroy_context(EGLDisplay display, EGLContext context) {
  return egl.destroyContext(display, context);
}

EGLBoolean sc_egl_destroy_surface(EGLDisplay display, EGLSurface surface) {
  return egl.destroySurface(display, surface);
}

EGLBoolean sc_egl_release_thread(void) { return egl.releaseThread(); }

const char *sc_egl_gl_version(void) {
  const unsigned char *(*get)(unsigned int) = (const unsigned char *(*)(unsigned int))sc_egl_proc("glGetString");
  return get ? (const char *)get(0x1F02) : NULL; // GL_VERSION
}
