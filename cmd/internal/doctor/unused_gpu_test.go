package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rootWith makes a tree with files, and links where the text begins with ->.
func rootWith(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		make := func() error { return os.WriteFile(path, []byte(text), 0o600) }
		if to, isLink := strings.CutPrefix(text, "->"); isLink {
			make = func() error { return os.Symlink(to, path) }
		}
		if err := make(); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestUnusedGPU has machines on which a software driver was used.
func TestUnusedGPU(t *testing.T) {
	const nvidia, mesa = `{"ICD": {"library_path": "libEGL_nvidia.so.0"}}`, `{"ICD": {"library_path": "libEGL_mesa.so.0"}}`
	const render, kernel = "dev/dri/renderD128", "sys/class/drm/renderD128/device/driver"
	for _, name := range []string{"__EGL_VENDOR_LIBRARY_FILENAMES", "__EGL_VENDOR_LIBRARY_DIRS", "GALLIUM_DRIVER", "LIBGL_ALWAYS_SOFTWARE", "MESA_LOADER_DRIVER_OVERRIDE"} {
		t.Setenv(name, "")
		_ = os.Unsetenv(name)
	}
	for name, c := range map[string]struct {
		files       map[string]string
		detail, fix string // "" for no finding
	}{
		"no GPU":               {map[string]string{"usr/share/glvnd/egl_vendor.d/50_mesa.json": mesa}, "", ""},
		"no file of NVIDIA":    {map[string]string{"dev/nvidia0": "", "usr/share/glvnd/egl_vendor.d/50_mesa.json": mesa}, "10_nvidia.json is missing in /etc/glvnd/egl_vendor.d", "NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility"},
		"the file elsewhere":   {map[string]string{"dev/nvidia3": "", "usr/local/nvidia/share/glvnd/egl_vendor.d/10_nvidia.json": nvidia}, "dev/nvidia3 is not used: 10_nvidia.json is missing", "export __EGL_VENDOR_LIBRARY_FILENAMES="},
		"no library of NVIDIA": {map[string]string{"dev/nvidia0": "", "etc/glvnd/egl_vendor.d/10_nvidia.json": nvidia}, "libEGL_nvidia.so.0 is missing or of another version", "docker run --gpus all"},
		"no driver of Mesa":    {map[string]string{render: "", kernel: "->../../drivers/amdgpu"}, "radeonsi_dri.so is missing", "libgl1-mesa-dri"},
		"a virtual display":    {map[string]string{render: "", kernel: "->../../drivers/virtio_gpu"}, "", ""},
		"no right to open it":  {map[string]string{render: "->nowhere", kernel: "->../../drivers/xe"}, "this user may not open it", "usermod -aG render"},
	} {
		r := &Report{}
		r.examineUnusedGPU(rootWith(t, c.files))
		if len(r.Findings) == 0 && c.detail == "" {
			continue
		}
		if len(r.Findings) != 1 || c.detail == "" || !strings.Contains(r.Findings[0].Detail, c.detail) || !strings.Contains(r.Findings[0].Fix, c.fix) {
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
	t.Setenv("GALLIUM_DRIVER", "llvmpipe")
	r := &Report{}
	r.examineUnusedGPU(rootWith(t, map[string]string{render: "", kernel: "->../../drivers/i915"}))
	if len(r.Findings) != 1 || r.Findings[0].Fix != "unset GALLIUM_DRIVER" {
		t.Errorf("%+v", r.Findings)
	}
	t.Setenv("__EGL_VENDOR_LIBRARY_FILENAMES", "/nowhere")
	r = &Report{}
	r.examineUnusedGPU(rootWith(t, map[string]string{"dev/nvidia0": "", "usr/share/glvnd/egl_vendor.d/10_nvidia.json": nvidia}))
	if len(r.Findings) != 1 || r.Findings[0].Fix != "unset __EGL_VENDOR_LIBRARY_FILENAMES" {
		t.Errorf("%+v", r.Findings)
	}
}
