package job

import "fmt"

// Job is one unit of work: inputs, one dispatch or a chain of them, outputs. A Job and its
// slices may be reused when Submit has returned, except for the To and Read of outputs, which
// are used until Wait has returned.
type Job struct {
	Dispatch
	Then    []Dispatch // further dispatches, each after the writes of the one before
	Inputs  []Input    // bound for every dispatch of the job
	Outputs []Output   // bound for every dispatch of the job

	TextureInputs  []TextureInput  // copied to textures before the first dispatch
	TextureOutputs []TextureOutput // copied from textures after the last dispatch
	Counters       []Counter       // bound for every dispatch of the job
}

// Count returns the number of dispatches in the job.
func (j *Job) Count() int { return 1 + len(j.Then) }

// At returns the i-th dispatch.
func (j *Job) At(i int) *Dispatch {
	if i == 0 {
		return &j.Dispatch
	}
	return &j.Then[i-1]
}

// Dispatch is one dispatch of a program. Every block, image, sampler and atomic counter
// buffer of the program must be bound, and every uniform set: bindings of other jobs are
// never used. Bindings and uniforms that the program does not use are ignored, since
// drivers differ in what they optimise away.
type Dispatch struct {
	// Program stays resident while the job is in flight. The caller may release it once
	// Submit has returned.
	Program Program

	// Host, if set, replaces Program: the host computes this part of the job. It excludes
	// all fields but Buffers.
	Host *HostCall

	// Groups is the number of work groups along x, y and z, each at least 1: {n, 1, 1} for
	// one dimension. Where a dispatch has Images or Textures, three zeros run nothing and make
	// the driver ready for them, as Get does for programs without.
	Groups [3]uint32

	// GroupSize is the number of invocations of a work group, for a program with
	// local_size_variable only, which cannot be Indirect.
	GroupSize [3]uint32

	// Indirect, if set, replaces Groups by counts in device memory. Where one is 0 nothing
	// runs, which is no error: outputs are then as other dispatches left them.
	Indirect *Indirect

	// Buffers are bound for this dispatch. They take precedence over inputs and outputs of
	// the job with the same binding.
	Buffers []Bound

	// Uniforms are the values of uniforms outside any block.
	Uniforms []Uniform

	// Params is the content of the uniform block at ParamsBinding, Blocks that of
	// others.
	Params        []byte
	ParamsBinding uint32
	Blocks        []Block

	// Operations is how many arithmetic operations the dispatch performs, for the
	// GFLOP/s that "shadercache list" shows of its program. Default: 0, not known.
	Operations float64

	Images   []Image   // of image uniforms
	Textures []Sampled // of sampler uniforms
}

// Indirect is the location of three uint32 work group counts in device memory.
// Counts beyond the device's limits are not detected.
type Indirect struct {
	Buffer Bindable
	Offset int // bytes, a multiple of 4
}

// Bindable is memory on the GPU that a job binds: a [Buffer], or memory of the executor that
// the job goes to.
type Bindable interface {
	Size() int // bytes
}

// Bound is a buffer at a storage binding.
type Bound struct {
	Binding  uint32
	Buffer   Bindable
	Offset   int  // bytes, a multiple of the GPU's alignment: 256 always is
	Size     int  // bytes; 0 is the rest of the buffer
	ReadOnly bool // the program only reads it: no barrier is needed between readers

	// Zero sets the range to zero before the dispatch, after the jobs submitted before, unless an
	// earlier dispatch of the job binds the same range to a storage block. It is an error beside
	// ReadOnly, and for a range that is not whole words.
	Zero bool
}

// Len returns Size, or the rest of the buffer where Size is 0.
func (b *Bound) Len() int {
	if b.Size == 0 {
		return b.Buffer.Size() - b.Offset
	}
	return b.Size
}

// Input is data for the storage block at Binding: Data, or written by Fill.
type Input struct {
	Binding uint32
	Data    []byte

	// Fill is called by Submit with Size bytes. It must write all of them, in order, and
	// not read them, and it must not use the device. On a GPU of this process they are
	// memory that the GPU reads, where the job fits into a slot of the executor (see
	// executor.Options.SlotBytes): the host copies nothing. A device of several GPUs may
	// call it again where one of them fails.
	Fill func(dst []byte)
	Size int
}

// Output is the destination of the storage block at Binding: it is copied to To, or passed
// to Read. It is zero before the job: what no dispatch writes stays so, but for Dirty.
type Output struct {
	Binding uint32
	To      []byte

	// Read is called by Wait, once, when the job has succeeded, with Size bytes that are
	// valid until it returns. It must not use the device. Where Fill would be called with
	// memory that the GPU reads, these are memory that it wrote.
	Read func(src []byte)
	Size int

	// Dirty leaves it as it is where the job begins, which saves a pass over its memory: what no
	// dispatch writes is what an earlier job of this process left. It is zero nevertheless
	// where a dispatch may run no group, and in a server.
	Dirty bool
}

// Bytes returns the data of the input, for a device that does not fill it in place: it calls
// Fill.
func (in *Input) Bytes() ([]byte, error) {
	n, err := in.Len()
	if err != nil || in.Fill == nil {
		return in.Data, err
	}
	data := make([]byte, n)
	in.Fill(data)
	return data, nil
}

// Bytes returns where the output is copied to, for a device that is not read in place: it
// passes them to Read afterwards, where that is set.
func (out *Output) Bytes() ([]byte, error) {
	n, err := out.Len()
	if err != nil || out.Read == nil {
		return out.To, err
	}
	return make([]byte, n), nil
}

func (in *Input) size() int   { return max(len(in.Data), in.Size) }
func (out *Output) size() int { return max(len(out.To), out.Size) }

// Len returns the number of bytes of the input, or ErrInvalid for none.
func (in *Input) Len() (int, error) {
	return hostLen(in.Data, in.Size, in.Fill != nil, "input", in.Binding, "Data", "Fill")
}

// Len returns the number of bytes of the output, or ErrInvalid for none.
func (out *Output) Len() (int, error) {
	return hostLen(out.To, out.Size, out.Read != nil, "output", out.Binding, "To", "Read")
}

// hostLen returns the length of a slice or the size given with a function.
func hostLen(slice []byte, size int, function bool, what string, binding uint32, sliceName, functionName string) (int, error) {
	fault := ""
	switch {
	case function && slice != nil:
		fault = "both " + sliceName + " and " + functionName
	case function && size <= 0:
		fault = fmt.Sprintf("%s and a Size of %d", functionName, size)
	case function:
		return size, nil
	case len(slice) == 0:
		fault = "neither " + sliceName + " nor " + functionName
	default:
		return len(slice), nil
	}
	return 0, fmt.Errorf("%w: %s at binding %d: has %s", ErrInvalid, what, binding, fault)
}
