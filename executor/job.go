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

// memoryOf returns the memory of what a job binds, or nil for another's.
func memoryOf(b job.Bindable) *Memory {
	switch b := b.(type) {
	case *Memory:
		return b
	case interface{ memory() *Memory }: // embeds one
		return b.memory()
	}
	return nil
}

func (m *Memory) memory() *Memory { return m }

// textureOf returns the texture that a job binds, or nil for another's.
func textureOf(t job.Texture) *Texture {
	switch t := t.(type) {
	case *Texture:
		return t
	case interface{ own() *Texture }: // embeds one
		return t.own()
	}
	return nil
}

func (t *Texture) own() *Texture { return t }

// mayRunNothing reports whether a dispatch may be one of no groups.
func mayRunNothing(d *job.Dispatch) bool {
	return d.Indirect != nil || d.Host == nil && d.Groups == [3]uint32{}
}
