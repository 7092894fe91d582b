//go:build linux

package conv2d

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// Params are the tunables of an algorithm: what its kernel takes as defines, and
// what decides its grid.
type Params map[string]int

// String is the parameters sorted by name, such as "bk=8 bm=128".
func (p Params) String() string {
	parts := make([]string, 0, len(p))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		parts = append(parts, fmt.Sprintf("%s=%d", name, p[name]))
	}
	return strings.Join(parts, " ")
}

// with is the parameters with another value.
func (p Params) with(name string, v int) Params {
	out := maps.Clone(p)
	out[name] = v
	return out
}

// or is the parameters with a value that they may lack.
func (p Params) or(name string, v int) Params {
	if _, there := p[name]; there {
		return p
	}
	return p.with(name, v)
}

// defines are the parameters as a kernel takes them: in capitals.
func (p Params) defines() shader.Defines {
	d := shader.Defines{}
	for name, v := range p {
		d[strings.ToUpper(name)] = strconv.Itoa(v)
	}
	return d
}

// Choice is an algorithm with its parameters: what a plan decides, what tuning
// compares, and what is kept of it.
//
//	algorithm         computes                         where
//	gemm_block        every matrix product             GPUs, blocks in shared memory
//	gemm_row          few rows, and small products     GPUs
//	gemm_register     every matrix product             software drivers
//	gemm_tiled        act(alpha * A*B) without gaps    everywhere, where it is asked for by name
//	implicit          convolutions as products         GPUs; padding is zeros
//	winograd2         3x3 filters, F(2x2,3x3)          GPUs; padding is zeros
//	winograd4         3x3 filters, F(4x4,3x3)          GPUs; padding is zeros, twice the error
//	depthwise         groups of up to 16 channels      everywhere; padding is zeros
//	conv2d_register   every convolution                software drivers
//	direct            every convolution                everywhere
type Choice struct {
	Algorithm string `json:"algorithm"`
	Params    Params `json:"params,omitempty"`
}

// String is the algorithm and its parameters.
func (c Choice) String() string { return strings.TrimSpace(c.Algorithm + " " + c.Params.String()) }

// algorithm is one way to compute problems of type P.
type algorithm[P any] struct {
	name string

	// candidates are the parameters worth trying for a valid problem on a device,
	// the likeliest first: the first is taken where nothing was tuned. There are
	// none where the algorithm cannot compute the problem or makes no sense there.
	candidates func(p P, on device) []Params

	// recipe builds the dispatches. It fails for parameters that it does not
	// understand: they may come from a file.
	sequence func(p P, params Params, on device) (kernel.Sequence, error)

	// tolerance is the error that the algorithm may have, see Compare.
	tolerance func(p P) float64
}

// device is what algorithms ask about the GPU.
type device struct {
	software       bool // the GPU is the CPU
	nvidia         bool
	sharedBytes    int
	maxInvocations int
	maxGroups      [3]int32
	simdBits       int // of the CPU's registers, where the GPU is the CPU; 0 where that is not known
	cpus           int // that such a GPU runs on
}

func deviceOf(info glctx.Info) device {
	return device{
		software:       info.Software(),
		nvidia:         strings.Contains(info.GPU, "NVIDIA"),
		sharedBytes:    info.MaxSharedBytes,
		maxInvocations: int(info.MaxInvocations),
		maxGroups:      info.MaxGroups,
		simdBits:       simdBitsOf(info.GPU),
		cpus:           runtime.NumCPU(),
	}
}

// The algorithms, the likeliest first.
var (
	gemmAlgorithms = []algorithm[GEMMProblem]{gemmRegisterAlgorithm, gemmRowAlgorithm, gemmBlockAlgorithm, gemmTiledAlgorithm}
	convAlgorithms = []algorithm[Problem]{
		convRegisterAlgorithm, depthwiseAlgorithm, winograd4Algorithm, implicitAlgorithm, winograd2Algorithm,
		directAlgorithm,
	}
)
