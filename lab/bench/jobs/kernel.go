package jobs

import (
	"sync"

	"github.com/shadercache/shadercache/shader"
)

// kernelText makes rounds steps of a linear congruential generator with every word of
// the input. Each step needs the one before, so that compilers keep the loop; the CPU
// computes the result without it: see affine.
const kernelText = `
layout(local_size_x = 256) in;
layout(std430, binding = 0) restrict readonly buffer Input { uint inputs[]; };
layout(std430, binding = 1) restrict writeonly buffer Output { uint outputs[]; };
uniform uint rounds;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < uint(inputs.length())) {
        uint x = inputs[i];
        for (uint k = 0u; k < rounds; ++k) {
            x = x * 1664525u + 1013904223u;
        }
        outputs[i] = x;
    }
}`

// sampleText copies the stamps of a job: see place.
const sampleText = `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict readonly buffer Input { uint inputs[]; };
layout(std430, binding = 1) restrict writeonly buffer Output { uint outputs[]; };
uniform uint stride;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < uint(outputs.length())) {
        outputs[i] = inputs[i * stride];
    }
}`

var (
	kernelSource = sync.OnceValue(func() *shader.Source { return shader.MustSource("bench_ring", kernelText, nil) })
	sampleSource = sync.OnceValue(func() *shader.Source { return shader.MustSource("bench_sample", sampleText, nil) })
)

// Kernel returns the kernel of all jobs: the storage block at binding 0 is its input, that
// at 1 its output, and the uniform rounds is its length. Its work groups are KernelLocal
// words.
func Kernel() *shader.Source { return kernelSource() }

// KernelLocal is the number of words of a work group of Kernel.
const KernelLocal = kernelLocal

// MostRounds returns the largest number of rounds on a GPU.
func MostRounds(software bool) uint32 {
	if software {
		return maxRoundsSoftware
	}
	return maxRounds
}

// Expected returns what Kernel makes of a word, as a function that is cheap to call.
func Expected(rounds uint32) func(word uint32) uint32 {
	f := newAffine(rounds)
	return func(word uint32) uint32 { return f.a*word + f.c }
}

const (
	kernelLocal = 256 // invocations of a work group of the kernel
	sampleLocal = 64

	maxRounds         = 4_000_000
	maxRoundsSoftware = 30_000 // llvmpipe ends loops silently after 65,535 iterations
)

// groupsFor returns the work groups that n invocations need.
func groupsFor(n, local int) uint32 { return uint32((n + local - 1) / local) }

// affine is what rounds steps do to a word: x becomes a*x + c.
type affine struct{ a, c uint32 }

func newAffine(rounds uint32) affine {
	f := affine{1, 0}
	for range rounds {
		f = affine{f.a * 1664525, f.c*1664525 + 1013904223}
	}
	return f
}

// affine returns newAffine(rounds), which takes milliseconds for long kernels, and
// computes it once for each number of rounds.
func (r *run) affine(rounds uint32) affine {
	f, known := r.affines[rounds]
	if !known {
		f = newAffine(rounds)
		r.affines[rounds] = f
	}
	return f
}
