//go:build linux

package conv2d

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/conv2d/internal/parallel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// Programs with all extents compiled in compute one problem only. A large one is computed
// whole, from values that are cheap to make. Every element of the output must have been
// written, and a sample of them is compared with the CPU, which computes no others.
const (
	// sampleElements is the size of a sample, where checkFLOPs allows it. It finds a
	// fault in 1 % of the elements with a probability of 0.99997.
	sampleElements = 1024
	leastElements  = 64

	// Larger problems are not checked.
	sampleBytes         = 512 << 20 // all memory on the device
	sampleFLOPs         = 1 << 37   // 14 ms at 10 TFLOP/s
	sampleFLOPsSoftware = 1 << 28
)

// checkSample computes the problem of the plan. It returns shader.ErrCheckLater where that
// would take too long, or more memory than there is.
func (p *part) checkSample() error {
	if !p.isSampled(p.e.Context().Info()) {
		return shader.ErrCheckLater
	}
	in := p.repeatedTensors(1)
	got, err := p.compute(p.sequence, in, p.output)
	if errors.Is(err, shader.ErrOutOfMemory) {
		return shader.ErrCheckLater
	}
	if err != nil {
		return err
	}
	return p.compareSample(got, in, p.tolerance).Err()
}

// isSampled reports whether a device can compute the problem of the plan within the bounds
// of a check.
func (p *part) isSampled(info glctx.Info) bool {
	limit := int64(sampleFLOPs)
	if info.Software() {
		limit = sampleFLOPsSoftware
	}
	elements := saturatedSum(int64(p.input), int64(p.weights), int64(p.bias), int64(p.output),
		int64(p.sequence.PackedLen), int64(p.sequence.WorkspaceLen))
	return p.flops <= limit && elements <= sampleBytes/4
}

// CompareSample compares a result with the CPU: elements that hold Poison, and a sample of
// up to 1024 of them, which are computed one by one, so that large problems can be checked.
// bias is nil where there is none. It returns an error for an invalid problem and slices of
// other lengths.
func CompareSample(s Shape, info glctx.Info, input, weights, bias, got []float32, tolerance float64) (Report, error) {
	t, err := newTask(s, info)
	if err == nil {
		err = checkAll(length{"input", len(input), t.input}, length{"weights", len(weights), t.weights},
			length{"bias", len(bias), t.bias}, length{"output", len(got), t.output})
	}
	if err != nil {
		return Report{}, err
	}
	return t.compareSample(got, kernel.Tensors{Input: input, Weights: weights, Bias: bias}, tolerance), nil
}

// compareSample reports the elements that hold Poison, and those of the sample that
// differ from the CPU's.
func (t task) compareSample(got []float32, in kernel.Tensors, tolerance float64) Report {
	r := Report{Elements: len(got), Tolerance: tolerance, Worst: -1}
	if !t.keepsOutput {
		for i, v := range got {
			if math.Float32bits(v) == Poison {
				r.note(i, v, 0, 0)
			}
		}
	}
	sample := t.sample()
	at, want := make([]int, len(sample)), newExpected(len(sample))
	parallel.For(len(sample), func(i int) {
		at[i], want.Values[i], want.Magnitudes[i] = t.shape.of().expectedElement(in, sample[i])
	})
	for i, index := range at {
		r.note(index, got[index], want.Values[i], want.Magnitudes[i])
	}
	return r
}

// sample returns numbers of elements, one from each of equal parts of the output: from
// every image and filter where there are fewer of these.
func (t task) sample() []int {
	elements := t.shape.of().elements()
	n := min(elements, sampleElements, max(leastElements, checkFLOPs/(2*max(1, t.sum))))
	random := rand.New(rand.NewPCG(2, 0))
	list := make([]int, n)
	for i := range list {
		first, next := i*elements/n, (i+1)*elements/n
		list[i] = first + random.IntN(next-first)
	}
	return list
}

// repeatedTensors is randomTensors with values that repeat.
func (t task) repeatedTensors(seed uint64) kernel.Tensors { return t.tensors(seed, repeatedValues) }

// valuePeriod is a prime, so that values repeat neither with the rows of a tensor nor with
// its planes.
const valuePeriod = 65_521

// repeatedValues is RandomValues for many values, at the cost of a copy.
func repeatedValues(n int, seed uint64) []float32 {
	values := RandomValues(min(n, valuePeriod), seed)
	return slices.Repeat(values, ceilDiv(n, valuePeriod))[:n]
}
