//go:build linux

package kernel

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// DeviceTensors are tensors on the device, for several sequences to run on.
type DeviceTensors struct {
	Tensors
	memory    buffers
	outputLen int
	byRole    map[Role]glctx.Buffer
}

// NewDeviceTensors uploads tensors and makes an output of outputLen elements. Free
// deletes them.
func NewDeviceTensors(gl *glctx.GL, host Tensors, outputLen int) (*DeviceTensors, error) {
	t := &DeviceTensors{Tensors: host, memory: buffers{gl: gl}, outputLen: outputLen}
	t.byRole = map[Role]glctx.Buffer{
		Input:   t.memory.upload(host.Input),
		Weights: t.memory.upload(host.Weights),
		Output:  t.memory.poisoned(outputLen),
	}
	if len(host.Bias) > 0 {
		t.byRole[Bias] = t.memory.upload(host.Bias)
	}
	t.memory.gl = nil // it must not leave the callback
	if err := t.memory.err; err != nil {
		t.Free(gl)
		return nil, err
	}
	return t, nil
}

// Free deletes the tensors.
func (t *DeviceTensors) Free(gl *glctx.GL) { t.memory.free(gl) }

// Buffer returns the buffer of a role.
func (t *DeviceTensors) Buffer(role Role) glctx.Buffer { return t.byRole[role] }

// PoisonOutput fills an output that has no values of its own with poison.
func (t *DeviceTensors) PoisonOutput(gl *glctx.GL) {
	if t.Output == nil {
		gl.Fill(t.byRole[Output], Poison)
	}
}

// ReadOutput returns the output. It fails where a kernel wrote past its end.
func (t *DeviceTensors) ReadOutput(gl *glctx.GL) ([]float32, error) {
	return download(gl, t.byRole[Output], 0, t.outputLen)
}

// Compute runs a sequence once, as Run.Checked does, and returns the output of outputLen
// elements. programs has the program of every step.
func Compute(gl *glctx.GL, s Sequence, programs map[shader.Key]uint32, in Tensors, outputLen int) ([]float32, error) {
	t, err := NewDeviceTensors(gl, in, outputLen)
	if err != nil {
		return nil, err
	}
	defer t.Free(gl)
	r, err := NewRun(gl, s, programs)
	if err != nil {
		return nil, err
	}
	defer r.Free()
	return r.Checked(t)
}

// Run is a sequence with its programs and scratch memory, within one callback: see GL.
type Run struct {
	// FirstNanos is how long the first call of Checked waited for the GPU, in
	// nanoseconds; 0 before it.
	FirstNanos float64

	// GL is that of the callback in which the run is used; nil in none.
	GL *glctx.GL

	failure  error // of a call of the host
	sequence Sequence
	programs map[shader.Key]uint32
	memory   buffers
	scratch  map[Role]glctx.Buffer // packed weights, workspace and semaphores
}

// NewRun makes the memory that a sequence needs besides the tensors. programs has
// the program of every step. Free deletes the memory.
func NewRun(gl *glctx.GL, s Sequence, programs map[shader.Key]uint32) (*Run, error) {
	_ = gl.Err() // left by earlier work
	r := &Run{GL: gl, sequence: s, programs: programs, memory: buffers{gl: gl}, scratch: map[Role]glctx.Buffer{}}
	for role, n := range map[Role]int{Packed: s.PackedLen, Workspace: s.WorkspaceLen, Semaphores: s.SemaphoreCount} {
		if n > 0 {
			r.scratch[role] = r.memory.poisoned(n)
		}
	}
	if err := r.memory.err; err != nil {
		r.Free()
		return nil, err
	}
	if n := s.SemaphoreCount; n > 0 {
		gl.Upload(r.scratch[Semaphores], 0, make([]byte, 4*n))
	}
	r.memory.gl = nil // it must not leave the callback
	return r, nil
}

// Free deletes the memory of the run.
func (r *Run) Free() { r.memory.free(r.GL) }

// Checked runs the sequence once, with output and scratch memory poisoned before,
// and returns the output. It fails where a kernel writes past the end of a buffer or
// leaves a semaphore that is not 0.
func (r *Run) Checked(t *DeviceTensors) ([]float32, error) {
	r.poison(t)
	if err := Wait(r.GL); err != nil {
		return nil, err
	}
	start := time.Now()
	for _, s := range r.sequence.All() {
		r.do(s, t)
	}
	if r.failure != nil {
		return nil, r.failure
	}
	if err := Wait(r.GL); err != nil {
		return nil, err
	}
	if r.FirstNanos == 0 {
		r.FirstNanos = float64(time.Since(start))
	}
	_, packedErr := r.read(Packed, r.sequence.PackedLen, 0)
	_, workspaceErr := r.read(Workspace, r.sequence.WorkspaceLen, 0)
	if err := cmp.Or(packedErr, workspaceErr, r.CheckSemaphores()); err != nil {
		return nil, err
	}
	return t.ReadOutput(r.GL)
}

