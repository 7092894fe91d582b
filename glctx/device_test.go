package glctx

import (
	"os"
	"path/filepath"
	"testing"
)

// writeFiles makes files with contents, and links where a name ends in @.
func writeFiles(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if link := len(name) - 1; name[link] == '@' {
			err = os.Symlink(text, path[:len(path)-1])
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The PCI address of a device comes from its node, else from its UUID, and its NUMA node
// from the address.
func TestDevicesAreLocated(t *testing.T) {
	root := t.TempDir()
	const uuid = "0123456789abcdef0123456789abcdef"
	writeFiles(t, root, map[string]string{
		"sys/class/drm/card1/device@":                        "../../../0000:17:00.0",
		"sys/class/drm/card2/device@":                        "../../../virtual",
		"sys/bus/pci/devices/0000:17:00.0/numa_node":         "1\n",
		"sys/bus/pci/devices/0000:2a:00.0/numa_node":         "-1\n",
		"proc/driver/nvidia/gpus/0000:2a:00.0/information":   "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-01234567-89ab-cdef-0123-456789abcdef\n",
		"proc/driver/nvidia/gpus/not an address/information": "GPU UUID: GPU-ffffffff-ffff-ffff-ffff-ffffffffffff\n",
	})
	for _, c := range []struct {
		d    Device
		pci  string
		numa int
	}{
		{Device{Node: "/dev/dri/card1"}, "0000:17:00.0", 1},
		{Device{Node: "/dev/dri/card2"}, "", -1},
		{Device{Node: "/dev/dri/card3", UUID: uuid}, "0000:2a:00.0", -1},
		{Device{UUID: uuid}, "0000:2a:00.0", -1},
		{Device{UUID: "ffffffffffffffffffffffffffffffff"}, "", -1},
		{Device{}, "", -1},
	} {
		got := c.d
		if got.locate(root); got.PCI != c.pci || got.NUMA != c.numa {
			t.Errorf("%+v: PCI %q, NUMA %d, want %q and %d", c.d, got.PCI, got.NUMA, c.pci, c.numa)
		}
	}
}
