package glctx

import (
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
)

// DriverCache reports whether the driver's own cache is managed, and if not, why. It
// takes account of variables that the user set for this driver.
func (c *Context) DriverCache() drivercache.State { return c.driver }

// SettleDriverCache waits until the driver has written its own cache, so that
// shader.Program.MachineCode is complete: see [drivercache.Settle].
func (c *Context) SettleDriverCache() { drivercache.Settle() }

// ManageDriverCache puts the driver's own cache into the cache directory, if no driver
// is loaded yet: see [drivercache.Manage]. Open calls it. A program that makes its own
// context calls it before that, and Adopt afterwards. It may be called from any
// goroutine. The state has the reason where the cache cannot be managed.
func ManageDriverCache(o Options) drivercache.State {
	if o.DriverCacheOff {
		state, managed := drivercache.Managed()
		if !managed {
			state.Reason = "turned off"
		}
		state.Off = true
		return state
	}
	l := o.place().Open()
	if l.Dir == nil {
		return drivercache.State{Reason: l.Err.Error()}
	}
	return drivercache.Manage(l.Dir.DriverDir())
}

// place returns the place of the cache directory.
func (o Options) place() binary.Place {
	return binary.Place{Dir: o.CacheDir, Upstream: o.Upstream, Filled: o.Filled}
}
