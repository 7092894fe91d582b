package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/glctx"
)

// lowDriverCache is the least size for a driver's own cache: at 22 KB a program it holds
// some thousands.
const lowDriverCache = 128 << 20

const driverCacheCheck = "driver_cache"

// environmentFindings returns the settings that turn the driver's own cache off or make
// it too small.
func environmentFindings() (found []Finding) {
	wrong := func(variable, value, detail string) {
		found = append(found, Finding{"", driverCacheCheck, LevelWrong, variable + "=" + value + " " + detail, "unset " + variable})
	}
	if v, set := os.LookupEnv("__GL_SHADER_DISK_CACHE"); set && v == "0" {
		wrong("__GL_SHADER_DISK_CACHE", v, "turns the driver's own cache off")
	}
	for _, name := range []string{"MESA_SHADER_CACHE_DISABLE", "MESA_GLSL_CACHE_DISABLE"} {
		switch v := os.Getenv(name); strings.ToLower(v) {
		case "1", "true", "y", "yes":
			wrong(name, v, "turns the driver's own cache off, and in Mesa 22 program binaries with it")
		}
	}
	for _, name := range []string{"__GL_SHADER_DISK_CACHE_SIZE", "MESA_SHADER_CACHE_MAX_SIZE", "MESA_GLSL_CACHE_MAX_SIZE"} {
		v, set := os.LookupEnv(name)
		if bytes, ok := cacheSize(name, v); set && ok && bytes < lowDriverCache {
			wrong(name, v, "is too small: the driver deletes what it needs again")
		}
	}
	return found
}

// cacheSize returns the size that a variable sets. NVIDIA's are bytes; Mesa's have K, M
// or G, and G where there is none.
func cacheSize(name, value string) (int64, bool) {
	if strings.HasPrefix(name, "MESA_") && value != "" {
		if _, err := strconv.Atoi(value); err == nil {
			value += "G"
		}
	}
	var size cli.ByteSize
	err := size.Set(value)
	return int64(size), err == nil
}

// examineDriverCache reports where the driver's own cache is. enabled is --driver-cache;
// explained is true when another finding has the reason for what is wrong.
func (r *Report) examineDriverCache(state drivercache.State, enabled, explained bool) {
	switch {
	case !enabled:
		r.note(driverCacheCheck, "shadercache --driver-cache on doctor", "not managed, because of --driver-cache off: every program costs its first dispatch again")
	case !state.Managed && strings.Contains(state.Reason, "was loaded before"):
		r.wrong(driverCacheCheck, "unset LD_PRELOAD", "%s", state)
	case len(state.UserSettings()) > 0 && explained:
	case len(state.UserSettings()) > 0:
		r.wrong(driverCacheCheck, "unset "+strings.Join(settingNames(state.UserSettings()), " "), "not in the cache directory: %s", state.Reason)
	case !state.Managed:
		r.wrong(driverCacheCheck, r.directoryFix(), "%s", state)
	default:
		r.good(driverCacheCheck, "%s", state)
	}
}

// directoryFix returns the fix of the directory, which is why the driver's cache is not
// in it.
func (r *Report) directoryFix() string {
	for _, f := range r.Findings {
		if f.Check == directoryCheck && f.Level == LevelWrong {
			return f.Fix
		}
	}
	return anyDirectory
}

// maxSlotFindings bounds the slots that are named.
const maxSlotFindings = 10

// examineSlots names the slots of NVIDIA's driver that cannot be merged, so that no
// start finds what they hold.
func (r *Report) examineSlots(driver string) {
	unmerged, err := nvidia.Snapshots(driver, func(nvidia.Snapshot) error { return nil })
	if err != nil {
		r.wrong(driverCacheCheck, "rm -r "+quoted(filepath.Join(driver, nvidia.Folder)), "%v", err)
	}
	for _, slot := range unmerged[:min(len(unmerged), maxSlotFindings)] {
		name := filepath.Join(driver, filepath.FromSlash(slot.Slot))
		r.wrong(driverCacheCheck, "rm -rf "+quoted(name+".bin")+" "+quoted(name+".toc"),
			"the driver's slot %s cannot be merged: %s", slot.Slot, slot.Reason)
	}
	if more := len(unmerged) - maxSlotFindings; more > 0 {
		r.wrong(driverCacheCheck, "rm -r "+quoted(filepath.Join(driver, nvidia.Folder)), "%s more cannot be merged", cli.Plural(more, "slot"))
	}
}

// settingNames returns the names of settings NAME=VALUE.
func settingNames(settings []string) (names []string) {
	for _, s := range settings {
		name, _, _ := strings.Cut(s, "=")
		names = append(names, name)
	}
	return names
}

// fixDriver returns a command that may install a driver.
func fixDriver(err error) string {
	switch {
	case errors.Is(err, glctx.ErrNoDevice):
		return "shadercache --device '' doctor"
	case errors.Is(err, glctx.ErrTooOld):
		return "sudo apt-get install --only-upgrade libegl-mesa0 libgl1-mesa-dri"
	}
	return "sudo apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri"
}

// fixFormats returns the command that gets program binaries: of a setting that turned
// them off, else an update.
func fixFormats(environment []Finding) string {
	for _, f := range environment {
		if strings.Contains(f.Detail, "program binaries") {
			return f.Fix
		}
	}
	return "sudo apt-get install --only-upgrade libegl-mesa0 libgl1-mesa-dri"
}
