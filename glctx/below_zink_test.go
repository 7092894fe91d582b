//go:build linux && cgo

package glctx

import "testing"

func TestBuildBelowZink(t *testing.T) {
	for renderer, want := range map[string]string{
		"zink Vulkan 1.4(llvmpipe (LLVM 19.1.7, 256 bits) (MESA_LLVMPIPE))": "libvulkan_lvp",
		"zink Vulkan 1.3(AMD Radeon RX 7900 XTX (RADV NAVI31) (MESA_RADV))": "libvulkan_radeon",
		"zink Vulkan 1.3(a GPU of tomorrow (ITS_DRIVER))":                   "libvulkan_",
		"llvmpipe (LLVM 19.1.7, 256 bits)":                                  "",
	} {
		if got := belowZink(renderer); got != want {
			t.Errorf("below %s is %q, want %q", renderer, got, want)
		}
	}
}
