//go:build linux && cgo

package glctx

import (
	"fmt"
	"strings"
	"sync"
	"time"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// Priming makes the driver generate the machine code of a program without running it.
//
// NVIDIA's driver and llvmpipe generate machine code at the first dispatch. llvmpipe
// optimises a dispatch of (0,1,1) groups away, but not an indirect dispatch whose
// counts are zero in device memory: the driver must be ready for any counts. It is
// valid GL and runs no invocation.
//
// llvmpipe makes other machine code for each combination of formats, samplers and sizes that
// are powers of two or not. Load and Compile have no textures: GL.DispatchNone does the same
// for those that are bound.
//
// In other drivers a dispatch returns before there is machine code: it is queued for a
// thread of the driver's, which waits for the threads that compile. What waits for that
// thread, measured on each in docs/drivers.md:
//
//	NVIDIA, llvmpipe, nouveau, v3d     nothing is needed
//	Mesa's other drivers               a question for a query's result, which does not wait
//	                                   for the GPU: it may run a kernel that does not end
//	zink over lavapipe, OpenGL ES,     a fence: zink's queue makes no machine code, but
//	drivers that are not known         lavapipe does, when it executes the dispatch

// priming is how a driver is made to have machine code.
type priming uint8

const (
	dispatchWaits priming = iota
	queryWaits
	fenceWaits
)

func (p priming) String() string {
	return [...]string{"a dispatch of no groups", "a dispatch of no groups and a query", "a dispatch of no groups and a fence"}[p]
}

// Priming says how programs of this driver are made ready before their first dispatch.
func (c *Context) Priming() string { return c.priming.String() }

// priming returns how the driver is made to have machine code.
func (i Info) priming() priming {
	mesa := strings.Contains(i.Fingerprint.Version, "Mesa")
	name := func(prefix string) bool { return strings.HasPrefix(i.GPU, prefix) }
	switch {
	case i.isZink() && i.Software():
		return fenceWaits
	case i.Software(), mesa && (name("NV") || name("V3D ")), strings.HasPrefix(i.Fingerprint.Vendor, "NVIDIA"):
		return dispatchWaits
	case mesa && i.is(OpenGL, 4, 5):
		return queryWaits
	}
	return fenceWaits
}

// finishPriming waits until the machine code of a program is there that was primed, where
// the dispatch did not.
func (gl *GL) finishPriming(p *shader.Program) error {
	began := time.Now()
	region := gl.c.options.begin(trace.Prime)
	defer func() { region.End() }()
	err := gl.awaitDriver()
	if err == nil {
		err = gl.Err()
	}
	if err != nil {
		return fmt.Errorf("glctx: prime: %w", err)
	}
	p.PrimeNanos += time.Since(began).Nanoseconds()
	return nil
}

func (gl *GL) awaitDriver() error {
	if gl.c.priming == queryWaits {
		q := gl.NewQuery()
		gl.WriteTimestamp(q)
		gl45.GetQueryObjectui64v(q.id, gl45.QUERY_RESULT_AVAILABLE, new(uint64))
		gl.DeleteQuery(q)
		return nil
	}
	f := gl.NewFence()
	defer gl.DeleteFence(f)
	for {
		if signalled, err := gl.WaitFence(f, time.Minute); signalled || err != nil {
			return err
		}
	}
}

// compilerThreads allows the driver any number of compiler threads, once a process.
// NVIDIA's driver starts them only when it is called, for all contexts: with a second
// call, while another thread uses a context, it crashes (docs/drivers.md).
var compilerThreads sync.Once

// preparePriming makes the buffer of three zero counts.
func (gl *GL) preparePriming() error {
	if gl.c.info.ParallelCompile && !gl.c.options.NoCompilerThreads {
		compilerThreads.Do(func() { gl.limitCompilerThreads(^uint32(0)) })
	}
	zeros, err := gl.NewBuffer(12, make([]byte, 12))
	gl.zeros = zeros
	count(gl.c, &gl.c.counted.Buffers, -gl.c.counted.Buffers) // Counters.Buffers is the caller's buffers
	return err
}

func (gl *GL) limitCompilerThreads(n uint32) {
	if gl.c.info.Has("GL_KHR_parallel_shader_compile") {
		gl45.MaxShaderCompilerThreadsKHR(n)
	} else {
		gl45.MaxShaderCompilerThreadsARB(n)
	}
}

// prime primes a program. It restores the current program and the indirect binding of
// an adopted context. In other contexts no code relies on state of earlier callbacks.
func (gl *GL) prime(p *shader.Program) error {
	began := time.Now()
	region := gl.c.options.begin(trace.Prime)
	defer func() { region.End() }()
	if gl.c.schedule != nil {
		program, indirect := gl.integer(gl45.CURRENT_PROGRAM), gl.integer(gl45.DISPATCH_INDIRECT_BUFFER_BINDING)
		defer func() {
			if !gl45.IsProgram(uint32(program)) {
				program = 0 // it was deleted, and existed only while it was current
			}
			gl45.UseProgram(uint32(program))
			gl45.BindBuffer(gl45.DISPATCH_INDIRECT_BUFFER, uint32(indirect))
		}()
	}
	count(gl.c, &gl.c.counted.Primes, 1)
	gl45.UseProgram(p.ID)
	if gl.c.info.VariableGroups && gl.workGroup(p.ID)[0] == 0 {
		gl45.DispatchComputeGroupSizeARB(0, 0, 0, 1, 1, 1) // local_size_variable cannot be indirect
	} else {
		gl45.BindBuffer(gl45.DISPATCH_INDIRECT_BUFFER, gl.zeros.ID)
		gl45.DispatchComputeIndirect(0)
	}
	if err := gl.Err(); err != nil {
		return fmt.Errorf("glctx: prime: %w", err)
	}
	p.PrimeNanos = time.Since(began).Nanoseconds()
	return nil
}
