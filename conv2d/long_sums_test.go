//go:build linux

package conv2d

import (
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// longSums are choices of kernels for GPUs whose loops llvmpipe ends before the last step.
var longSums = []struct {
	shape  Shape
	choice string // as a file has it
}{
	{GEMMProblem{M: 1, N: 4, K: 70_000}.Shape(), `{"algorithm":"gemm_block","params":{"bk":16,"bm":64,"bn":64,"fused":0,"pack_a":0,"pack_b":0,"split":1,"stages":1,"tm":8,"tn":4}}`},
	{GEMMProblem{M: 1, N: 4, K: 4_000}.Shape(), `{"algorithm":"gemm_block","params":{"bk":32,"bm":32,"bn":32,"fused":0,"pack_a":0,"pack_b":0,"split":1,"stages":1,"tm":32,"tn":32}}`},
	{GEMMProblem{M: 1, N: 4, K: 140_000}.Shape(), `{"algorithm":"gemm_row","params":{"ahead":1,"fused":1,"lanes":32,"slices":2,"split":1}}`},
	{Problem{N: 1, C: 7_200, H: 4, W: 4, K: 1, R: 3, S: 3}.Shape(), `{"algorithm":"implicit","params":{"bk":64,"bm":32,"bn":32,"buffers":1,"clamp":1,"slices":1,"split":1,"taps_first":1,"tm":8,"tn":8,"unroll":0}}`},
	{Problem{N: 1, C: 100_000, H: 4, W: 4, K: 1, R: 3, S: 3}.Shape(), `{"algorithm":"winograd2_fused","params":{"bk":16,"bm":16,"bn":4,"split":1,"tm":16,"tn":4}}`},
}

// A kernel for GPUs is refused where a software driver would cut its sums off, and taken
// elsewhere.
func TestLongSumsOfKernelsForGPUs(t *testing.T) {
	t.Parallel()
	software := softwareDevice
	software.maxInvocations, software.sharedBytes = 1024, 48<<10
	gpu := software
	gpu.software = false
	for _, test := range longSums {
		choice, err := decodeChoice([]byte(test.choice))
		if err != nil {
			t.Fatal(err)
		}
		for _, on := range []device{software, gpu} {
			var offers []offer
			if test.shape.Conv2D != nil {
				offers = offersOf(convAlgorithms, *test.shape.Conv2D, on)
			} else {
				offers = offersOf(gemmAlgorithms, *test.shape.GEMM, on)
			}
			for _, o := range offers {
				if o.name != choice.Algorithm {
					continue
				}
				_, err := o.sequence(choice.Params)
				if cut := err != nil && strings.Contains(err.Error(), "ends such loops early"); cut != on.software {
					t.Errorf("%v, software %v: %v: %v", test.shape, on.software, choice, err)
				}
			}
		}
	}
}

// No candidate is refused for its loops, up to the longest sums of which there are some.
func TestCandidatesEndTheirLoops(t *testing.T) {
	t.Parallel()
	on := softwareDevice
	on.maxInvocations, on.sharedBytes = 1024, 48<<10
	offers := offersOf(gemmAlgorithms, GEMMProblem{M: 500, N: 500, K: softwareMaxK}, on)
	offers = append(offers, offersOf(gemmAlgorithms, GEMMProblem{M: 4, N: 400, K: softwareMaxK}, on)...)
	tried := 0
	for _, o := range offers {
		for _, params := range o.candidates {
			tried++
			if _, err := o.sequence(params); err != nil {
				t.Errorf("%s %v: %v", o.name, params, err)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d candidates", tried)
	}
}

// A plan leaves out a kept choice that would cut its sums off.
func TestKeptChoicesOfLongSums(t *testing.T) {
	e, programs := newExecutor(t)
	if !e.Context().Info().Software() {
		t.Skip("for software drivers")
	}
	test := longSums[0]
	plan, err := NewPlan(t.Context(), e, programs, []Layer{{Shape: test.shape, Weights: slices.Repeat([]float32{1}, test.shape.GEMM.BLen())}},
		PlanOptions{Tunings: oneTuning{[]byte(test.choice)}})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Release()
	got := make([]float32, test.shape.GEMM.CLen())
	if err := plan.Run(t.Context(), slices.Repeat([]float32{1}, test.shape.GEMM.ALen()), got); err != nil {
		t.Fatal(err)
	}
	if want := float32(test.shape.GEMM.K); got[0] != want {
		t.Errorf("a sum of %v ones is %v", want, got[0])
	}
}

// A result of zeros is wrong however long its sums are.
func TestZerosOfLongSums(t *testing.T) {
	t.Parallel()
	info := glctx.Info{GPU: "llvmpipe", Limits: job.Limits{MaxStorage: 1 << 31}}
	for _, s := range []Shape{
		GEMMProblem{M: 1, N: 4, K: longSum}.Shape(),
		GEMMProblem{M: 1, N: 4, K: longSum + 1}.Shape(),
		GEMMProblem{M: 1, N: 4, K: 1 << 22}.Shape(),
		Problem{N: 1, C: 70_000, H: 3, W: 3, K: 1, R: 3, S: 3}.Shape(),
	} {
		of, err := newTask(s, info)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []kernel.Tensors{of.randomTensors(1), of.repeatedTensors(1)} {
			if r := Compare(make([]float32, of.output), of.shape.reference(in), Tolerance(of.sum)); r.OK() {
				t.Errorf("%v: %v", s, r)
			}
		}
	}
}
