//go:build linux && cgo

package glctx

import (
	"errors"
	"fmt"
	"time"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/shader"
)

// Info returns [Context.Info].
func (gl *GL) Info() Info { return gl.c.info }

// Err returns and clears the errors raised since the last Err: nil,
// shader.ErrOutOfMemory, shader.ErrContextLost, or the first other [*Error]. It
// panics outside the callback; with Options.Debug every method does.
func (gl *GL) Err() error {
	gl.requireCallback()
	return gl.readErrors("")
}

// requireCallback panics where no callback runs on this thread. Without a current
// context, GL calls have no effect, or crash.
func (gl *GL) requireCallback() {
	if gl.c.thread.Load() != threadID() {
		panic("glctx: a GL was used outside the callback of Do or Post that it was given to")
	}
}

// maxErrors limits the loop that reads the error flags: a lost context may report an
// error each time.
const maxErrors = 32

// readErrors reads and clears the error flags. call is the call that is checked.
func (gl *GL) readErrors(call string) error {
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

// longestList is more than any driver's list has.
const longestList = 1 << 16

// listLength returns the length of a list of the driver's, or 0 for one that cannot be.
func listLength(n int32) uint32 {
	if n < 0 || n > longestList {
		return 0
	}
	return uint32(n)
}

// debugCheck logs and stores an error that call raised, with Options.Debug only.
func (gl *GL) debugCheck(call string) {
	if !gl.c.options.Debug {
		return
	}
	gl.requireCallback()
	if err := gl.readErrors(call); err != nil {
		gl.c.logger.Error("OpenGL call failed", "call", call, "error", err)
		if gl.debugError == nil {
			gl.debugError = err
		}
	}
}

func (gl *GL) takeDebugError() error {
	err := gl.debugError
	gl.debugError = nil
	return err
}

// isLost reports whether the context is lost, and asks the driver for a reset of the
// GPU.
func (gl *GL) isLost() bool {
	if gl.c.info.ResetNotice && !gl.c.gone.Load() && gl.c.resetStatus() != gl45.NO_ERROR {
		gl.c.lost.Store(true)
	}
	return gl.c.lost.Load()
}

// CheckLost returns shader.ErrContextLost if the GPU was reset, else nil. Fences of a
// lost context are signalled, so results behind a fence are valid only if CheckLost
// returns nil after it.
func (gl *GL) CheckLost() error {
	if gl.isLost() {
		return shader.ErrContextLost
	}
	return nil
}

// UseProgram makes a program current; 0 makes none current.
func (gl *GL) UseProgram(program uint32) {
	gl.c.first.current = program
	gl45.UseProgram(program)
	gl.debugCheck("glUseProgram")
}

// UniformLocation returns the location of a uniform outside any block, or -1 if the
// program does not use it.
func (gl *GL) UniformLocation(program uint32, name string) int32 {
	location := gl45.GetUniformLocation(program, gl45.Str(name+"\x00"))
	gl.debugCheck("glGetUniformLocation")
	return location
}

// Dispatch starts x*y*z work groups of the current program. It does not wait.
func (gl *GL) Dispatch(x, y, z uint32) {
	gl.beginDispatch()
	gl45.DispatchCompute(x, y, z)
	gl.endDispatch()
	gl.debugCheck("glDispatchCompute")
}

// DispatchSized is Dispatch for a program with local_size_variable: size is the number
// of invocations of a work group. It needs Info.VariableGroups.
func (gl *GL) DispatchSized(x, y, z uint32, size [3]uint32) {
	gl.beginDispatch()
	gl45.DispatchComputeGroupSizeARB(x, y, z, size[0], size[1], size[2])
	gl.endDispatch()
	gl.debugCheck("glDispatchComputeGroupSizeARB")
}

// DispatchNone runs no invocation of the current program, and makes the driver ready for
// it with the textures and samplers that are bound: see Priming. It is not for programs
// with local_size_variable.
func (gl *GL) DispatchNone() {
	gl45.BindBuffer(gl45.DISPATCH_INDIRECT_BUFFER, gl.zeros.ID)
	gl45.DispatchComputeIndirect(0)
	gl.debugCheck("glDispatchComputeIndirect")
}

// DispatchIndirect starts work groups. Their three uint32 counts are in b at offset, a
// multiple of 4.
func (gl *GL) DispatchIndirect(b Buffer, offset int) {
	gl45.BindBuffer(gl45.DISPATCH_INDIRECT_BUFFER, b.ID)
	gl.beginDispatch()
	gl45.DispatchComputeIndirect(offset)
	gl.endDispatch()
	gl.debugCheck("glDispatchComputeIndirect")
}

// MemoryBarrier makes writes of earlier kernels visible to the given uses by later
// commands.
func (gl *GL) MemoryBarrier(bits uint32) {
	if !gl.c.full && bits != BarrierAllKinds {
		bits &^= BarrierMapped // of mapped memory, which this context lacks
	}
	gl45.MemoryBarrier(bits)
	gl.debugCheck("glMemoryBarrier")
}

// Flush submits all earlier commands to the GPU. It does not wait.
func (gl *GL) Flush() {
	gl45.Flush()
	gl.debugCheck("glFlush")
}

// Finish waits until the GPU has finished all earlier commands. It blocks the GL
// thread and is not for hot paths.
func (gl *GL) Finish() {
	count(gl.c, &gl.c.counted.Finishes, 1)
	gl45.Finish()
	gl.c.first.finishAll()
	gl.debugCheck("glFinish")
}

// NewFence makes a fence that is signalled when the GPU has finished all earlier
// commands.
func (gl *GL) NewFence() Fence {
	count(gl.c, &gl.c.counted.Fences, 1)
	f := Fence{gl45.FenceSync(gl45.SYNC_GPU_COMMANDS_COMPLETE, 0)}
	gl.c.first.fence(f)
	gl.debugCheck("glFenceSync")
	return f
}

// shortWait is the longest timeout for which WaitFence polls. With a timeout of 100 us,
// glClientWaitSync of NVIDIA's driver returns after 100 us, although the fence is
// signalled after 15; with one of seconds it returns after 15.
const shortWait = time.Millisecond

// WaitFence waits until the fence is signalled, at most for timeout, and reports
// whether it is. With a timeout of 0 it neither waits nor flushes: a Flush has to come
// between NewFence and the first such call. A lost context is an error.
func (gl *GL) WaitFence(f Fence, timeout time.Duration) (bool, error) {
	if gl.c.gone.Load() {
		return false, shader.ErrContextLost
	}
	if timeout > 0 {
		count(gl.c, &gl.c.counted.Waits, 1)
	}
	switch gl.clientWait(f, timeout) {
	case gl45.ALREADY_SIGNALED, gl45.CONDITION_SATISFIED:
		gl.c.first.finish(f)
		return true, nil
	case gl45.TIMEOUT_EXPIRED:
		if timeout > 0 && gl.isLost() {
			return false, shader.ErrContextLost
		}
		return false, nil
	}
	return false, fmt.Errorf("glctx: wait for a fence: %w", orInvalidOperation("glClientWaitSync", gl.Err()))
}

// clientWait returns the status of glClientWaitSync.
func (gl *GL) clientWait(f Fence, timeout time.Duration) uint32 {
	switch {
	case timeout <= 0:
		return gl45.ClientWaitSync(f.sync, 0, 0)
	case timeout > shortWait || gl.c.info.Software(): // whose threads need the CPU
		return gl45.ClientWaitSync(f.sync, gl45.SYNC_FLUSH_COMMANDS_BIT, uint64(timeout))
	}
	status := gl45.ClientWaitSync(f.sync, gl45.SYNC_FLUSH_COMMANDS_BIT, 0)
	for began := time.Now(); status == gl45.TIMEOUT_EXPIRED && time.Since(began) < timeout; {
		status = gl45.ClientWaitSync(f.sync, 0, 0)
	}
	return status
}

// DeleteFence frees a fence.
func (gl *GL) DeleteFence(f Fence) {
	count(gl.c, &gl.c.counted.Fences, -1)
	gl.c.first.finish(f)
	gl45.DeleteSync(f.sync)
	gl.debugCheck("glDeleteSync")
}

// orInvalidOperation returns err, or an error for a call that failed without raising
// one.
func orInvalidOperation(call string, err error) error {
	if err == nil {
		return &Error{Call: call, Code: gl45.INVALID_OPERATION}
	}
	return err
}
