//go:build linux

package glctx

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"

	"github.com/shadercache/shadercache/shader"
)

// GL is the right to call OpenGL. It exists only inside a callback of
// Context.Do or Context.Post, on the GL thread, and must not leave it.
//
// Calls do not return errors one by one, because asking costs: Err reports what
// went wrong since it was last asked. With Options.Debug every call is checked
// and Do returns the first error itself.
type GL struct {
	c       *Context
	zeros   Buffer // indirect arguments of a dispatch without groups
	failure error  // the first error that a debug check saw
}

// Info is Context.Info.
func (gl *GL) Info() Info { return gl.c.info }

// Err reports and clears the errors raised since the last call: nil,
// shader.ErrOutOfMemory, shader.ErrContextLost, or the first other [*Error]. It
// panics outside the callback; with Options.Debug every method does.
func (gl *GL) Err() error {
	gl.mustBeHere()
	return gl.drain("")
}

// mustBeHere panics where no callback runs on this thread. Elsewhere OpenGL has
// no context: calls do nothing, or crash.
func (gl *GL) mustBeHere() {
	if gl.c.thread.Load() != int64(syscall.Gettid()) {
		panic("glctx: a GL was used outside the callback of Do or Post that it was given to")
	}
}

// maxErrors bounds the loop that drains the error flags: a lost context may
// report an error for ever.
const maxErrors = 32

func (gl *GL) drain(call string) error {
	var first error
	for range maxErrors {
		code := gl45.GetError()
		switch code {
		case gl45.NO_ERROR:
			return first
		case gl45.OUT_OF_MEMORY:
			return errors.Join(shader.ErrOutOfMemory, first)
		case gl45.CONTEXT_LOST:
			gl.c.lost.Store(true)
			return shader.ErrContextLost
		}
		if first == nil {
			first = &Error{Call: call, Code: code}
		}
	}
	return first
}

// check notes an error that call raised, with Options.Debug only.
func (gl *GL) check(call string) {
	if !gl.c.options.Debug {
		return
	}
	gl.mustBeHere()
	if err := gl.drain(call); err != nil {
		gl.c.logger.Error("OpenGL call failed", "call", call, "error", err)
		if gl.failure == nil {
			gl.failure = err
		}
	}
}

func (gl *GL) takeDebugError() error {
	err := gl.failure
	gl.failure = nil
	return err
}

// checkLost asks the driver whether the GPU was reset.
func (gl *GL) checkLost() bool {
	if gl.c.info.ResetNotice && gl45.GetGraphicsResetStatus() != gl45.NO_ERROR {
		gl.c.lost.Store(true)
	}
	return gl.c.lost.Load()
}

// CheckLost asks the driver whether the GPU was reset: shader.ErrContextLost, or
// nil. Fences of a lost context count as reached, so results that a fence
// vouches for are worth nothing before CheckLost has agreed.
func (gl *GL) CheckLost() error {
	if gl.checkLost() {
		return shader.ErrContextLost
	}
	return nil
}

// Barrier bits for MemoryBarrier: how the data will be used next.
const (
	BarrierStorage  uint32 = gl45.SHADER_STORAGE_BARRIER_BIT       // by a kernel through a storage buffer
	BarrierUniform  uint32 = gl45.UNIFORM_BARRIER_BIT              // by a kernel through a uniform buffer
	BarrierCommand  uint32 = gl45.COMMAND_BARRIER_BIT              // as indirect arguments
	BarrierUpdate   uint32 = gl45.BUFFER_UPDATE_BARRIER_BIT        // by Upload, Download, Copy, Fill
	BarrierMapped   uint32 = gl45.CLIENT_MAPPED_BUFFER_BARRIER_BIT // by the host through a mapping
	BarrierAllKinds uint32 = gl45.ALL_BARRIER_BITS
)

// UseProgram makes a program current; 0 makes none current.
func (gl *GL) UseProgram(program uint32) {
	gl45.UseProgram(program)
	gl.check("glUseProgram")
}

