//go:build linux && cgo

package glctx

/*
#include <stdlib.h>
#include "driver_build.h"
*/
import "C"

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// driverBuild returns the ELF build ids of the driver of a context, or "" where they are
// not known. Mesa alone needs one: it refuses binaries of another build of itself, and two
// builds of one version have the same GL_VERSION, and on llvmpipe the same UUID. Other
// drivers of Mesa that are loaded come from the same build; where they do not, all of them
// count, since the library of a context is not known. Below zink a driver of Vulkan makes
// the machine code, and Mesa's have one UUID for all builds of a version.
func driverBuild(f binary.Fingerprint) string {
	if !strings.Contains(f.Version, "Mesa") {
		return ""
	}
	below := C.CString(belowZink(f.Renderer))
	defer C.free(unsafe.Pointer(below))
	var builds [C.SC_BUILDS]C.struct_sc_build
	var ids []string
	for _, b := range builds[:C.sc_mesa_builds(&builds[0], below)] {
		ids = append(ids, hex.EncodeToString(bytesOf(b.id[:b.bytes])))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if strings.HasPrefix(f.Renderer, "llvmpipe") {
		ids = append(ids, cpuBuild())
	}
	return strings.Join(ids, " ")
}

// cpuBuild returns a hash of what llvmpipe tells machines apart by: the number of CPUs, also of
// those that the process may use, and what they can (util_cpu_caps, which Mesa asks for once). It
// refuses binaries of others.
var cpuBuild = sync.OnceValue(func() string {
	h := shader.NewFieldHash()
	var may unix.CPUSet
	_ = unix.SchedGetaffinity(os.Getpid(), &may)
	all, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	h.Number(uint64(may.Count()))
	h.Number(uint64(max(len(all), may.Count())))
	info := make([]byte, 8<<10) // of the first: all of them take long on a large machine
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		n, _ := f.Read(info)
		info = info[:n]
		f.Close()
	}
	first, _, _ := strings.Cut(string(info), "\n\n")
	for line := range strings.Lines(first) {
		switch name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) {
		case "vendor_id", "cpu family", "clflush size", "CPU implementer", "CPU part":
			h.Text(strings.TrimSpace(value))
		}
	}
	h.Text(fmt.Sprint(cpu.X86, cpu.ARM64)) // unlike the file's flags, whatever the kernel
	return h.Digest().Short()
})

// vulkanDrivers has what the names of Mesa's drivers of Vulkan begin with, by the driver's
// name in zink's renderer.
var vulkanDrivers = map[string]string{
	"MESA_LLVMPIPE":          "libvulkan_lvp",
	"MESA_RADV":              "libvulkan_radeon",
	"INTEL_OPEN_SOURCE_MESA": "libvulkan_intel",
	"MESA_NVK":               "libvulkan_nouveau",
	"MESA_TURNIP":            "libvulkan_freedreno",
	"MESA_V3DV":              "libvulkan_broadcom",
}

// belowZink returns what the name of the library below zink begins with, "libvulkan_" where
// the driver is another one, and "" where the driver is not zink.
func belowZink(renderer string) string {
	if !strings.HasPrefix(renderer, "zink ") {
		return ""
	}
	driver := strings.TrimRight(renderer[strings.LastIndexByte(renderer, '(')+1:], ")")
	return cmp.Or(vulkanDrivers[driver], "libvulkan_")
}
