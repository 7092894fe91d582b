package executor

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// NewPinnedMemory makes Memory whose storage is a mapping of this process, as
// [glctx.GL.NewPinned] needs it: jobs that bind it read and write the mapping in place.
// freed is called on the GL thread, and may unmap it: after Release, when the jobs that
// use it are complete. It is not called where the context ended before.
//
// The host may read what a job wrote once the job was waited for.
func (e *Executor) NewPinnedMemory(mapping []byte, freed func()) (*Memory, error) {
	m := &Memory{object: object{e: e}, freed: freed}
	m.free = m.delete
	err := e.context.Do(func(gl *glctx.GL) (err error) {
		m.buffer, err = gl.NewPinned(mapping)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("executor: pin memory of %d bytes: %w", len(mapping), err)
	}
	m.owners.Store(1)
	return m, nil
}

// isPinned reports whether the host has the memory mapped.
func (m *Memory) isPinned() bool { return m.freed != nil }
