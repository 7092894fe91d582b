//go:build linux

package resident

import (
	"strings"

	"github.com/shadercache/shadercache/glctx"
)

// Lengths of the rings, in entries, as kernels/resident.glsl has them by
// default.
const (
	inboxLength  = 64
	outboxLength = 256
	logLength    = 1024
	logWords     = 8
)

// groupWords is the size of a group's line.
const groupWords = 16

// wordsRearmed are the words of ResidentWork that every run starts anew with:
// arrivals, signal, grid and arguments.
const wordsRearmed = wordClaimed

// memory is all that a session has in GL. It is for the GL thread.
type memory struct {
	program   uint32
	shared    glctx.MappedBuffer
	work      glctx.Buffer
	states    []stateMemory
	first     int32 // location of residentFirstPhase
	last      int32
	groups    uint32
	variables []glctx.Variable // nil: not asked for yet
	stamps    stamps
}

// stateMemory is the buffer of a state.
type stateMemory struct {
	State
	binding uint32
	buffer  glctx.Buffer
}

// make makes everything. free frees what was made.
func (m *memory) make(gl *glctx.GL, k Kernel, bindings []uint32, program uint32, kind glctx.MapOptions) (err error) {
	m.program, m.groups = program, k.Groups
	if m.shared, err = gl.NewMappedWith(sharedEnd, kind); err != nil {
		return err
	}
	work := wordsResidentWork + logWords*logLength + groupWords*int(k.Groups)
	if m.work, err = newZeroed(gl, 4*work, nil); err != nil {
		return err
	}
	for i, v := range k.State {
		b, err := newZeroed(gl, v.size(), v.Init)
		if err != nil {
			return err
		}
		m.states = append(m.states, stateMemory{v, bindings[i], b})
	}
	m.first = gl.UniformLocation(program, "residentFirstPhase")
	m.last = gl.UniformLocation(program, "residentLastPhase")
	return gl.Err()
}

// newZeroed makes a buffer that holds data and zeros behind.
func newZeroed(gl *glctx.GL, size int, data []byte) (glctx.Buffer, error) {
	b, err := gl.NewBuffer(size, nil)
	if err != nil {
		return b, err
	}
	gl.Fill(b, 0)
	gl.Upload(b, 0, data)
	return b, nil
}

func (m *memory) free(gl *glctx.GL) {
	gl.DeleteMapped(m.shared)
	gl.DeleteBuffer(m.work)
	for _, v := range m.states {
		gl.DeleteBuffer(v.buffer)
	}
	m.stamps.free(gl)
	*m = memory{}
}

// bind makes the program current and binds all its memory. Others may have used
// the context since the last time.
func (m *memory) bind(gl *glctx.GL) {
	gl.UseProgram(m.program)
	gl.BindStorage(sharedBinding, m.shared.Buffer)
	gl.BindStorage(workBinding, m.work)
	for _, v := range m.states {
		gl.BindStorage(v.binding, v.buffer)
	}
}

// phases says which phases the next dispatch runs.
func (m *memory) phases(gl *glctx.GL, first, last uint32) {
	gl.SetUint(m.first, first)
	gl.SetUint(m.last, last)
}

// rearm clears what the last run left: its signal and its verdict.
func (m *memory) rearm(gl *glctx.GL) {
	var w [wordsRearmed]uint32
	w[wordArrivedLeast] = ^uint32(0)
	w[wordNextGroups], w[wordNextY], w[wordNextZ] = m.groups, 1, 1
	gl.Upload(m.work, 0, glctx.Bytes(w[:]))
}

// find is the state of a block's name.
func (m *memory) find(block string) *stateMemory {
	for i := range m.states {
		if strings.EqualFold(m.states[i].Block, block) {
			return &m.states[i]
		}
	}
	return nil
}
