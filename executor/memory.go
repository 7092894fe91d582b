package executor

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// Memory is device memory that persists between jobs: weights, state, intermediate
// results. The caller that made it releases it; jobs in flight retain it until the
// GPU has finished them. It must not be copied. Methods may be called from any
// goroutine.
//
// Upload, Fill and Download are not for hot paths: they wait for the jobs submitted
// before that use the memory, and Download blocks the GL thread. Data that changes
// from job to job belongs in inputs and outputs.
type Memory struct {
	object
	buffer glctx.Buffer
	mapped glctx.MappedBuffer // of mapped memory
	freed  func()             // of pinned memory: called when no command uses it any more
}

// NewMemory allocates size bytes of device memory, all zero. It returns
// shader.ErrOutOfMemory, wrapped, where the device has no room.
func (e *Executor) NewMemory(size int) (*Memory, error) {
	m := &Memory{object: object{e: e}}
	err := e.context.Do(func(gl *glctx.GL) (err error) {
		defer e.ran()
		if m.buffer, err = gl.NewBuffer(padded(size, 4), nil); err != nil {
			return err
		}
		if e.options.test.poison {
			gl.Fill(m.buffer, poisonWord)
		}
		gl.Fill(m.buffer, 0) // a driver may return what was deleted before
		if err = gl.Err(); err != nil {
			gl.DeleteBuffer(m.buffer)
		}
		m.buffer.Size = size
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("executor: make memory of %d bytes: %w", size, err)
	}
	m.free = m.delete
	m.owners.Store(1)
	return m, nil
}

// delete frees the memory on the GL thread, once no command uses it any more.
func (m *Memory) delete(gl *glctx.GL) {
	gl.DeleteBuffer(m.buffer)
	if m.freed != nil {
		m.freed()
	}
}

// Size returns the number of bytes.
func (m *Memory) Size() int { return m.buffer.Size }

// Upload copies data to offset, after the jobs submitted so far that use the
// memory.
func (m *Memory) Upload(ctx context.Context, offset int, data []byte) error {
	if m.isMapped() {
		return errMappedUpload
	}
	return m.access(ctx, offset, len(data), func(gl *glctx.GL) { gl.Upload(m.buffer, offset, data) })
}

// Fill sets every 32-bit word to word, after the jobs submitted so far that use
// the memory. It fails where the size is not a multiple of 4.
func (m *Memory) Fill(ctx context.Context, word uint32) error {
	if m.Size()%4 != 0 {
		return fmt.Errorf("executor: memory of %d bytes cannot be filled with words", m.Size())
	}
	return m.access(ctx, 0, m.Size(), func(gl *glctx.GL) { gl.Fill(m.buffer, word) })
}

// Download copies from offset to dst, after the jobs submitted so far that use the
// memory.
func (m *Memory) Download(ctx context.Context, offset int, dst []byte) error {
	return m.access(ctx, offset, len(dst), func(gl *glctx.GL) { gl.Download(m.buffer, offset, dst) })
}

// access runs fn on the GL thread after the jobs that use the memory.
func (m *Memory) access(ctx context.Context, offset, n int, fn func(gl *glctx.GL)) error {
	if m.released.Load() {
		return errMemoryReleased
	}
	if offset < 0 || n > m.Size()-offset {
		return fmt.Errorf("executor: bytes %d to %d of memory of %d", offset, offset+n, m.Size())
	}
	return m.do(ctx, func(gl *glctx.GL) error {
		fn(gl)
		return nil
	})
}

var errMemoryReleased = fmt.Errorf("executor: the memory was %w", job.ErrReleased)
