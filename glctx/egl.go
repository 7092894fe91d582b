//go:build linux && cgo

package glctx

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>

#include "loader.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/shadercache/shadercache/trace"
)

const (
	eglPbufferBit = 0x0001

	eglOpenGLAPI    = 0x30A2
	eglOpenGLESAPI  = 0x30A0
	eglOpenGLBit    = 0x0008
	eglOpenGLES3Bit = 0x0040

	eglDontCare   = -1
	installDriver = "install libegl1 and a driver: libegl-mesa0 with libgl1-mesa-dri (software), or the EGL part of your GPU's driver"
)

// eglSurface is the EGL objects of a context.
type eglSurface struct {
	display C.EGLDisplay
	context C.EGLContext
	surface C.EGLSurface

	priority string // as granted
}

// eglCandidate is a display on which a context may be possible.
type eglCandidate struct {
	name     string
	display  C.EGLDisplay
	software bool
	pbuffer  bool // needs a surface to become current
}

// openEGL makes a context without a display and makes it current on this
// thread: GPUs first, then Mesa's surfaceless platform, then the default
// display with a one pixel pbuffer.
func openEGL(o Options) (*eglSurface, error) {
	load := o.begin(trace.EGLLoad)
	failed := C.sc_egl_load() != 0
	load.End()
	if failed {
		return nil, fmt.Errorf("%w: %s: %s", ErrNoDriver, C.GoString(C.sc_egl_load_error()), installDriver)
	}
	list := o.begin(trace.EGLDevices)
	candidates, err := eglCandidates(o.Device)
	list.End(trace.Int("candidates", int64(len(candidates))))
	if err != nil {
		return nil, err
	}
	var reasons []string
	var tooOld, wrongKind bool
	for _, candidate := range candidates {
		s, err := candidate.open(o)
		if err == nil {
			return s, nil
		}
		tooOld = tooOld || errors.Is(err, ErrTooOld)
		wrongKind = wrongKind || errors.Is(err, ErrKind)
		reasons = append(reasons, candidate.name+": "+err.Error())
	}
	tried := strings.Join(reasons, "; ")
	switch {
	case tooOld && o.Kind == (Kind{}):
		return nil, fmt.Errorf("%w: %s; OpenGL 4.5 core is needed: %s; %s", ErrTooOld, tried, updateDriver, tryES)
	case tooOld:
		return nil, fmt.Errorf("%w: %s; %s is needed: %s; %s", ErrTooOld, tried, o.Kind, updateDriver, tryES)
	case wrongKind:
		return nil, fmt.Errorf("%w: %s: %s; request another version, profile or fewer flags", ErrKind, o.Kind, tried)
	}
	return nil, fmt.Errorf("%w: %s; %s", ErrNoDriver, tried, installDriver)
}

// eglCandidates returns the displays to try for a device name, best first.
func eglCandidates(device string) ([]eglCandidate, error) {
	devices, _ := eglDevices() // without the extension there are other displays
	if device != "" {
		d, err := pickDevice(device, devices)
		if err != nil {
			return nil, err
		}
		return []eglCandidate{d.candidate()}, nil
	}
	var list, software []eglCandidate
	for _, d := range devices {
		if d.Software {
			software = append(software, d.candidate())
		} else {
			list = append(list, d.candidate())
		}
	}
	if display := C.sc_egl_surfaceless_display(); display != 0 {
		list = append(list, eglCandidate{name: "surfaceless", display: display, software: true})
	}
	list = append(list, software...)
	list = append(list, eglCandidate{name: "default display", display: C.sc_egl_default_display(), pbuffer: true})
	return list, nil
}

// candidate returns the display of a device.
func (d eglDevice) candidate() eglCandidate {
	return eglCandidate{
		name:     "GPU " + strconv.Itoa(d.Index),
		display:  C.sc_egl_device_display(d.handle),
		software: d.Software,
	}
}

// pickDevice returns the device with an index or UUID.
func pickDevice(name string, devices []eglDevice) (eglDevice, error) {
	found, err := FindDevice(devicesOf(devices), name)
	if err != nil {
		return eglDevice{}, err
	}
	return devices[found.Index], nil
}

