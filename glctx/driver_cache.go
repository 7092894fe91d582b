//go:build linux

package glctx

import (
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
)

// DriverCache reports whether the driver's own cache is managed, and if not, why.
func (c *Context) DriverCache() drivercache.State { return c.driver }

// DriverCacheState returns DriverCache in words.
func (c *Context) DriverCacheState() string { return c.driver.String() }

// ManageDriverCache points the driver's own cache at the cache directory, if no
// driver was loaded yet: see [drivercache.Manage]. Open calls it. A program that makes
// its context by other means calls it before that, and Adopt afterwards. It may be
// called from any goroutine and never fails: the state says what happened.
func ManageDriverCache(o Options) drivercache.State {
	if o.DriverCacheOff {
		if state, managed := drivercache.Managed(); managed {
			return state
		}
		return drivercache.State{Reason: "turned off"}
	}
	dir, err := driverDir(o.CacheDir)
	if err != nil {
		return drivercache.State{Reason: err.Error()}
	}
	return drivercache.Manage(dir)
}

func driverDir(cacheDir string) (string, error) {
	if cacheDir == "" {
		var err error
		if cacheDir, err = binary.DefaultDir(); err != nil {
			return "", err
		}
	}
	dir, err := binary.OpenDir(cacheDir)
	if err != nil {
		return "", err
	}
	return dir.DriverDir(), nil
}
