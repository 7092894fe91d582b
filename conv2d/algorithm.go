//go:build linux

package conv2d

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/conv2d/internal/sgemm"
	"github.com/shadercache/shadercache/glctx"
)

// Choice is an algorithm with its parameters. A plan makes a choice, a search
// compares choices and keeps the fastest.
//
//	algorithm         computes                         where
//	gemm_block        every matrix product             GPUs, tiles in shared memory
//	gemm_row          skinny and small products        GPUs
//	gemm_register     every matrix product             software drivers, a CPU micro-kernel
//	gemm_cpu          every matrix product             software drivers on x86-64, without a kernel
//	gemm_tiled        act(alpha * A*B) without gaps    everywhere, by name only
//	implicit          convolutions as products         GPUs; padding is zeros
//	winograd2         3x3 filters, F(2x2,3x3)          GPUs; padding is zeros
//	winograd4         3x3 filters, F(4x4,3x3)          GPUs; padding is zeros, twice the error
//	winograd2_fused   as winograd2, in one dispatch    GPUs; padding is zeros
//	depthwise         groups of up to 16 channels      everywhere; padding is zeros
//	conv2d_cpu        1x1 filters, one group           software drivers on x86-64, without a kernel
//	conv2d_register   every convolution                software drivers, a CPU micro-kernel
//	direct            every convolution                everywhere
type Choice struct {
	Algorithm string `json:"algorithm"`
	Params    Params `json:"params,omitempty"`
}

// String returns the algorithm and its parameters as text.
func (c Choice) String() string {
	if c.Params == nil {
		return c.Algorithm
	}
	return strings.TrimSpace(c.Algorithm + " " + c.Params.String())
}

// algorithm is one way to compute problems of type P. [newAlgorithm] makes one.
type algorithm[P any] struct {
	name   string
	decode func(data []byte) (Params, error) // reads its parameters

	// candidates are the parameters worth trying for a valid problem on a device,
	// the likeliest first: the first is taken where nothing was tuned. There are
	// none where the algorithm cannot compute the problem or makes no sense there.
	candidates func(p P, on device) []Params

	// sequence returns the dispatches. It fails for parameters that the algorithm
	// does not take: they may come from a file. It fails too where the device cannot
	// start as many groups as a dispatch has.
	sequence func(p P, params Params, on device) (kernel.Sequence, error)

	// tolerance is the error that the algorithm may have, see Compare.
	tolerance func(p P) float64
}

// newAlgorithm makes an algorithm with parameters of type T.
func newAlgorithm[P fmt.Stringer, T Params](
	name string, candidates func(P, device) []T, sequence func(P, T, device) (kernel.Sequence, error), tolerance func(P) float64,
) algorithm[P] {
	return algorithm[P]{
		name:   name,
		decode: decodeParams[T],
		candidates: func(p P, on device) []Params {
			var list []Params
			for _, params := range candidates(p, on) {
				list = append(list, params)
			}
			return list
		},
		sequence: func(p P, params Params, on device) (kernel.Sequence, error) {
			own, ok := params.(T)
			if !ok {
				return kernel.Sequence{}, fmt.Errorf("conv2d: %s takes %T, not %T", name, own, params)
			}
			if err := checkRange(own); err != nil {
				return kernel.Sequence{}, err
			}
			made, err := sequence(p, own, on)
			if err != nil {
				return kernel.Sequence{}, err
			}
			for _, s := range made.All() {
				if err := checkGrids(p, on, s.Groups); err != nil {
					return kernel.Sequence{}, err
				}
			}
			return made, nil
		},
		tolerance: tolerance,
	}
}

// sumTolerance is the tolerance of an algorithm that adds products up.
func sumTolerance[P interface{ ReductionLen() int }](p P) float64 { return Tolerance(p.ReductionLen()) }

// device has the properties of a GPU that algorithms depend on.
type device struct {
	software       bool   // the GPU is the CPU
	host           bool   // the host can compute in the GPU's buffers, by package sgemm
	model          string // of the shipped table: see TableModel
	sharedBytes    int
	maxInvocations int
	maxGroups      [3]int32
	simdBits       int // of the CPU's registers, where the GPU is the CPU; 0 where that is not known
	cpus           int // that such a GPU runs on
}

func deviceOf(info glctx.Info) device {
	return device{
		software:       info.Software(),
		host:           info.Software() && sgemm.Supported(),
		model:          TableModel(info),
		sharedBytes:    info.MaxSharedBytes,
		maxInvocations: int(info.MaxInvocations),
		maxGroups:      info.MaxGroups,
		simdBits:       simdBitsOf(info.GPU),
		cpus:           runtime.NumCPU(),
	}
}

// The algorithms, the likeliest first.
var (
	gemmAlgorithms = []algorithm[GEMMProblem]{gemmCPUAlgorithm, gemmMicroAlgorithm, gemmSkinnyAlgorithm, gemmBlockAlgorithm, gemmTiledAlgorithm}
	convAlgorithms = []algorithm[Problem]{
		convCPUAlgorithm, convMicroAlgorithm, depthwiseAlgorithm, winograd4Algorithm, implicitAlgorithm, winograd2Algorithm,
		fusedAlgorithm, directAlgorithm,
	}
)
