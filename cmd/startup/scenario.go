package startup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The scenarios, each in a process and a cache directory of its own. An empty cache is
// an empty directory, not a disabled cache.
const (
	Cold       = "cold"        // no program binaries, the driver's own cache is empty
	BinaryOnly = "binary_only" // program binaries, the driver's own cache is empty
	DriverOnly = "driver_only" // no program binaries, the driver's own cache is warm
	Both       = "both"        // program binaries, the driver's own cache is warm

	// Upstream has no directory of its own that it can use, and a read-only one with both
	// layers: a private place is made and filled. It is reported where it is asked for.
	Upstream = "upstream"

	// Of a run with a remote. Both caches are empty when Remote begins.
	Remote     = "remote"      // a remote has what a cold start left
	RemoteNext = "remote_next" // the next start in the same directory
)

// Scenarios are the names of the scenarios that are usually reported, in their order.
var Scenarios = []string{Cold, BinaryOnly, DriverOnly, Both}

// FleetScenarios are those of a run with a remote.
var FleetScenarios = []string{Cold, Both, Remote, RemoteNext}

// allScenarios are the names of all, in the order of the report.
var allScenarios = []string{Cold, BinaryOnly, DriverOnly, Both, Upstream, Remote, RemoteNext}

// isFleet reports whether a scenario starts with a remote.
func isFleet(scenario string) bool { return scenario == Remote || scenario == RemoteNext }

// compilesAll reports whether a scenario has no program binaries to load, so that
// every program is compiled. In the others none is, but for one whose remote was late.
func compilesAll(scenario string) bool { return scenario == Cold || scenario == DriverOnly }

// driverFolder is where a cache directory has the driver's own cache.
const driverFolder = "driver"

// prepareScenario makes the directory own of a scenario from what a cold start left in
// filled.
func prepareScenario(scenario, filled, own string) error {
	if err := os.MkdirAll(own, 0o700); err != nil {
		return err
	}
	if scenario == Cold || isFleet(scenario) {
		return nil
	}
	if scenario == Upstream {
		return copyReadOnly(filled, filepath.Join(own, imageFolder))
	}
	entries, err := os.ReadDir(filled)
	if err != nil {
		return err
	}
	for _, e := range entries {
		isDriver := e.Name() == driverFolder
		if !e.IsDir() || isDriver && scenario == BinaryOnly || !isDriver && scenario == DriverOnly {
			continue
		}
		if err := CopyPrivately(filepath.Join(filled, e.Name()), filepath.Join(own, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// CopyPrivately copies a folder to one that only the user may read.
func CopyPrivately(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return os.Chmod(to, 0o700)
}

// The folders of Upstream's directory: the read-only one, and the one in which the private
// place is made.
const (
	imageFolder   = "image"
	runtimeFolder = "runtime"
)

// copyReadOnly copies a folder to one that no user can write, where modes decide that.
func copyReadOnly(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(filepath.Dir(to), runtimeFolder), 0o700); err != nil {
		return err
	}
	return chmodAll(to, 0o555, 0o444)
}

// chmodAll sets the modes of folders and files.
func chmodAll(below string, folders, files os.FileMode) error {
	return filepath.WalkDir(below, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.Chmod(path, folders)
		case e.Type().IsRegular():
			return os.Chmod(path, files)
		}
		return nil
	})
}

// upstreamEnvironment returns the environment of a process with Upstream's directory own
// that has no home, and nothing to write but a runtime directory.
func upstreamEnvironment(environment []string, own string) []string {
	environment = slices.DeleteFunc(environment, func(setting string) bool {
		return strings.HasPrefix(setting, "HOME=") || strings.HasPrefix(setting, "XDG_")
	})
	return append(environment,
		"SHADERCACHE_UPSTREAM="+filepath.Join(own, imageFolder), "XDG_RUNTIME_DIR="+filepath.Join(own, runtimeFolder))
}

// ScenarioEnvironment returns the environment without settings of the driver's own
// cache, of other directories and of a remote, which would override the scenario's.
func ScenarioEnvironment(environment []string) []string {
	return slices.DeleteFunc(environment, func(setting string) bool {
		for _, prefix := range []string{"__GL_SHADER_DISK_CACHE", "MESA_SHADER_CACHE_", "MESA_GLSL_CACHE_", "MESA_DISK_CACHE_",
			"SHADERCACHE_DIR=", "SHADERCACHE_UPSTREAM=", "SHADERCACHE_REMOTE"} {
			if strings.HasPrefix(setting, prefix) {
				return true
			}
		}
		return false
	})
}