// open initialises the display, makes a context and makes it current.
func (e eglCandidate) open(o Options) (*eglSurface, error) {
	if e.display == 0 {
		return nil, errors.New("not supported")
	}
	var major, minor C.EGLint
	initialize := o.begin(trace.EGLInitialize)
	initialized := C.sc_egl_initialize(e.display, &major, &minor) != 0
	initialize.End(trace.String("display", e.name))
	if !initialized {
		return nil, eglError("eglInitialize")
	}
	s := &eglSurface{display: e.display}
	if err := s.start(e.pbuffer, o); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// start makes the context and the surface and makes them current.
func (s *eglSurface) start(pbuffer bool, o Options) error {
	api, renderable := C.EGLenum(eglOpenGLAPI), C.EGLint(eglOpenGLBit)
	if o.Kind.API == OpenGLES {
		api, renderable = eglOpenGLESAPI, eglOpenGLES3Bit
	}
	if C.sc_egl_bind_api(api) == 0 {
		return noAPI(o.Kind.API)
	}
	surfaceType := C.EGLint(eglDontCare)
	if pbuffer {
		surfaceType = eglPbufferBit
	}
	config := C.sc_egl_config(s.display, surfaceType, renderable)
	if config == 0 && pbuffer {
		return errors.New("no EGL configuration with a pbuffer")
	}
	create := o.begin(trace.EGLContext)
	err := s.createContext(config, o)
	create.End()
	if err != nil {
		return err
	}
	if pbuffer {
		if s.surface = C.sc_egl_create_pbuffer(s.display, config); s.surface == nil {
			return eglError("eglCreatePbufferSurface")
		}
	}
	current := o.begin(trace.EGLMakeCurrent)
	made := C.sc_egl_make_current(s.display, s.surface, s.context) != 0
	current.End()
	if !made {
		return eglError("eglMakeCurrent")
	}
	return nil
}

// noAPI returns the error of an EGL library that lacks one of the APIs.
func noAPI(api API) error {
	if api == OpenGLES {
		return fmt.Errorf("%w: this EGL has no OpenGL ES", ErrKind)
	}
	return fmt.Errorf("this EGL has no desktop OpenGL; %s", tryES)
}

// createContext creates a context of the newest version that the driver has of the kind,
// with reset notification where the driver supports it. Robust buffer access is requested
// by Kind.Robust only: it adds bounds checks to every kernel.
func (s *eglSurface) createContext(config C.EGLConfig, o Options) error {
	const badAttribute = "EGL_BAD_ATTRIBUTE"
	extension := C.CString(eglPriorityExtension)
	defer C.free(unsafe.Pointer(extension))
	lists, priorities := o.Kind.attributes(o.Debug), C.sc_egl_has(s.display, extension) != 0
	if priorities {
		lists = withPriority(o.Priority, lists)
	}
	if s.createFirst(config, lists) {
		if priorities {
			s.priority = priorityOf(int32(C.sc_egl_context_value(s.display, s.context, eglPriorityLevel)))
		}
		return nil
	}
	err := eglError("eglCreateContext")
	if hasFlags := o.Kind != (Kind{API: o.Kind.API, Major: o.Kind.Major, Minor: o.Kind.Minor}); hasFlags && strings.Contains(err.Error(), badAttribute) {
		return fmt.Errorf("%w: %w", ErrKind, err)
	}
	return fmt.Errorf("%w: %w: %s", ErrTooOld, err, s.newest(config, o.Kind.API))
}

// createFirst creates a context with the first list of attributes that the driver takes.
func (s *eglSurface) createFirst(config C.EGLConfig, lists [][]int32) bool {
	const none = 0x3038
	for _, list := range lists {
		attributes := make([]C.EGLint, 0, len(list)+1)
		for _, v := range list {
			attributes = append(attributes, C.EGLint(v))
		}
		attributes = append(attributes, none)
		if s.context = C.sc_egl_create_context(s.display, config, &attributes[0]); s.context != nil {
			return true
		}
	}
	return false
}

// newest returns what the driver has instead of a version that it lacks: it makes a context
// of an old one, for which drivers return their newest.
func (s *eglSurface) newest(config C.EGLConfig, api API) string {
	old := Kind{API: api, Major: 3}
	if api == OpenGL {
		old.Minor = 2
	}
	version := "no " + old.String()
	if s.createFirst(config, old.attributes(false)) {
		if C.sc_egl_make_current(s.display, nil, s.context) != 0 {
			version = C.GoString(C.sc_egl_gl_version())
		}
		C.sc_egl_make_current(s.display, nil, nil)
		C.sc_egl_destroy_context(s.display, s.context)
		s.context = nil
	}
	return "the driver has " + version
}

// close destroys what start made, on the same thread.
func (s *eglSurface) close() {
	C.sc_egl_make_current(s.display, nil, nil)
	if s.context != nil {
		C.sc_egl_destroy_context(s.display, s.context)
	}
	if s.surface != nil {
		C.sc_egl_destroy_surface(s.display, s.surface)
	}
	// Not eglTerminate: all contexts of the process on this device share the display.
	C.sc_egl_release_thread()
}

func eglError(call string) error {
	names := map[int]string{
		0x3001: "EGL_NOT_INITIALIZED", 0x3002: "EGL_BAD_ACCESS", 0x3003: "EGL_BAD_ALLOC",
		0x3004: "EGL_BAD_ATTRIBUTE", 0x3005: "EGL_BAD_CONFIG", 0x3006: "EGL_BAD_CONTEXT",
		0x3008: "EGL_BAD_DISPLAY", 0x3009: "EGL_BAD_MATCH", 0x300C: "EGL_BAD_PARAMETER",
	}
	code := int(C.sc_egl_error())
	if name, ok := names[code]; ok {
		return errors.New(call + ": " + name)
	}
	return fmt.Errorf("%s: EGL error 0x%04X", call, code)
}

func bytesOf(raw []C.uchar) []byte {
	out := make([]byte, len(raw))
	for i, b := range raw {
		out[i] = byte(b)
	}
	return out
}
