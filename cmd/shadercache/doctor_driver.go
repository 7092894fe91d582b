package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/cli"
)

// lowDriverCache is the least that a driver's own cache should be allowed: at
// 22 KB a program some thousands.
const lowDriverCache = 128 << 20

const driverCacheCheck = "driver_cache"

// driverCacheEnvironment looks for settings that take the driver's own cache
// away or make it useless.
func driverCacheEnvironment() (found []finding) {
	wrong := func(variable, value, detail string) {
		found = append(found, finding{driverCacheCheck, levelWrong, variable + "=" + value + " " + detail, "unset " + variable})
	}
	if v, set := os.LookupEnv("__GL_SHADER_DISK_CACHE"); set && v == "0" {
		wrong("__GL_SHADER_DISK_CACHE", v, "turns the driver's own cache off")
	}
	for _, name := range []string{"MESA_SHADER_CACHE_DISABLE", "MESA_GLSL_CACHE_DISABLE"} {
		switch v := os.Getenv(name); strings.ToLower(v) {
		case "1", "true", "y", "yes":
			wrong(name, v, "turns the driver's own cache off, and program binaries with it")
		}
	}
	for _, name := range []string{"__GL_SHADER_DISK_CACHE_SIZE", "MESA_SHADER_CACHE_MAX_SIZE", "MESA_GLSL_CACHE_MAX_SIZE"} {
		v, set := os.LookupEnv(name)
		if bytes, ok := cacheSize(name, v); set && ok && bytes < lowDriverCache {
			wrong(name, v, "is too small: the driver throws away what it needs again")
		}
	}
	return found
}

// cacheSize reads the size that a variable sets. NVIDIA counts in bytes; Mesa
// takes K, M or G, and a number alone is G.
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

// examineDriverCache says where the driver's own cache is. explained is true
// when a setting that was found already says why it is not well.
func (r *doctorResult) examineDriverCache(state drivercache.State, wanted, explained bool) {
	switch {
	case !wanted:
		r.note(driverCacheCheck, "shadercache --driver-cache on doctor", "left alone, as --driver-cache off asks: every program costs its first dispatch again")
	case !state.Managed && strings.Contains(state.Reason, "was loaded before"):
		r.wrong(driverCacheCheck, "unset LD_PRELOAD", "%s", state)
	case !state.Managed:
		r.wrong(driverCacheCheck, r.mendDirectory(), "%s", state)
	case state.Reason != "" && !explained:
		r.wrong(driverCacheCheck, "unset "+strings.Join(settingNames(keptSettings(state)), " "), "not kept in the cache directory: %s", state.Reason)
	case state.Reason == "":
		r.good(driverCacheCheck, "%s", state)
	}
}

// mendDirectory mends the directory, which is why the driver's cache is not in it.
func (r *doctorResult) mendDirectory() string {
	for _, f := range r.Findings {
		if f.Check == "directory" && f.Level == levelWrong {
			return f.Mend
		}
	}
	return anywhere
}

// maxSlotFindings bounds how many slots are named.
const maxSlotFindings = 10

// examineSlots names the slots of NVIDIA's driver that are never merged, so that
// no start finds what they hold.
func (r *doctorResult) examineSlots(driver string) {
	alone, err := nvidia.Survey(driver)
	if err != nil {
		r.wrong(driverCacheCheck, "rm -r "+quoted(filepath.Join(driver, nvidia.Folder)), "%v", err)
	}
	for _, slot := range alone[:min(len(alone), maxSlotFindings)] {
		name := filepath.Join(driver, filepath.FromSlash(slot.Slot))
		r.wrong(driverCacheCheck, "rm -rf "+quoted(name+".bin")+" "+quoted(name+".toc"),
			"the driver's slot %s cannot be merged: %s", slot.Slot, slot.Reason)
	}
	if more := len(alone) - maxSlotFindings; more > 0 {
		r.wrong(driverCacheCheck, "rm -r "+quoted(filepath.Join(driver, nvidia.Folder)), "%s more cannot be merged", cli.Plural(more, "slot"))
	}
}

// settingNames are the names of NAME=VALUE.
func settingNames(settings []string) (names []string) {
	for _, s := range settings {
		name, _, _ := strings.Cut(s, "=")
		names = append(names, name)
	}
	return names
}

// mendDriver is a command that may bring a driver.
func mendDriver(err error) string {
	switch {
	case errors.Is(err, glctx.ErrNoDevice):
		return "shadercache --device '' doctor"
	case errors.Is(err, glctx.ErrTooOld):
		return "sudo apt-get install --only-upgrade libegl-mesa0 libgl1-mesa-dri"
	}
	return "sudo apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri"
}

// mendFormats brings program binaries back where a setting took them away.
func mendFormats(environment []finding) string {
	for _, f := range environment {
		if strings.Contains(f.Detail, "program binaries") {
			return f.Mend
		}
	}
	return "sudo apt-get install --only-upgrade libegl-mesa0 libgl1-mesa-dri"
}
