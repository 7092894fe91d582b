//go:build linux

package resident

import (
	"strings"

	"github.com/shadercache/shadercache/cache"
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
	firstPhase int32  // location of residentFirstPhase
	lastPhase  int32  // of residentLastPhase
	group      int32  // of residentInvocations
	size       uint32 // its value
	groups     uint32
	phases     [2]uint32        // first and last one of the next dispatch, where known
	last       uint64           // callback of the context in which bind was called: see glctx.GL.OthersRan
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
func (m *memory) makeBuffers(gl *glctx.GL, k Kernel, bindings []uint32, program *cache.Handle, kind glctx.MapOptions) (err error) {
	size := program.WorkGroup()
	m.program, m.groups, m.size = program.Program(), k.Groups, size[0]*size[1]*size[2]
	if m.shared, err = gl.NewMapped(wire.SharedWords, kind); err != nil {
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
	m.firstPhase = gl.UniformLocation(m.program, "residentFirstPhase")
	m.lastPhase = gl.UniformLocation(m.program, "residentLastPhase")
	m.group = gl.UniformLocation(m.program, "residentInvocations")
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

// bind makes the program current and binds its buffers, where other users of the context
// may have bound theirs.
func (m *memory) bind(gl *glctx.GL) {
	if !gl.OthersRan(&m.last) {
		return
	}
	m.phases = [2]uint32{}
	gl.UseProgram(m.program)
	gl.SetUint(m.group, m.size)
	gl.BindStorage(wire.SharedBinding, m.shared.Buffer)
	gl.BindStorage(wire.WorkBinding, m.work)
	for _, v := range m.states {
		gl.BindStorage(v.binding, v.buffer)
	}
}

// setPhases sets the phases of the next dispatch.
func (m *memory) setPhases(gl *glctx.GL, first, last uint32) {
	if phases := [2]uint32{first, last}; phases != m.phases {
		gl.SetUint(m.firstPhase, first)
		gl.SetUint(m.lastPhase, last)
		m.phases = phases
	}
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
