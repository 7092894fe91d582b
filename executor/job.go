package executor

import (
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
)

// Job is one unit of work: inputs, one dispatch or a chain of them, outputs.
// A Job and its slices may be reused when Submit returns, except for an Output's To
// and Read, which are used by Wait.
type Job struct {
	Dispatch
	Then    []Dispatch // further dispatches, with a barrier before each
	Inputs  []Input    // bound for every dispatch of the job
	Outputs []Output   // bound for every dispatch of the job

	TextureInputs  []TextureInput  // copied to textures before the first dispatch
	TextureOutputs []TextureOutput // copied from textures after the last dispatch
	Counters       []Counter       // bound for every dispatch of the job
}

// Dispatch is one dispatch of a program. Every block, image, sampler and atomic counter
// buffer of the program must be bound, and every uniform set: bindings of other jobs are
// never used. Bindings and uniforms that the program does not use are ignored, since
// drivers differ in what they optimise away.
type Dispatch struct {
	// Program stays resident while the job is in flight: the executor retains
	// it. The caller's handle may be released once Submit has returned.
	Program *cache.Handle

	// Host, if set, replaces Program: the host computes this part of the job. It excludes
	// all fields but Memory.
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

	// Memory is bound for this dispatch. It takes precedence over inputs and
	// outputs of the job with the same binding.
	Memory []Bound

	// Uniforms are the values of uniforms outside any block.
	Uniforms []job.Uniform

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

	// Zero sets the range to zero before the first dispatch of the job that uses it, after
	// the jobs submitted before.
	Zero bool
}

// Input is data for the storage block at Binding: see package job. Its Fill is called by Submit
// with mapped memory. This job, other jobs of its batch and jobs submitted later do not start
// before Fill has returned, so it must not wait for them.
type Input = job.Input

// Output is the destination of the storage block at Binding: see package job. Its Read is called
// by Wait with mapped memory. It is zero also with Dirty where a dispatch of the job may run no
// group: one with Indirect, or with Groups of three zeros.
type Output = job.Output
