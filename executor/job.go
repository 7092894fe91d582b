package executor

import (
	"math"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// Job is one unit of work: inputs, one dispatch or a chain of them, outputs.
// A Job and its slices may be reused when Submit returns, except for an Output's To
// and Read, which are used by Wait.
type Job struct {
	Dispatch
	Then    []Dispatch // further dispatches, with a barrier before each
	Inputs  []Input    // bound for every dispatch of the job
	Outputs []Output   // bound for every dispatch of the job
}

// Dispatch is one dispatch of a program. Every storage block and uniform block of
// the program must be bound, and every uniform set: bindings of other jobs are never
// used. Bindings and uniforms that the program does not use are ignored, since
// drivers differ in what they optimise away.
type Dispatch struct {
	// Program stays resident while the job is in flight: the executor retains
	// it. The caller's handle may be released once Submit has returned.
	Program *cache.Handle

	// Groups is the number of work groups along x, y and z. A dispatch with a 0
	// does nothing.
	Groups [3]uint32

	// Indirect, if set, replaces Groups by counts in device memory.
	Indirect *Indirect

	// Memory is bound for this dispatch. It takes precedence over inputs and
	// outputs of the job with the same binding.
	Memory []Bound

	// Uniforms are the values of uniforms outside any block.
	Uniforms []Uniform

	// Params is the content of the uniform block at ParamsBinding.
	Params        []byte
	ParamsBinding uint32
}

// Indirect is the location of three uint32 work group counts in device memory.
// Counts beyond the device's limits are not detected.
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
	ReadOnly bool // the program only reads it: no barrier is needed between readers
}

// Input is data for the storage block at Binding: Data, or written by Fill.
type Input struct {
	Binding uint32
	Data    []byte

	// Fill is called by Submit with Size bytes of mapped memory. It must write all
	// of them, in order, and not read them, which is slow. This job, other jobs of
	// its batch and jobs submitted later do not start before Fill has returned, so
	// it must not wait for them.
	Fill func(dst []byte)
	Size int
}

// Output is the destination of the storage block at Binding: it is copied to To, or
// passed to Read. Bytes that the kernel does not write are undefined.
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

// bases has the base of the values of each kind.
var bases = [...]shader.Base{intUniform: shader.IntBase, uintUniform: shader.UintBase, floatUniform: shader.FloatBase}

// fits reports whether a uniform of a type can have a value of kind k. The driver converts
// any value for a bool, and decides about types that have no kind, such as samplers.
func (k uniformKind) fits(t shader.Type) bool {
	if t.Opaque() != shader.NotOpaque || t.Components() != 1 {
		return true
	}
	base := t.Base()
	return base == shader.BoolBase || base == bases[k]
}

func (k uniformKind) String() string { return bases[k].String() }

// Int returns a value for an int or bool uniform.
func Int(name string, v int32) Uniform { return Uniform{name, intUniform, uint32(v)} }

// Uint returns a value for a uint uniform.
func Uint(name string, v uint32) Uniform { return Uniform{name, uintUniform, v} }

// Float returns a value for a float uniform.
func Float(name string, v float32) Uniform { return Uniform{name, floatUniform, math.Float32bits(v)} }

// Set sets the uniform in program, which is current, for callers that dispatch
// without an executor. A name that the program does not use is ignored.
func (u Uniform) Set(gl *glctx.GL, program uint32) {
	u.kind.set(gl, gl.UniformLocation(program, u.name), u.bits)
}

// set sets the uniform at location in the current program.
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
