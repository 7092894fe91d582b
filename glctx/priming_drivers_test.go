//go:build linux && cgo

package glctx

import (
	"testing"

	"github.com/shadercache/shadercache/binary"
)

// TestPrimingOfDrivers has what each driver waits for. One that nobody has seen is asked for
// a fence, which waits for everything.
func TestPrimingOfDrivers(t *testing.T) {
	const mesa, nvidia, other = "4.6 (Core Profile) Mesa 25.0.7-2+deb13u1", "4.6.0 NVIDIA 580.159.04", "4.6.15596 Compatibility Profile Context"
	for _, c := range []struct {
		gpu, vendor, version string
		api                  API
		major, minor         int
		want                 priming
	}{
		{"NVIDIA H200/PCIe/SSE2", "NVIDIA Corporation", nvidia, OpenGL, 4, 6, dispatchWaits},
		{"NVIDIA H200/PCIe/SSE2", "NVIDIA Corporation", "OpenGL ES 3.2 NVIDIA 580.159.04", OpenGLES, 3, 2, dispatchWaits},
		{"llvmpipe (LLVM 19.1.7, 256 bits)", "Mesa", "4.5 (Core Profile) Mesa 25.0.7", OpenGL, 4, 5, dispatchWaits},
		{"NV120", "Mesa", "4.3 (Core Profile) Mesa 25.0.7", OpenGL, 4, 3, dispatchWaits},
		{"V3D 4.2.14.0", "Broadcom", "OpenGL ES 3.1 Mesa 25.0.7", OpenGLES, 3, 1, dispatchWaits},
		{"AMD Radeon RX 7900 XTX (radeonsi, navi31, LLVM 19.1.7, DRM 3.49, 6.18.44)", "AMD", mesa, OpenGL, 4, 6, queryWaits},
		{"Mesa Intel(R) UHD Graphics (TGL GT1)", "Intel", mesa, OpenGL, 4, 6, queryWaits},
		{"zink Vulkan 1.4(NVIDIA GeForce RTX 4070 (MESA_NVK))", "Mesa", mesa, OpenGL, 4, 6, queryWaits},
		{"zink Vulkan 1.4(llvmpipe (LLVM 19.1.7, 256 bits) (MESA_LLVMPIPE))", "Mesa", mesa, OpenGL, 4, 6, fenceWaits},
		{"Mesa Intel(R) UHD Graphics (TGL GT1)", "Intel", "OpenGL ES 3.2 Mesa 25.0.7", OpenGLES, 3, 2, fenceWaits},
		{"Radeon Pro W7900", "ATI Technologies Inc.", other, OpenGL, 4, 6, fenceWaits},
		{"a GPU of tomorrow", "its maker", other, OpenGL, 4, 6, fenceWaits},
		{"a GPU of tomorrow", "", "OpenGL ES 3.2 of its maker", OpenGLES, 3, 2, fenceWaits},
	} {
		info := Info{GPU: c.gpu, API: c.api, Major: c.major, Minor: c.minor,
			Fingerprint: binary.Fingerprint{Vendor: c.vendor, Version: c.version}}
		if got := info.priming(); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.gpu, c.version, got, c.want)
		}
	}
}