// UniformLocation is the location of a uniform outside any block, -1 if the
// program does not use it.
func (gl *GL) UniformLocation(program uint32, name string) int32 {
	location := gl45.GetUniformLocation(program, gl45.Str(name+"\x00"))
	gl.check("glGetUniformLocation")
	return location
}

// SetInt sets an int uniform of the current program. Location -1 is ignored.
func (gl *GL) SetInt(location, v int32) {
	gl45.Uniform1i(location, v)
	gl.check("glUniform1i")
}

// SetUint sets a uint uniform of the current program. Location -1 is ignored.
func (gl *GL) SetUint(location int32, v uint32) {
	gl45.Uniform1ui(location, v)
	gl.check("glUniform1ui")
}

// SetFloat sets a float uniform of the current program. Location -1 is ignored.
func (gl *GL) SetFloat(location int32, v float32) {
	gl45.Uniform1f(location, v)
	gl.check("glUniform1f")
}

// Dispatch starts x*y*z work groups of the current program. It does not wait.
func (gl *GL) Dispatch(x, y, z uint32) {
	gl.c.counters.dispatches.Add(1)
	gl45.DispatchCompute(x, y, z)
	gl.check("glDispatchCompute")
}

// DispatchIndirect starts the work groups whose three uint32 counts stand in b
// at offset, a multiple of 4.
func (gl *GL) DispatchIndirect(b Buffer, offset int) {
	gl.c.counters.dispatches.Add(1)
	gl45.BindBuffer(gl45.DISPATCH_INDIRECT_BUFFER, b.ID)
	gl45.DispatchComputeIndirect(offset)
	gl.check("glDispatchComputeIndirect")
}

// MemoryBarrier makes what kernels wrote visible to the given kinds of use by
// later calls.
func (gl *GL) MemoryBarrier(bits uint32) {
	gl45.MemoryBarrier(bits)
	gl.check("glMemoryBarrier")
}

// Flush hands everything so far to the GPU and does not wait.
func (gl *GL) Flush() {
	gl45.Flush()
	gl.check("glFlush")
}

// Finish waits until the GPU has done everything so far. It blocks the GL
// thread: not for hot paths.
func (gl *GL) Finish() {
	gl.c.counters.finishes.Add(1)
	gl45.Finish()
	gl.check("glFinish")
}

// Fence marks a point in the stream of commands. The one who made it deletes it.
type Fence struct{ sync uintptr }

// NewFence marks the point that the GPU reaches when all calls so far are done.
func (gl *GL) NewFence() Fence {
	gl.c.counters.fences.Add(1)
	f := Fence{gl45.FenceSync(gl45.SYNC_GPU_COMMANDS_COMPLETE, 0)}
	gl.check("glFenceSync")
	return f
}

// WaitFence waits until the GPU has reached the fence, at most for timeout, and
// reports whether it has. A timeout of 0 only asks. A lost context is an error.
func (gl *GL) WaitFence(f Fence, timeout time.Duration) (bool, error) {
	if timeout > 0 {
		gl.c.counters.waits.Add(1)
	}
	status := gl45.ClientWaitSync(f.sync, gl45.SYNC_FLUSH_COMMANDS_BIT, uint64(max(timeout, 0)))
	switch status {
	case gl45.ALREADY_SIGNALED, gl45.CONDITION_SATISFIED:
		return true, nil
	case gl45.TIMEOUT_EXPIRED:
		if timeout > 0 && gl.checkLost() {
			return false, shader.ErrContextLost
		}
		return false, nil
	}
	return false, fmt.Errorf("glctx: wait for a fence: %w", orNoReason("glClientWaitSync", gl.Err()))
}

// DeleteFence frees a fence.
func (gl *GL) DeleteFence(f Fence) {
	gl.c.counters.fences.Add(-1)
	gl45.DeleteSync(f.sync)
	gl.check("glDeleteSync")
}
