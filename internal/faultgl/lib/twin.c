#define _GNU_SOURCE
#include "fault.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <stdio.h>
#include <string.h>

// A twin is a further device: the last one that EGL lists once more, with contexts that
// have another GL_RENDERER, so another driver as far as a program can tell. Its handles are
// addresses of this library, which are replaced by those of the original in every call.
static char device, display;
static EGLDeviceEXT original;
static EGLDisplay original_display;
static __thread bool current;

bool twin_is_current(void) { return current; }

void twin_make_current(void *of, void *context) { current = of == (void *)&display && context; }

void *twin_display(void *of) { return of == (void *)&display ? original_display : of; }

static EGLDeviceEXT untwin(EGLDeviceEXT of) { return of == (EGLDeviceEXT)&device ? original : of; }

static PFNEGLQUERYDEVICESEXTPROC real_devices;
static PFNEGLQUERYDEVICESTRINGEXTPROC real_string;
static PFNEGLQUERYDEVICEBINARYEXTPROC real_binary;
static PFNEGLGETPLATFORMDISPLAYEXTPROC real_display;

static EGLBoolean query_devices(EGLint max, EGLDeviceEXT *devices, EGLint *count) {
  EGLBoolean good = real_devices(max, devices, count);
  if (good && devices && *count > 0 && *count < max && fault_hit("eglQueryDevicesEXT", 0, NULL) == TWIN) {
    original = devices[*count - 1];
    devices[(*count)++] = (EGLDeviceEXT)&device;
  }
  return good;
}

static const char *query_string(EGLDeviceEXT of, EGLint name) { return real_string(untwin(of), name); }

// query_binary returns the UUID of the original with its last byte changed.
static EGLBoolean query_binary(EGLDeviceEXT of, EGLint name, EGLint max, void *value, EGLint *size) {
  EGLBoolean good = real_binary(untwin(of), name, max, value, size);
  if (good && value && untwin(of) != of && *size > 0)
    ((unsigned char *)value)[*size - 1] ^= 1;
  return good;
}

static EGLDisplay platform_display(EGLenum platform, void *native, const EGLint *attributes) {
  EGLDisplay real = real_display(platform, platform == EGL_PLATFORM_DEVICE_EXT ? untwin(native) : native, attributes);
  if (platform != EGL_PLATFORM_DEVICE_EXT || native != (void *)&device || !real)
    return real;
  original_display = real;
  return (EGLDisplay)&display;
}

// twin_name returns the renderer of the original as that of the twin.
const unsigned char *twin_name(const unsigned char *renderer) {
  static __thread char name[320];
  snprintf(name, sizeof name, "%.300s twin", renderer);
  return (const unsigned char *)name;
}

void *twin_hook(const char *name, void *real) {
  if (!real)
    return real;
#define HOOKED(entry, field, hook)                \
  if (!strcmp(name, entry)) {                     \
    field = (__typeof__(field))real;              \
    return (void *)hook;                          \
  }
  HOOKED("eglQueryDevicesEXT", real_devices, query_devices)
  HOOKED("eglQueryDeviceStringEXT", real_string, query_string)
  HOOKED("eglQueryDeviceBinaryEXT", real_binary, query_binary)
  HOOKED("eglGetPlatformDisplayEXT", real_display, platform_display)
#undef HOOKED
  return gl_hook(name, real);
}
