package executor

import (
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
)

// handleOf returns the handle of a dispatch's program, nil for none and for another's. It calls
// no method of the interface: then a handle could not live in its caller's frame.
func handleOf(d *job.Dispatch) *cache.Handle {
	h, _ := d.Program.(*cache.Handle)
	return h
}

// memoryOf returns the memory that a job binds, also as a part of what embeds it, or nil for
// another's.
func memoryOf(b job.Bindable) *Memory {
	if m, ok := b.(interface{ memory() *Memory }); ok {
		return m.memory()
	}
	return nil
}

func (m *Memory) memory() *Memory { return m }

// textureOf is memoryOf for textures.
func textureOf(t job.Texture) *Texture {
	if t, ok := t.(interface{ own() *Texture }); ok {
		return t.own()
	}
	return nil
}

func (t *Texture) own() *Texture { return t }

// mayRunNothing reports whether a dispatch may be one of no groups.
func mayRunNothing(d *job.Dispatch) bool {
	return d.Indirect != nil || d.Host == nil && d.Groups == [3]uint32{}
}
