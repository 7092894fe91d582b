package cache_test

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/drivercache"
)

// managedDevice is a device with a driver cache in this state.
type managedDevice struct {
	*cachetest.Device
	state drivercache.State
}

func (d managedDevice) DriverCache() drivercache.State { return d.state }

func TestBothLayersAreInOneDirectory(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	at := func(dir string) drivercache.State {
		return drivercache.State{Managed: true, Dir: filepath.Join(dir, "driver")}
	}
	left := at(other)
	left.Off = true
	for name, c := range map[string]struct {
		state    drivercache.State
		options  cache.Options
		apart    bool
		warnings int
	}{
		"one directory":          {at(dir), cache.Options{Dir: dir}, false, 0},
		"two directories":        {at(other), cache.Options{Dir: dir}, true, 0},
		"the driver's left off":  {left, cache.Options{Dir: dir}, false, 0},
		"memory only":            {at(other), cache.Options{Dir: dir, MemoryOnly: true}, false, 0},
		"a store of its own":     {at(other), cache.Options{Store: cachetest.NewStore()}, false, 0},
		"not managed":            {drivercache.State{Reason: "libEGL was loaded before"}, cache.Options{Dir: dir}, false, 1},
		"a full volume":          {drivercache.State{Reason: "the volume is full", Full: true}, cache.Options{Dir: dir}, false, 0},
		"chosen not to":          {drivercache.State{Reason: "turned off", Off: true}, cache.Options{Dir: dir}, false, 0},
		"a device without one":   {drivercache.State{}, cache.Options{Dir: dir}, false, 0},
		"memory and not managed": {drivercache.State{Reason: "no directory"}, cache.Options{MemoryOnly: true}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			c.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
			programs, err := cache.New(managedDevice{cachetest.NewDevice(), c.state}, c.options)
			if errors.Is(err, cache.ErrApart) != c.apart {
				t.Fatalf("New: %v", err)
			}
			if c.apart && !(strings.Contains(err.Error(), dir) && strings.Contains(err.Error(), other) && strings.Contains(err.Error(), "shadercache.Options.Dir")) {
				t.Errorf("the error lacks a directory or the hint: %v", err)
			}
			if err == nil {
				if err := programs.Close(); err != nil {
					t.Error(err)
				}
			}
			if n := strings.Count(log.String(), "level=WARN"); n != c.warnings {
				t.Errorf("%d warnings, want %d:\n%s", n, c.warnings, &log)
			}
		})
	}
}
