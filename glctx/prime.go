//go:build linux

package glctx

import (
	"errors"
	"fmt"
	"time"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"

	"github.com/shadercache/shadercache/binary"
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

func (gl *GL) describeAndPrime(p *binary.Program) error {
	if err := gl.describe(p); err != nil {
		return err
	}
	return gl.prime(p)
}

// prime leaves the current program and the indirect binding of an adopted
// context as they were. Our own context has no state that anybody relies on
// from callback to callback.
func (gl *GL) prime(p *binary.Program) error {
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

// describe reads what the program shows to the outside.
func (gl *GL) describe(p *binary.Program) error {
	var size int32
	gl45.GetProgramiv(p.ID, gl45.PROGRAM_BINARY_LENGTH, &size)
	p.Bytes = int(size)
	var group [3]int32
	gl45.GetProgramiv(p.ID, gl45.COMPUTE_WORK_GROUP_SIZE, &group[0])
	for axis, v := range group {
		p.Interface.WorkGroup[axis] = uint32(v)
	}
	for _, k := range resourceKinds {
		p.Interface.Resources = gl.resources(p.Interface.Resources, p.ID, k)
	}
	p.Interface.Sort()
	if err := gl.Err(); err != nil {
		return fmt.Errorf("glctx: read the program's interface: %w", err)
	}
	return nil
}

// resourceKind is how one kind of resource is asked for.
type resourceKind struct {
	kind       binary.ResourceKind
	of         uint32    // GL program interface
	properties [3]uint32 // binding or location, bytes or array size, block
}

var resourceKinds = []resourceKind{
	{binary.StorageBuffer, gl45.SHADER_STORAGE_BLOCK, [3]uint32{gl45.BUFFER_BINDING, gl45.BUFFER_DATA_SIZE}},
	{binary.UniformBuffer, gl45.UNIFORM_BLOCK, [3]uint32{gl45.BUFFER_BINDING, gl45.BUFFER_DATA_SIZE}},
	{binary.AtomicCounter, gl45.ATOMIC_COUNTER_BUFFER, [3]uint32{gl45.BUFFER_BINDING, gl45.BUFFER_DATA_SIZE}},
	{binary.Uniform, gl45.UNIFORM, [3]uint32{gl45.LOCATION, gl45.ARRAY_SIZE, gl45.BLOCK_INDEX}},
}

// resources appends the active resources of one kind. Uniforms inside a block
// belong to the block and are left out.
func (gl *GL) resources(list []binary.Resource, program uint32, k resourceKind) []binary.Resource {
	var count int32
	gl45.GetProgramInterfaceiv(program, k.of, gl45.ACTIVE_RESOURCES, &count)
	wanted := int32(2)
	if k.kind == binary.Uniform {
		wanted = 3
	}
	for i := range uint32(max(count, 0)) {
		values := [3]int32{-1, -1, -1}
		gl45.GetProgramResourceiv(program, k.of, i, wanted, &k.properties[0], wanted, nil, &values[0])
		if k.kind == binary.Uniform && values[2] >= 0 {
			continue
		}
		r := binary.Resource{Kind: k.kind, Binding: values[0], Bytes: values[1]}
		if k.kind != binary.AtomicCounter {
			r.Name = resourceName(program, k.of, i)
		}
		list = append(list, r)
	}
	return list
}

// longestName is the longest resource name that is told apart from others.
const longestName = 256

func resourceName(program, of, index uint32) string {
	var buffer [longestName]uint8
	var length int32
	gl45.GetProgramResourceName(program, of, index, longestName, &length, &buffer[0])
	return string(buffer[:min(max(length, 0), longestName)])
}

func isOutOfMemory(err error) bool { return errors.Is(err, binary.ErrOutOfMemory) }
