package cache

import (
	"context"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/trace"
)

// beforeFirst is what the first request waits for.
type beforeFirst struct {
	filled chan struct{} // closed when fillDriverCache returned; nil: there is nothing to fill

	start func() (ended chan struct{}) // starts Options.BeforeFirst, once; ended is closed when it returned
}

// startFilling has the driver's own cache filled from upstream directories. It is called
// by New.
func (c *Cache) startFilling(upstream []*binary.Dir) {
	driver := c.dev.DriverCache()
	if len(upstream) == 0 || !driver.Managed || driver.Off {
		return
	}
	c.first.filled = make(chan struct{})
	c.background.Go(func() {
		defer close(c.first.filled)
		c.fillDriverCache(upstream)
	})
}

// fillDriverCache copies into the driver's own cache what it can use of upstream
// directories. What fails costs the compile of machine code.
func (c *Cache) fillDriverCache(upstream []*binary.Dir) {
	f := c.dev.Fingerprint()
	folder := drivercache.FolderOf(f.Vendor, f.Version)
	for _, dir := range upstream {
		r, err := drivercache.Fill(dir.DriverDir(), folder)
		if err != nil {
			c.log.Warn("machine code of the upstream directory was not copied, or not all of it", "directory", dir.Path(), "error", err)
		}
		if r.LeftOut > 0 {
			c.log.Warn("machine code of the upstream directory was left out for lack of space", "directory", dir.Path(), "bytes", r.LeftOut)
		}
		if r.Files > 0 {
			c.log.Info("machine code of the upstream directory was copied", "directory", dir.Path(), "files", r.Files, "bytes", r.Bytes)
		}
	}
}

// awaitBeforeFirst starts Options.BeforeFirst, if no request did before, and waits until
// it has returned and the driver's own cache is filled, or until ctx ends. Every request
// calls it before it looks for a program that is not resident, without a lock.
func (c *Cache) awaitBeforeFirst(ctx context.Context, request *trace.Region) error {
	f := &c.first
	if c.options.BeforeFirst != nil {
		region := request.Begin(trace.BeforeFirst)
		defer region.End()
		if err := c.await(ctx, f.start()); err != nil {
			return err
		}
	}
	if f.filled != nil {
		return c.await(ctx, f.filled)
	}
	return nil
}

func (c *Cache) startBeforeFirst() (ended chan struct{}) {
	ended = make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		close(ended) // the request fails by itself
		return ended
	}
	c.background.Go(func() {
		defer close(ended)
		c.options.BeforeFirst()
	})
	return ended
}
