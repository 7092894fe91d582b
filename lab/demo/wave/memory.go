//go:build linux

package wave

import (
	"errors"

	"github.com/shadercache/shadercache/executor"
)

// memory has the buffers of a simulation on the device. Each pair holds this step and
// the step before, alternating.
type memory struct {
	fields, faces  [2]*executor.Buffer[float32]
	damping, pulse *executor.Buffer[float32]
	tiles          *executor.Buffer[uint32]
}

const tileWords = 16

func newMemory(e *executor.Executor, o Options) (m memory, err error) {
	var errs [7]error
	for i := range 2 {
		m.fields[i], errs[i] = executor.BufferOf(e, make([]float32, o.cells()))
		m.faces[i], errs[2+i] = executor.BufferOf(e, make([]float32, o.faces()))
	}
	m.damping, errs[4] = executor.BufferOf(e, o.damping())
	m.pulse, errs[5] = executor.BufferOf(e, pulse())
	m.tiles, errs[6] = executor.BufferOf(e, make([]uint32, tileWords*o.tiles()))
	if err := errors.Join(errs[:]...); err != nil {
		m.release()
		return memory{}, err
	}
	return m, nil
}

// changing returns the buffers that a step changes.
func (m *memory) changing() []*executor.Buffer[float32] {
	return []*executor.Buffer[float32]{m.fields[0], m.fields[1], m.faces[0], m.faces[1]}
}

func (m *memory) release() {
	for _, b := range append(m.changing(), m.damping, m.pulse) {
		if b != nil {
			b.Release()
		}
	}
	if m.tiles != nil {
		m.tiles.Release()
	}
}
