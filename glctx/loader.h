// The EGL library, opened at run time.
//
// A program that names libEGL in its list of shared libraries cannot start on a
// machine without it: the loader ends it before main. So nothing here is linked;
// sc_egl_load opens the library when the first context is asked for, after the
// environment of the driver's own cache has been set.
#ifndef SHADERCACHE_LOADER_H
#define SHADERCACHE_LOADER_H

#include <EGL/egl.h>
#include <EGL/eglext.h>

// sc_egl_load opens libEGL once and resolves the calls below. It returns 0, or
// -1 with the reason in sc_egl_load_error.
int sc_egl_load(void);
const char *sc_egl_load_error(void);

void *sc_egl_proc(const char *name);
EGLint sc_egl_error(void);

// Devices (EGL_EXT_device_enumeration); -1 where the extension is missing.
EGLint sc_egl_devices(EGLDeviceEXT *devices, EGLint max);
const char *sc_egl_device_string(EGLDeviceEXT device, EGLint name);
int sc_egl_device_uuid(EGLDeviceEXT device, unsigned char uuid[16]);

EGLDisplay sc_egl_device_display(EGLDeviceEXT device);
EGLDisplay sc_egl_surfaceless_display(void);
EGLDisplay sc_egl_default_display(void);

EGLBoolean sc_egl_initialize(EGLDisplay display, EGLint *major, EGLint *minor);
EGLBoolean sc_egl_bind_api(EGLenum api);
EGLConfig sc_egl_config(EGLDisplay display, EGLint surface_type, EGLint renderable);
EGLContext sc_egl_create_context(EGLDisplay display, EGLConfig config, const EGLint *attributes);
EGLSurface sc_egl_create_pbuffer(EGLDisplay display, EGLConfig config);
EGLBoolean sc_egl_make_current(EGLDisplay display, EGLSurface surface, EGLContext context);
// sc_egl_has reports whether a display, which is initialised, has an extension.
int sc_egl_has(EGLDisplay display, const char *extension);

// sc_egl_gl_version returns GL_VERSION of the current context, or NULL.
const char *sc_egl_gl_version(void);

// sc_egl_context_value returns an attribute of a context, or -1.
EGLint sc_egl_context_value(EGLDisplay display, EGLContext context, EGLint name);

EGLBoolean sc_egl_destroy_context(EGLDisplay display, EGLContext context);
EGLBoolean sc_egl_destroy_surface(EGLDisplay display, EGLSurface surface);
EGLBoolean sc_egl_release_thread(void);

#endif
