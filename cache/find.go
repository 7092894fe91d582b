package cache

import (
	"errors"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/trace"
)

// found is a binary and where it was; zero: there is none.
type found struct {
	blob   *binary.Blob
	origin job.Origin
}

// find looks for the binary of a program that may be loaded: in memory, where those of
// evicted programs are kept, then in the store, which has the directory and behind it the
// upstream one. A pack that a fleet shares is in the directory by now: see
// Options.BeforeFirst. request is the region of the load.
func (c *Cache) find(f *flight, request *trace.Region) found {
	region := request.Begin(trace.ReadBlob)
	var b found
	if f.answer.may == mayLoad {
		b = c.findBlob(f)
	}
	switch {
	case !region.IsOn():
		region.End()
	case b.blob == nil:
		region.End(trace.String("origin", "none"))
	default:
		region.End(trace.String("origin", b.origin.String()), trace.Int("bytes", int64(len(b.blob.Payload))),
			trace.Bool("upstream", b.blob.Upstream))
	}
	return b
}

// findBlob is find without tracing. A store that fails or has damaged bytes is a miss.
func (c *Cache) findBlob(f *flight) found {
	c.mu.Lock()
	blob := c.mu.evicted.find(f.src.Key())
	stays, wrong := c.mu.wrong[f.src.Key()]
	c.mu.Unlock()
	if blob != nil {
		return found{blob, job.Memory}
	}
	blob, err := c.store.Get(f.src.Key())
	switch {
	case err == nil && wrong && (stays || blob.Upstream): // which the store does not reject
	case err == nil:
		return found{blob, job.Disk}
	case errors.Is(err, binary.ErrDamaged):
		f.tally.Damaged++
	case !errors.Is(err, binary.ErrNotFound):
		c.checkStore("reading", err)
	}
	return found{}
}
