package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A container that has the node of a GPU and not the files of its driver gets a software
// driver without a word.

// eglVendors are the folders in which libglvnd looks for the files that name drivers of EGL.
var eglVendors = []string{"etc/glvnd/egl_vendor.d", "usr/share/glvnd/egl_vendor.d"}

// eglVendorsElsewhere are where containers and distributions mount NVIDIA's.
var eglVendorsElsewhere = []string{
	"usr/local/nvidia/share/glvnd/egl_vendor.d", "usr/local/share/glvnd/egl_vendor.d", "run/opengl-driver/share/glvnd/egl_vendor.d",
}

// examineUnusedGPU reports a GPU that the kernel below root has where none is used.
func (r *Report) examineUnusedGPU(root string) {
	node, missing, fix := unusedNVIDIA(root)
	if node == "" {
		node, missing, fix = unusedMesa(root)
	}
	if node != "" {
		r.wrong(driverCheck, fix, "the GPU of %s is not used: %s", node, missing)
	}
}

func unusedNVIDIA(root string) (node, missing, fix string) {
	nodes, _ := filepath.Glob(filepath.Join(root, "dev/nvidia[0-9]*"))
	if len(nodes) == 0 {
		return "", "", ""
	}
	const grant = "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility ..."
	if file := nvidiaVendor(root, eglVendors); file != "" {
		if missing, fix := setVariable("__EGL_VENDOR_LIBRARY_FILENAMES", "__EGL_VENDOR_LIBRARY_DIRS"); fix != "" {
			return nodes[0], missing, fix
		}
		return nodes[0], fmt.Sprintf("%s is there, and libEGL_nvidia.so.0 is missing or of another version than the kernel's driver", file), grant
	}
	missing = "10_nvidia.json is missing in /" + strings.Join(eglVendors, " and /")
	if file := nvidiaVendor(root, eglVendorsElsewhere); file != "" {
		return nodes[0], missing, "export __EGL_VENDOR_LIBRARY_FILENAMES=" + quoted(file)
	}
	return nodes[0], missing, grant
}

// nvidiaVendor returns the file that names NVIDIA's driver, or "".
func nvidiaVendor(root string, folders []string) string {
	for _, folder := range folders {
		files, _ := filepath.Glob(filepath.Join(root, folder, "*.json"))
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "libEGL_nvidia") {
				return file
			}
		}
	}
	return ""
}

// mesaDrivers are those of Mesa, by the kernel's driver of a node.
var mesaDrivers = map[string]string{"amdgpu": "radeonsi", "i915": "iris", "xe": "iris", "nouveau": "nouveau"}

func unusedMesa(root string) (node, missing, fix string) {
	nodes, _ := filepath.Glob(filepath.Join(root, "dev/dri/renderD*"))
	for _, node := range nodes {
		link, _ := os.Readlink(filepath.Join(root, "sys/class/drm", filepath.Base(node), "device/driver"))
		driver := mesaDrivers[filepath.Base(link)]
		if driver == "" {
			continue // a display of a virtual machine
		}
		if err := unix.Access(node, unix.R_OK|unix.W_OK); err != nil {
			return node, "this user may not open it", "sudo usermod -aG render $USER, or docker run --device /dev/dri --group-add $(stat -c %g " + quoted(node) + ") ..."
		}
		if missing, fix := setVariable("LIBGL_ALWAYS_SOFTWARE", "GALLIUM_DRIVER", "MESA_LOADER_DRIVER_OVERRIDE", "__EGL_VENDOR_LIBRARY_FILENAMES"); fix != "" {
			return node, missing, fix
		}
		return node, "Mesa's driver " + driver + "_dri.so is missing or too old for it", "sudo apt-get install libgl1-mesa-dri libegl-mesa0"
	}
	return "", "", ""
}

// setVariable returns the first variable that is set and chooses a driver, and what takes it back.
func setVariable(names ...string) (missing, fix string) {
	for _, name := range names {
		if value, set := os.LookupEnv(name); set {
			return name + "=" + value, "unset " + name
		}
	}
	return "", ""
}
