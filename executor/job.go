package executor

import (
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
)

// What a job is: see package job. Here its programs are handles of the executor's cache, its
// buffers [Memory] of the executor and what embeds one, and its textures [Texture]s.
type (
	Job      = job.Job
	Dispatch = job.Dispatch
	Bound    = job.Bound

	// Input is data for a storage block. Its Fill is called by Submit with mapped memory. This
	// job, other jobs of its batch and jobs submitted later do not start before Fill has
	// returned, so it must not wait for them.
	Input = job.Input

	// Output is the destination of a storage block. Its Read is called by Wait with mapped
	// memory. It is zero also with Dirty where a dispatch of the job may run no group: one with
	// Indirect, or with Groups of three zeros.
	Output = job.Output
)

// handleOf returns the handle of a dispatch's program, nil for none and for another's. It calls
// no method of the interface: then a handle could not live in its caller's frame.
func handleOf(d *Dispatch) *cache.Handle {
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
	own, _ := t.(*Texture)
	return own
}

// mayRunNothing reports whether a dispatch may be one of no groups.
func mayRunNothing(d *Dispatch) bool {
	return d.Indirect != nil || d.Host == nil && d.Groups == [3]uint32{}
}
