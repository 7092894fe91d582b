package shadercache

// Job is one unit of work: inputs, one dispatch or a chain of them, outputs. A Job and its
// slices may be reused when Submit has returned, except for an Output's To, which is
// written until Wait has returned.
type Job struct {
	Dispatch
	Then    []Dispatch // further dispatches, each after the writes of the one before
	Inputs  []Input    // bound for every dispatch of the job
	Outputs []Output   // bound for every dispatch of the job
}

// Dispatch is one dispatch of a program. Every storage block and uniform block of the
// program must be bound, and every uniform set.
type Dispatch struct {
	Program Program
	Groups  [3]uint32 // work groups along x, y and z

	// Buffers are bound for this dispatch. They take precedence over inputs and outputs.
	Buffers []Bound

	// Uniforms are the values of uniforms outside any block.
	Uniforms []Uniform

	// Params is the content of the uniform block at ParamsBinding.
	Params        []byte
	ParamsBinding uint32
}

// Bound is a buffer at a storage binding.
type Bound struct {
	Binding  uint32
	Buffer   Buffer
	Offset   int  // bytes, a multiple of the GPU's alignment: 256 always is
	Size     int  // bytes; 0 is the rest of the buffer
	ReadOnly bool // the program only reads it
}

// Input is data for the storage block at Binding.
type Input struct {
	Binding uint32
	Data    []byte
}

// Output is the destination of the storage block at Binding. Bytes that the program does
// not write are undefined.
type Output struct {
	Binding uint32
	To      []byte
}

// Uniform is a value for a uniform outside any block.
type Uniform struct {
	name  string
	value any // int32, uint32 or float32
}

// Int returns a value for an int or bool uniform.
func Int(name string, v int32) Uniform { return Uniform{name, v} }

// Uint returns a value for a uint uniform.
func Uint(name string, v uint32) Uniform { return Uniform{name, v} }

// Float returns a value for a float uniform.
func Float(name string, v float32) Uniform { return Uniform{name, v} }
