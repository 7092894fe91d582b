package glctx

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Device is a GPU as EGL lists it, without a context. Fields that neither EGL nor the
// system has are "".
type Device struct {
	Index    int    `json:"index"`      // for Options.Device; -1: the one that is used without it
	UUID     string `json:"uuid"`       // 32 hexadecimal digits; "" where the driver has none
	Name     string `json:"name"`       // of the GPU: EGL_RENDERER_EXT; with a context Info.GPU has it too
	Driver   string `json:"egl_driver"` // of the driver: EGL_DRIVER_NAME_EXT
	Node     string `json:"node"`       // the file below /dev/dri; "" = none
	PCI      string `json:"pci"`        // address: 0000:17:00.0; "" = unknown
	NUMA     int    `json:"numa"`       // node that the GPU is nearest to; -1 where the system has none
	Software bool   `json:"software"`   // kernels run on the CPU
}

// noNUMA is what Linux has for a device that is near no node.
const noNUMA = -1

// Devices returns the GPUs in EGL's order, which is that of Options.Device. No context is
// made, and the driver's own cache is not managed: it has to be before, see
// ManageDriverCache, where this process also makes contexts. It returns ErrNoDriver where
// there is no EGL, and ErrNoDevice where EGL cannot enumerate devices. It may be called
// from any goroutine.
func Devices() ([]Device, error) {
	list, err := listDevices()
	if err != nil {
		return nil, fmt.Errorf("glctx: list devices: %w", err)
	}
	for i := range list {
		list[i].locate("/")
	}
	return list, nil
}

// FindDevice returns the device of a list from Devices with an index or UUID, as
// Options.Device has it. UUIDs are compared without dashes, case and a leading "GPU-". It
// returns ErrNoDevice, wrapped, with the known ones.
func FindDevice(list []Device, name string) (Device, error) {
	if len(list) == 0 {
		return Device{}, fmt.Errorf("%w %q: this EGL cannot list devices; leave the device empty", ErrNoDevice, name)
	}
	if i, err := strconv.Atoi(name); err == nil && len(name) < 4 {
		if i < 0 || i >= len(list) {
			return Device{}, fmt.Errorf("%w %q: there are %d, numbered from 0", ErrNoDevice, name, len(list))
		}
		return list[i], nil
	}
	var known []string
	for _, d := range list {
		if d.UUID != "" && d.UUID == plainUUID(name) {
			return d, nil
		}
		if d.UUID != "" {
			known = append(known, d.UUID)
		}
	}
	if known == nil {
		known = []string{"none"}
	}
	return Device{}, fmt.Errorf("%w %q: give an index below %d or a UUID (known: %s)",
		ErrNoDevice, name, len(list), strings.Join(known, ", "))
}

// locate sets PCI and NUMA from the files of the kernel below root: those of the device's
// node, else those of NVIDIA's driver, which a container has without a node.
func (d *Device) locate(root string) {
	d.NUMA = noNUMA
	if d.Node != "" {
		d.PCI = pciOfNode(root, d.Node)
	}
	if d.PCI == "" && d.UUID != "" {
		d.PCI = pciOfUUID(root, d.UUID)
	}
	if d.PCI == "" {
		return
	}
	text, err := os.ReadFile(filepath.Join(root, "sys/bus/pci/devices", d.PCI, "numa_node"))
	if err != nil {
		return
	}
	if node, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		d.NUMA = node
	}
}

// pciOfNode returns the PCI address of a file below /dev/dri, or "".
func pciOfNode(root, node string) string {
	link, err := os.Readlink(filepath.Join(root, "sys/class/drm", filepath.Base(node), "device"))
	if err != nil {
		return ""
	}
	return pciAddress(filepath.Base(link))
}

// pciOfUUID returns the PCI address of an NVIDIA GPU, or "".
func pciOfUUID(root, uuid string) string {
	files, _ := filepath.Glob(filepath.Join(root, "proc/driver/nvidia/gpus/*/information"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && plainUUID(field(text, "GPU UUID")) == uuid {
			return pciAddress(filepath.Base(filepath.Dir(file)))
		}
	}
	return ""
}

// field returns the value of a line "name: value".
func field(text []byte, name string) string {
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// pciAddress returns text where it is domain:bus:device.function, else "".
func pciAddress(text string) string {
	var domain, bus, device, function int
	n, err := fmt.Sscanf(text, "%04x:%02x:%02x.%x", &domain, &bus, &device, &function)
	if err != nil || n != 4 {
		return ""
	}
	return text
}

// plainUUID returns a UUID in lower case without dashes and a leading "GPU-".
func plainUUID(text string) string {
	return strings.TrimPrefix(strings.ToLower(strings.ReplaceAll(text, "-", "")), "gpu")
}
