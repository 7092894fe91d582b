package executor

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// NewMappedMemory makes Memory of the host that jobs use in place, through the bus, and
// that the host reads and writes through mapping, all zero at first: for what the host
// passes on, such as the faces of a grid, without a copy by the GPU. size is a multiple
// of 4.
//
// With written the host only writes: mapping must not be read, and the memory may be the
// GPU's, which jobs read faster.
//
// The host may read what a job wrote once the job was waited for, and a job reads what the
// host wrote before Submit. Upload fails; mapping must not be used after Release.
func (e *Executor) NewMappedMemory(size int, written bool) (m *Memory, mapping []byte, err error) {
	if size <= 0 || size%4 != 0 {
		return nil, nil, fmt.Errorf("executor: mapped memory of %d bytes: a multiple of 4 is needed", size)
	}
	m = &Memory{object: object{e: e}}
	err = e.context.Do(func(gl *glctx.GL) (err error) {
		m.mapped, err = gl.NewMapped(size/4, glctx.MapOptions{ServerStorage: written, WriteOnly: written})
		m.buffer = m.mapped.Buffer
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("executor: make mapped memory of %d bytes: %w", size, err)
	}
	m.free = func(gl *glctx.GL) { gl.DeleteMapped(m.mapped) }
	m.owners.Store(1)
	return m, glctx.Bytes(m.mapped.Words), nil
}

// isMapped reports whether the host reads what kernels write to the memory.
func (m *Memory) isMapped() bool { return m.mapped.Words != nil }

var errMappedUpload = errors.New("executor: mapped memory is written through its mapping")
