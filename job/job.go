package job

import "fmt"

// Job is one unit of work: inputs, one dispatch or a chain of them, outputs. A Job and its
// slices may be reused when Submit has returned, except for an Output's To, which is
// written until Wait has returned.
type Job struct {
	Dispatch
	Then    []Dispatch // further dispatches, each after the writes of the one before
	Inputs  []Input    // bound for every dispatch of the job
	Outputs []Output   // bound for every dispatch of the job
}

// Dispatches is an iterator over the dispatches of the job, in their order.
func (j *Job) Dispatches() func(yield func(*Dispatch) bool) {
	return func(yield func(*Dispatch) bool) {
		if !yield(&j.Dispatch) {
			return
		}
		for i := range j.Then {
			if !yield(&j.Then[i]) {
				return
			}
		}
	}
}

// Dispatch is one dispatch of a program. Every storage block and uniform block of the
// program must be bound, and every uniform set.
type Dispatch struct {
	Program Program
	Groups  [3]uint32 // work groups along x, y and z, each at least 1

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

// Len returns the number of bytes of the input, or ErrInvalid for none.
func (in *Input) Len() (int, error) {
	n, fault := hostLen(in.Data, in.Size, in.Fill != nil, "Data", "Fill")
	if fault != "" {
		return 0, fmt.Errorf("%w: input at binding %d: has %s", ErrInvalid, in.Binding, fault)
	}
	return n, nil
}

// Len returns the number of bytes of the output, or ErrInvalid for none.
func (out *Output) Len() (int, error) {
	n, fault := hostLen(out.To, out.Size, out.Read != nil, "To", "Read")
	if fault != "" {
		return 0, fmt.Errorf("%w: output at binding %d: has %s", ErrInvalid, out.Binding, fault)
	}
	return n, nil
}

// hostLen returns the length of a slice or the size given with a function, or what is wrong.
func hostLen(slice []byte, size int, function bool, sliceName, functionName string) (n int, fault string) {
	switch {
	case function && slice != nil:
		return 0, "both " + sliceName + " and " + functionName
	case function && size <= 0:
		return 0, fmt.Sprintf("%s and a Size of %d", functionName, size)
	case function:
		return size, ""
	case len(slice) == 0:
		return 0, "neither " + sliceName + " nor " + functionName
	}
	return len(slice), ""
}