// poison fills everything that the sequence is to write, but for an output that has
// values of its own.
func (r *Run) poison(t *DeviceTensors) {
	r.GL.Fill(t.byRole[Output], Poison)
	if t.Output != nil {
		r.GL.Upload(t.byRole[Output], 0, glctx.Bytes(t.Output))
	}
	for role, b := range r.scratch {
		if role != Semaphores {
			r.GL.Fill(b, Poison)
		}
	}
}

// read reads the last n elements of scratch memory, if there is any, and checks its canary.
func (r *Run) read(role Role, at, n int) ([]float32, error) {
	b, ok := r.scratch[role]
	if !ok {
		return nil, nil
	}
	values, err := download(r.GL, b, at, n)
	if err != nil {
		return nil, fmt.Errorf("in its workspace, %w", err)
	}
	return values, nil
}

// CheckSemaphores fails where a run left a semaphore that is not 0.
func (r *Run) CheckSemaphores() error {
	counts, err := r.read(Semaphores, 0, r.sequence.SemaphoreCount)
	for tile, count := range counts {
		if word := math.Float32bits(count); word != 0 {
			return fmt.Errorf("tile %d of %d: %w: %d", tile, len(counts), ErrSemaphores, word)
		}
	}
	return err
}

// do makes a step.
func (r *Run) do(s Step, t *DeviceTensors) {
	if s.Host != nil {
		r.onHost(s, t)
		return
	}
	r.use(s, t)
	r.start(s)
}

// onHost makes a call of the host, unless one has failed.
func (r *Run) onHost(s Step, t *DeviceTensors) {
	if r.failure != nil {
		return
	}
	ranges := make([]glctx.HostRange, len(s.Bindings))
	for i, b := range s.Bindings {
		buffer := r.buffer(b.Role, t)
		ranges[i] = glctx.HostRange{Buffer: buffer, Len: buffer.Size}
	}
	r.failure = r.GL.OnHost(ranges, s.Host.Call)
}

// buffer returns the buffer of a role.
func (r *Run) buffer(role Role, t *DeviceTensors) glctx.Buffer {
	if buffer, ok := r.scratch[role]; ok {
		return buffer
	}
	return t.byRole[role]
}

// Err returns the error of a call of the host that failed, after which no other one is made.
func (r *Run) Err() error { return r.failure }

func (r *Run) program(s Step) uint32 { return r.programs[s.Source.Key()] }

// use makes the program of a step current, with its uniforms and buffers.
func (r *Run) use(s Step, t *DeviceTensors) {
	s.Use(r.GL, r.program(s))
	r.bind(s, t)
}

func (r *Run) bind(s Step, t *DeviceTensors) {
	for _, b := range s.Bindings {
		r.GL.BindStorage(b.Index, r.buffer(b.Role, t))
	}
}

// start dispatches the current program, with a barrier behind it.
func (r *Run) start(s Step) {
	s.Start(r.GL)
	r.GL.MemoryBarrier(glctx.BarrierStorage)
}

// Repeat makes n runs of the steps, without preparing weights, and does not wait.
// Uniforms belong to the program: those of a program that only one step uses are set
// once.
func (r *Run) Repeat(t *DeviceTensors, n int) {
	steps := r.sequence.Steps
	users := map[uint32]int{}
	for _, s := range steps {
		if s.Host == nil {
			users[r.program(s)]++
			r.use(s, t)
		}
	}
	for range n {
		for _, s := range steps {
			switch {
			case s.Host != nil:
				r.onHost(s, t)
				continue
			case len(steps) == 1:
			case users[r.program(s)] > 1:
				r.use(s, t)
			default:
				r.GL.UseProgram(r.program(s))
				r.bind(s, t)
			}
			r.start(s)
		}
	}
}

// hangTime is how long a candidate may take.
const hangTime = time.Minute

// Wait waits until the GPU is idle.
func Wait(gl *glctx.GL) error {
	fence := gl.NewFence()
	defer gl.DeleteFence(fence)
	reached, err := gl.WaitFence(fence, hangTime)
	if err == nil && !reached {
		err = ErrHangs
	}
	if err != nil {
		return err
	}
	return gl.Err()
}
