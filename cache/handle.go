package cache

import (
	"fmt"
	"sync/atomic"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// Handle is the right to use one resident program. Until it is released the
// program stays linked and primed under the same id. A handle may be used and
// released on any goroutine; it must not be copied. Every method but Release
// panics after Release, and on a handle that Get did not return.
type Handle struct {
	share    *share
	origin   job.Origin
	released atomic.Bool
}

// take makes h a handle to a resident program, counted in s already.
func (h *Handle) take(s *share) *Handle {
	h.share, h.origin = s, job.Resident
	return h
}

// Program returns the GL program name, for use on the GL thread.
func (h *Handle) Program() uint32 { return h.entry().program.ID }

// Name returns the name of the source that the program was made from.
func (h *Handle) Name() string { return h.entry().name }

// Key returns the key that identifies the program.
func (h *Handle) Key() shader.Key { return h.entry().key }

// Interface returns the resources and the work group size of the program. The
// resources are shared: do not change them.
func (h *Handle) Interface() shader.Interface { return h.entry().program.Interface }

// WorkGroup returns the size of a work group in x, y and z.
func (h *Handle) WorkGroup() [3]uint32 { return h.entry().program.Interface.WorkGroup }

// Origin returns where the program came from when Get returned this handle.
func (h *Handle) Origin() job.Origin {
	h.entry()
	return h.origin
}

// Retain returns a second handle to the same program, to be released separately.
func (h *Handle) Retain() *Handle {
	second := new(Handle)
	h.RetainInto(second)
	return second
}

// RetainInto is Retain without an allocation: it makes dst, which is zero or
// released, the second handle. It panics when dst has a program.
func (h *Handle) RetainInto(dst *Handle) {
	h.entry()
	if dst.share != nil && !dst.released.Load() {
		panic("cache: RetainInto was given a handle that is in use")
	}
	if !h.share.retain() {
		panic("cache: Retain or RetainInto ran while the handle was being released")
	}
	dst.share, dst.origin = h.share, h.origin
	dst.released.Store(false)
}

// Release releases the program. It never blocks and touches neither GL nor the
// disk. Releasing again, also from several goroutines at once, does nothing; nor
// does releasing a nil handle, which Get returned with an error.
func (h *Handle) Release() {
	if h != nil && h.share != nil && !h.released.Swap(true) {
		h.share.release()
	}
}

// CheckHandle returns the error of a job that has h as its program, and nil where it is a
// handle of c: job.ErrReleased, or job.ErrInvalid for one of another cache.
func (c *Cache) CheckHandle(h *Handle) error {
	switch {
	case h == nil || h.share == nil:
		return job.Foreign(nil)
	case h.released.Load():
		return fmt.Errorf("program %s: %w", h.share.entry.name, job.ErrReleased)
	case h.share.entry.clock != c.clock:
		return job.Foreign(h)
	}
	return nil
}

func (h *Handle) entry() *entry {
	switch {
	case h == nil || h.share == nil:
		panic("cache: the handle has no program: did Get return an error?")
	case h.released.Load():
		panic("cache: the handle was used after Release")
	}
	return h.share.entry
}
