//go:build linux

package resident

import (
	"strings"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// clearedWords is the number of words of ResidentWork that are cleared before a run:
// arrivals, signal, grid and arguments.
const clearedWords = wire.AtClaimed

// memory is the GL objects of a session. It is used on the GL thread.
type memory struct {
	program    uint32
	shared     glctx.MappedBuffer
	work       glctx.Buffer
	states     []stateMemory
	first      int32 // location of residentFirstPhase
	last       int32
	groups     uint32
	variables  []glctx.Variable // nil: not queried yet
	timestamps timestamps
}

// stateMemory is the buffer of a state.
type stateMemory struct {
	State
	binding uint32
	buffer  glctx.Buffer
}

// makeBuffers makes all buffers. After an error deleteBuffers deletes those that
// were made.
func (m *memory) makeBuffers(gl *glctx.GL, k Kernel, bindings []uint32, program uint32, kind glctx.MapOptions) (err error) {
	m.program, m.groups = program, k.Groups
	if m.shared, err = gl.NewMappedWith(wire.SharedWords, kind); err != nil {
		return err
	}
	if m.work, err = newZeroed(gl, 4*(wire.WorkWords+wire.GroupsWords*int(k.Groups)), nil); err != nil {
		return err
	}
	for i, v := range k.State {
		b, err := newZeroed(gl, v.bufferSize(), v.Init)
		if err != nil {
			return err
		}
		m.states = append(m.states, stateMemory{v, bindings[i], b})
	}
	m.first = gl.UniformLocation(program, "residentFirstPhase")
	m.last = gl.UniformLocation(program, "residentLastPhase")
	return gl.Err()
}

// newZeroed makes a buffer that holds data, followed by zeros.
func newZeroed(gl *glctx.GL, size int, data []byte) (glctx.Buffer, error) {
	b, err := gl.NewBuffer(size, nil)
	if err != nil {
		return b, err
	}
	gl.Fill(b, 0)
	gl.Upload(b, 0, data)
	return b, nil
}

func (m *memory) deleteBuffers(gl *glctx.GL) {
	gl.DeleteMapped(m.shared)
	gl.DeleteBuffer(m.work)
	for _, v := range m.states {
		gl.DeleteBuffer(v.buffer)
	}
	m.timestamps.delete(gl)
	*m = memory{}
}

// bind makes the program current and binds its buffers, since other users of the
// context may have bound theirs.
func (m *memory) bind(gl *glctx.GL) {
	gl.UseProgram(m.program)
	gl.BindStorage(wire.SharedBinding, m.shared.Buffer)
	gl.BindStorage(wire.WorkBinding, m.work)
	for _, v := range m.states {
		gl.BindStorage(v.binding, v.buffer)
	}
}

// setPhases sets the phases of the next dispatch.
func (m *memory) setPhases(gl *glctx.GL, first, last uint32) {
	gl.SetUint(m.first, first)
	gl.SetUint(m.last, last)
}

// clearRun clears what the last run left, such as its signal.
func (m *memory) clearRun(gl *glctx.GL) {
	var w [clearedWords]uint32
	w[wire.AtArrivedLeast] = ^uint32(0)
	w[wire.AtNextGroups], w[wire.AtNextY], w[wire.AtNextZ] = m.groups, 1, 1
	gl.Upload(m.work, 0, glctx.Bytes(w[:]))
}

// findState returns the state with a block name, or nil.
func (m *memory) findState(block string) *stateMemory {
	for i := range m.states {
		if strings.EqualFold(m.states[i].Block, block) {
			return &m.states[i]
		}
	}
	return nil
}
