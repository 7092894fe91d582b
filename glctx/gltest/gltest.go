//go:build linux

// Package gltest opens OpenGL contexts for tests.
package gltest

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx"
)

// RequireGL is the environment variable that makes tests without a driver fail instead
// of being skipped. Continuous integration sets it.
const RequireGL = "SHADERCACHE_REQUIRE_GL"

// NoResults is the environment variable for drivers that execute nothing: tests do not look
// at what kernels wrote. scripts/drivers sets it.
const NoResults = "SHADERCACHE_TEST_NO_RESULTS"

// driverDir has the driver's cache of all contexts of tests. It stays, as Go's build cache
// does: making machine code is most of what tests with a driver take.
var driverDir = keptDir()

func keptDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "shadercache-tests")
}

// Main runs a package's tests with an empty default cache directory, so that no test uses
// the user's. Packages that use Open call it from TestMain.
func Main(m *testing.M) { os.Exit(InCacheDir(m.Run)) }

// TestDevices is the environment variable with the devices of tests of several, by index or
// UUID, with commas between them. Default: the first device.
const TestDevices = "SHADERCACHE_TEST_DEVICES"

// Devices returns the names of n devices for a test, those of TestDevices in turn: contexts
// on one device stand for several where there is one.
func Devices(n int) []string {
	names := strings.Split(cmp.Or(os.Getenv(TestDevices), "0"), ",")
	list := make([]string, n)
	for i := range list {
		list[i] = names[i%len(names)]
	}
	return list
}

// Open opens a headless context whose driver cache is that of tests, and closes it when
// the test ends. Without a driver the test is skipped, or fails if
// SHADERCACHE_REQUIRE_GL is set.
func Open(t testing.TB) *glctx.Context {
	t.Helper()
	return OpenWith(t, glctx.Options{})
}

// OpenWith is Open with options. The default of CacheDir is that of tests;
// a cache over the context may have another directory then.
func OpenWith(t testing.TB, o glctx.Options) *glctx.Context {
	t.Helper()
	if o.CacheDir == "" {
		glctx.ManageDriverCache(glctx.Options{CacheDir: driverDir})
		o.DriverCacheOff = true // as it is then
	}
	c, err := glctx.Open(o)
	if err != nil {
		if os.Getenv(RequireGL) != "" {
			t.Fatalf("%s is set and there is no OpenGL: %v", RequireGL, err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if n := c.Counters(); n.Buffers != 0 || n.Textures != 0 || n.Samplers != 0 {
			t.Errorf("%d buffers, %d textures and %d samplers were left in the context", n.Buffers, n.Textures, n.Samplers)
		}
	})
	return c
}
