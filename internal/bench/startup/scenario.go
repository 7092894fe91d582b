package startup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/internal/cli"
)

// The scenarios, each in a process and a cache directory of its own. An empty cache is
// an empty directory, not a disabled cache.
const (
	Cold       = "cold"        // no program binaries, the driver's own cache is empty
	BinaryOnly = "binary_only" // program binaries, the driver's own cache is empty
	DriverOnly = "driver_only" // no program binaries, the driver's own cache is warm
	Both       = "both"        // program binaries, the driver's own cache is warm

	// Of a run with a remote. Both caches are empty when Remote begins.
	Remote     = "remote"      // a remote has what a cold start left
	RemoteNext = "remote_next" // the next start in the same directory
)

// Scenarios are the names of the scenarios without a remote, in the order of the report.
var Scenarios = []string{Cold, BinaryOnly, DriverOnly, Both}

// FleetScenarios are those of a run with a remote.
var FleetScenarios = []string{Cold, Both, Remote, RemoteNext}

// allScenarios are the names of all, in the order of the report.
var allScenarios = []string{Cold, BinaryOnly, DriverOnly, Both, Remote, RemoteNext}

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
	entries, err := os.ReadDir(filled)
	if err != nil {
		return err
	}
	for _, e := range entries {
		isDriver := e.Name() == driverFolder
		if !e.IsDir() || isDriver && scenario == BinaryOnly || !isDriver && scenario == DriverOnly {
			continue
		}
		if err := copyPrivately(filepath.Join(filled, e.Name()), filepath.Join(own, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyPrivately copies a folder to one that only the user may read.
func copyPrivately(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return os.Chmod(to, 0o700)
}

// driverCacheState returns what the driver's own cache in dir holds.
func driverCacheState(dir string) string {
	bytes := drivercache.Bytes(filepath.Join(dir, driverFolder))
	if bytes == 0 {
		return "empty"
	}
	return "warm, " + cli.ReadableBytes(bytes)
}

// scenarioEnvironment returns the environment without settings of the driver's own cache
// and of a remote, which would override the scenario's.
func scenarioEnvironment(environment []string) []string {
	return slices.DeleteFunc(environment, func(setting string) bool {
		for _, prefix := range []string{"__GL_SHADER_DISK_CACHE", "MESA_SHADER_CACHE_", "MESA_GLSL_CACHE_", "MESA_DISK_CACHE_", "SHADERCACHE_REMOTE"} {
			if strings.HasPrefix(setting, prefix) {
				return true
			}
		}
		return false
	})
}
