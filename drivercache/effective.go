package drivercache

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/drivercache/nvidia"
)

// Effective returns the state as it is for one driver, by its GL_VENDOR and GL_VERSION.
// [Manage] cannot distinguish drivers, because it has to be called before one is
// loaded. Variables that the user set for this driver and that turn its cache off, or
// put it elsewhere, end Managed; those for other drivers are left out of Reason.
func (s State) Effective(vendor, version string) State {
	if !s.Managed {
		return s
	}
	d := driverOf(vendor, version)
	var settings []string
	for _, setting := range s.UserSettings() {
		if d.prefix == "" || strings.HasPrefix(setting, d.prefix) {
			settings = append(settings, setting)
		}
	}
	s.Reason = ""
	if off := d.turnedOff(); off != "" {
		return State{Off: s.Off, Reason: userSettings + off}
	}
	if len(settings) > 0 {
		s.Reason = userSettings + strings.Join(settings, ", ")
	}
	for _, setting := range settings {
		if name, value, _ := strings.Cut(setting, "="); name == d.place {
			s.Managed, s.Dir = false, value
		}
	}
	return s
}

// driver has the variables that decide where a driver's cache is. The zero value is a
// driver that this package does not know.
type driver struct {
	folder string   // of its cache below a directory of drivers' caches
	prefix string   // of all its variables
	place  string   // the variable with the directory
	off    []string // variables that turn the cache off
	isOff  func(value string) bool
}

// driverOf returns the driver with these GL strings.
func driverOf(vendor, version string) driver {
	if strings.HasPrefix(vendor, "NVIDIA") {
		return driver{
			folder: nvidia.Folder, prefix: "__GL_", place: "__GL_SHADER_DISK_CACHE_PATH",
			off: []string{"__GL_SHADER_DISK_CACHE"}, isOff: func(v string) bool { return v == "0" },
		}
	}
	_, release, isMesa := strings.Cut(version, "Mesa ")
	if !isMesa {
		return driver{}
	}
	d := driver{
		folder: mesa.Folder, prefix: "MESA_", place: "MESA_SHADER_CACHE_DIR",
		off: []string{"MESA_SHADER_CACHE_DISABLE", "MESA_GLSL_CACHE_DISABLE"}, isOff: mesaBool,
	}
	major, _, _ := strings.Cut(release, ".")
	if n, err := strconv.Atoi(major); err == nil && n < 22 {
		d.place = "MESA_GLSL_CACHE_DIR" // the only one that it reads
	}
	return d
}

// turnedOff returns the setting that turns the cache off, as NAME=VALUE, or "".
func (d driver) turnedOff() string {
	for _, name := range d.off {
		if value := os.Getenv(name); d.isOff(value) {
			return name + "=" + value
		}
	}
	return ""
}

// mesaBool reports whether Mesa takes a value for true.
func mesaBool(value string) bool {
	return slices.Contains([]string{"1", "true", "y", "yes"}, strings.ToLower(value))
}
