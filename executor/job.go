//go:build linux

package executor

import (
	"math"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
)

// Job is one unit of work: inputs, one dispatch or a chain of them, outputs.
// Submit has read everything in it when it returns, except where an Output's To
// will be written to and its Read called, so that a Job and its slices may be
// used again.
type Job struct {
	Dispatch
	Then    []Dispatch // further dispatches, each after the one before has written
	Inputs  []Input    // bound for every dispatch of the job
	Outputs []Output   // bound for every dispatch of the job
}

// Dispatch is one start of a program. Every storage block and uniform block of
// the program must be bound, and every uniform set: what is left over from
// another job is never seen. What the program does not use is ignored, since
// drivers differ in what they optimise away.
type Dispatch struct {
	// Program stays resident while the job is in flight: the executor retains
	// it. The caller's handle may be released once Submit has returned.
	Program *cache.Handle

	// Groups is the number of work groups along x, y and z. With a 0 in it the
	// dispatch does nothing.
	Groups [3]uint32

	// Indirect, where it is set, is where the number of work groups stands on
	// the device, in place of Groups.
	Indirect *Indirect

	// Memory is bound for this dispatch. It goes before the job's inputs and
	// outputs where they have the same binding.
	Memory []Bound

	// Uniforms are those outside any block.
	Uniforms []Uniform

	// Params is the content of the uniform block at ParamsBinding.
	Params        []byte
	ParamsBinding uint32
}

// Indirect is a place in device memory that holds three uint32 counts of work
// groups. Counts beyond the device's limits are not noticed.
type Indirect struct {
	Memory *Memory
	Offset int // bytes, a multiple of 4
}

// Bound is device memory at a storage binding.
type Bound struct {
	Binding  uint32
	Memory   *Memory
	Offset   int  // bytes, a multiple of Info.StorageAlignment
	Size     int  // bytes; 0 is the rest of the memory
	ReadOnly bool // the program only reads it: readers need no barrier between them
}

// Input is data for the storage block at Binding: Data, or what Fill produces.
type Input struct {
	Binding uint32
	Data    []byte

	// Fill is called by Submit with Size bytes of mapped memory, and has to
	// write all of them, in order: reading them is slow. Neither this job nor
	// those of the same batch and after it start before Fill has returned, so it
	// must not wait for another job.
	Fill func(dst []byte)
	Size int
}

// Output is where the storage block at Binding goes: it is copied to To, or
// shown to Read. What the kernel does not write is undefined.
type Output struct {
	Binding uint32
	To      []byte

	// Read is called by Wait with Size bytes of mapped memory, which are valid
	// until it returns.
	Read func(src []byte)
	Size int
}

// Uniform is a value for a uniform outside any block.
type Uniform struct {
	name string
	kind uniformKind
	bits uint32
}

type uniformKind uint8

const (
	intUniform uniformKind = iota
	uintUniform
	floatUniform
)

// Int is a value for an int or bool uniform.
func Int(name string, v int32) Uniform { return Uniform{name, intUniform, uint32(v)} }

// Uint is a value for a uint uniform.
func Uint(name string, v uint32) Uniform { return Uniform{name, uintUniform, v} }

// Float is a value for a float uniform.
func Float(name string, v float32) Uniform { return Uniform{name, floatUniform, math.Float32bits(v)} }

// Set gives the uniform of that name its value in the current program, for those
// who dispatch by themselves. A name that the program does not use is ignored.
func (u Uniform) Set(gl *glctx.GL, program uint32) {
	u.kind.set(gl, gl.UniformLocation(program, u.name), u.bits)
}

// set sets a uniform of the current program.
func (k uniformKind) set(gl *glctx.GL, location int32, bits uint32) {
	switch k {
	case intUniform:
		gl.SetInt(location, int32(bits))
	case uintUniform:
		gl.SetUint(location, bits)
	case floatUniform:
		gl.SetFloat(location, math.Float32frombits(bits))
	}
}
