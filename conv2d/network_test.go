//go:build linux

package conv2d

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// stripes are pictures with an edge in a direction of its own each.
func stripes(pictures int) []float32 {
	values := make([]float32, pictures*SampleSide*SampleSide)
	for i := range values {
		n, y, x := i/SampleSide/SampleSide, i/SampleSide%SampleSide, i%SampleSide
		sine, cosine := math.Sincos(2 * math.Pi * float64(n) / float64(pictures))
		if float64(x-SampleSide/2)*cosine+float64(y-SampleSide/2)*sine > 0 {
			values[i] = 1
		}
	}
	return values
}

// TestNetworkThreeWays runs the network cold, with everything resident, and in
// another cache from disk, with many jobs in flight, and counts the compiles.
func TestNetworkThreeWays(t *testing.T) {
	context, dir := gltest.Open(t), t.TempDir()
	const pictures = 3
	layers := SampleNetwork(pictures)
	run := func(name string, programs *cache.Cache, first bool) {
		e, err := executor.New(context, programs, executor.Options{SlotBytes: 1 << 16, SlotJobs: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		before := context.Counters()
		n, err := NewPlan(t.Context(), e, programs, layers, PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Release()
		after := context.Counters()
		if compiles := after.Compiles - before.Compiles; (compiles > 0) != first {
			t.Errorf("%s: %d compiles", name, compiles)
		}
		runNetwork(t, e, n, pictures)
	}
	programs := newCache(t, context, dir)
	run("cold", programs, true)
	run("resident", programs, false)
	if err := programs.Close(); err != nil {
		t.Fatal(err)
	}
	run("from disk", newCache(t, context, dir), false)
}

// runNetwork keeps several jobs in flight, with other pictures each.
func runNetwork(t *testing.T, e *executor.Executor, n *Plan, pictures int) {
	t.Helper()
	var inputs, outputs [5][]float32
	var pending [5]*executor.Pending
	for i := range pending {
		inputs[i] = stripes(pictures)
		for k := range inputs[i] {
			inputs[i][k] *= 1 + float32(i)/4
		}
		outputs[i] = poisoned(n.Info().Output)
		job, err := n.Job(inputs[i], outputs[i])
		if err != nil {
			t.Fatal(err)
		}
		if pending[i], err = e.Submit(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range pending {
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := n.Reference(inputs[i])
		for k, v := range outputs[i] {
			// What rounding really does to numbers from 0 to 1, with room for every
			// algorithm.
			if d := math.Abs(float64(v) - want.Values[k]); !(d < 1e-4) {
				t.Errorf("job %d: element %d is %v, should be %v", i, k, v, want.Values[k])
			}
		}
		if r := Compare(outputs[i], want, 1); !r.OK() {
			t.Errorf("job %d: %v", i, r)
		}
	}
	if slices.Equal(outputs[0], outputs[4]) {
		t.Error("other pictures make the same numbers")
	}
}

// TestSampleNetworkFindsEdges checks that the first layer answers loudest to an edge
// in its own direction.
func TestSampleNetworkFindsEdges(t *testing.T) {
	const directions = 8
	edges := SampleNetwork(directions)[0]
	out := ReferenceConv2D(*edges.Shape.Conv2D, stripes(directions), edges.Weights, nil).Values
	plane := 28 * 28
	for n := range directions {
		loudest, most := -1, 0.0
		for k := range directions {
			if v := slices.Max(out[(n*directions+k)*plane:][:plane]); v > most {
				loudest, most = k, v
			}
		}
		if loudest != n {
			t.Errorf("an edge in direction %d is loudest in filter %d", n, loudest)
		}
	}
}

func TestNetworksRefuse(t *testing.T) {
	e, programs := newExecutor(t)
	layers := SampleNetwork(1)
	for want, bad := range map[string][]Layer{
		"without layers": nil,
		"layer mix: it takes 1568 elements, and edges makes 6272": {layers[0], layers[2]},
		"weights has 0": {{Name: "a", Shape: plain(2, 2, 2).Shape(), Weights: []float32{}}},
		"changes an output that is there": {
			{Name: "b", Shape: GEMMProblem{M: 2, N: 2, K: 2, Factors: AlphaBeta(1, 1)}.Shape(), Weights: make([]float32, 4)},
			{Name: "a", Shape: plain(2, 2, 2).Shape(), Weights: make([]float32, 4)},
		},
	} {
		if _, err := NewPlan(t.Context(), e, programs, bad, PlanOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	added, err := NewPlan(t.Context(), e, programs, []Layer{
		{Name: "b", Shape: GEMMProblem{M: 2, N: 2, K: 2, Factors: AlphaBeta(1, 1)}.Shape(), Weights: make([]float32, 4)},
	}, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer added.Release()
	if _, err := added.Job(make([]float32, 4), make([]float32, 4)); err == nil || !strings.Contains(err.Error(), "give it device memory") {
		t.Errorf("a job of a product that is added: %v", err)
	}
	n, err := NewPlan(t.Context(), e, programs, layers, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Release()
	if _, err := n.Job(make([]float32, 5), make([]float32, n.Info().Output)); err == nil || !strings.Contains(err.Error(), "input has 5") {
		t.Errorf("a short input: %v", err)
	}
}

// TestJobsHaveWeightsOfOneVersion makes jobs while the weights of both layers change: a job
// never has those of two versions, and never some that are gone.
func TestJobsHaveWeightsOfOneVersion(t *testing.T) {
	e, programs := newExecutor(t)
	const n = 16
	layers := []Layer{{Shape: plain(1, n, n).Shape()}, {Shape: plain(1, n, n).Shape()}}
	p, err := NewPlan(t.Context(), e, programs, layers, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	// A layer of version v multiplies by 1 or by 2.
	set := func(v uint64) error {
		weights := make([]float32, 2*n*n)
		for i := range 2 * n {
			weights[i/n*n*n+i%n*(n+1)] = float32(1 + v%2)
		}
		_, err := p.SetWeights(t.Context(), v, weights, nil)
		return err
	}
	if err := set(1); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		var err error
		for v := uint64(2); v < 200 && err == nil; v++ {
			err = set(v)
		}
		ended <- err
	}()
	input := RandomValues(n, 1)
	seen := map[float32]int{}
	for running := true; running; {
		select {
		case err := <-ended:
			if running = false; err != nil {
				t.Fatal(err)
			}
		default:
		}
		output := poisoned(n)
		p.using.RLock() // as plans of devices do
		j, err := p.Job(input, output)
		if err != nil {
			t.Fatal(err)
		}
		pending, err := e.Submit(t.Context(), j)
		p.using.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
		if err := pending.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		factor := output[0] / input[0]
		for i := range output {
			if factor != 1 && factor != 4 || output[i] != factor*input[i] {
				t.Fatalf("element %d is %v for %v", i, output[i], input[i])
			}
		}
		seen[factor]++
	}
	if seen[1] == 0 || seen[4] == 0 {
		t.Logf("results of both versions were not seen: %v", seen)
	}
}
