//go:build linux && cgo

package glctx

// #include "loader.h"
import "C"

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

const (
	eglExtensions    = 0x3055
	eglRenderer      = 0x335F // EGL_RENDERER_EXT of EGL_EXT_device_query_name
	eglDriverName    = 0x335E // EGL_DRIVER_NAME_EXT of EGL_EXT_device_persistent_id
	eglDRMDeviceFile = 0x3233 // EGL_DRM_DEVICE_FILE_EXT of EGL_EXT_device_drm
	maxEGLDevices    = 64
)

// eglDevice is a device with its handle in EGL.
type eglDevice struct {
	Device
	handle C.EGLDeviceEXT
}

// listDevices returns what EGL has of its devices.
func listDevices() ([]Device, error) {
	if C.sc_egl_load() != 0 {
		return nil, fmt.Errorf("%w: %s: %s", ErrNoDriver, C.GoString(C.sc_egl_load_error()), installDriver)
	}
	found, err := eglDevices()
	return devicesOf(found), err
}

// devicesOf returns devices without their handles.
func devicesOf(found []eglDevice) []Device {
	list := make([]Device, len(found))
	for i, d := range found {
		list[i] = d.Device
	}
	return list
}

// eglDevices returns the devices in the driver's order. The library is loaded.
func eglDevices() ([]eglDevice, error) {
	var handles [maxEGLDevices]C.EGLDeviceEXT
	n := int(C.sc_egl_devices(&handles[0], maxEGLDevices))
	if n < 0 {
		return nil, fmt.Errorf("%w: this EGL cannot list devices", ErrNoDevice)
	}
	list := make([]eglDevice, n)
	for i := range list {
		list[i] = newEGLDevice(i, handles[i])
	}
	return list, nil
}

func newEGLDevice(index int, handle C.EGLDeviceEXT) eglDevice {
	extensions := strings.Fields(C.GoString(C.sc_egl_device_string(handle, eglExtensions)))
	d := eglDevice{Device{Index: index, NUMA: noNUMA, Software: slices.Contains(extensions, "EGL_MESA_device_software")}, handle}
	for _, query := range []struct {
		extension string
		name      C.EGLint
		to        *string
	}{
		{"EGL_EXT_device_query_name", eglRenderer, &d.Name},
		{"EGL_EXT_device_persistent_id", eglDriverName, &d.Driver},
		{"EGL_EXT_device_drm", eglDRMDeviceFile, &d.Node},
	} {
		if slices.Contains(extensions, query.extension) {
			*query.to = printable(C.GoString(C.sc_egl_device_string(handle, query.name)))
		}
	}
	var raw [16]C.uchar
	if C.sc_egl_device_uuid(handle, &raw[0]) == 0 {
		d.UUID = hex.EncodeToString(bytesOf(raw[:]))
	}
	return d
}
