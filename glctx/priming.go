//go:build linux

package glctx

import (
	"fmt"
	"time"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"

	"github.com/shadercache/shadercache/shader"
)

// Priming makes the driver finish its work on a program without running it.
//
// Both NVIDIA and llvmpipe make the machine code at the first dispatch. A
// dispatch of (0,1,1) groups is optimised away by llvmpipe, but an indirect
// dispatch whose counts are zero in device memory is not: the driver has to be
// ready for any counts. It is legal and runs no invocation.

// preparePriming makes the buffer of three zero counts and lets the driver use
// as many threads as it likes.
func (gl *GL) preparePriming() error {
	if gl.c.info.ParallelCompile {
		if gl.c.info.Has("GL_KHR_parallel_shader_compile") {
			gl45.MaxShaderCompilerThreadsKHR(^uint32(0))
		} else {
			gl45.MaxShaderCompilerThreadsARB(^uint32(0))
		}
	}
	zeros, err := gl.NewBuffer(12, make([]byte, 12))
	gl.zeros = zeros
	gl.c.counters.buffers.Store(0) // it is ours: counts speak of the caller's
	return err
}

func (gl *GL) endPriming() { gl45.DeleteBuffers(1, &gl.zeros.ID) }

func (gl *GL) describeAndPrime(p *shader.Program) error {
	if err := gl.describe(p); err != nil {
		return err
	}
	return gl.prime(p)
}

// prime leaves the current program and the indirect binding of an adopted
// context as they were. Our own context has no state that anybody relies on
// from callback to callback.
func (gl *GL) prime(p *shader.Program) error {
	began := time.Now()
	if gl.c.schedule != nil {
		program, indirect := gl.integer(gl45.CURRENT_PROGRAM), gl.integer(gl45.DISPATCH_INDIRECT_BUFFER_BINDING)
		defer func() {
			gl45.UseProgram(uint32(program))
			gl45.BindBuffer(gl45.DISPATCH_INDIRECT_BUFFER, uint32(indirect))
		}()
	}
	gl.c.counters.primes.Add(1)
	gl45.UseProgram(p.ID)
	gl45.BindBuffer(gl45.DISPATCH_INDIRECT_BUFFER, gl.zeros.ID)
	gl45.DispatchComputeIndirect(0)
	if err := gl.Err(); err != nil {
		return fmt.Errorf("glctx: prime: %w", err)
	}
	p.PrimeNanos = time.Since(began).Nanoseconds()
	return nil
}
