//go:build linux

package conv2d

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/shader"
)

// planVariable is the cache directory of a process that computes a shape; the other
// variables are the shape, and the algorithm for GPUs where the plan is not to choose.
const (
	planVariable      = "CONV2D_TEST_PLAN"
	shapeVariable     = "CONV2D_TEST_SHAPE"
	algorithmVariable = "CONV2D_TEST_ALGORITHM"
)

// It runs in place of the tests.
func init() {
	dir := os.Getenv(planVariable)
	if dir == "" {
		return
	}
	if err := computeShape(dir, os.Getenv(shapeVariable), os.Getenv(algorithmVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// planCounters are the counters that the test reads.
type planCounters struct {
	Compiles   uint64 `json:"compiles"`
	DiskHits   uint64 `json:"disk_hits"`
	Wrong      uint64 `json:"wrong_answers"`
	Dispatches uint64 `json:"dispatches"` // of the context, while the plan was made
}

// computeShape computes a problem, compares every element and prints the counters.
func computeShape(dir, word, algorithm string) error {
	gpu, err := shadercache.Open(shadercache.Options{Dir: dir})
	if err != nil {
		return err
	}
	s, err := ParseShape(word)
	if err != nil {
		return err
	}
	t, err := newTask(s, gpu.Context.Info())
	if err != nil {
		return err
	}
	ctx := context.Background()
	before := gpu.Context.Counters().Dispatches
	o := PlanOptions{NoCPU: true}
	if algorithm != "" {
		o.Choice = &Choice{algorithm, ImplicitParams{BM: 32, BN: 32, BK: 8, TM: 8, TN: 4, Slices: 1, Split: 1, Buffers: 2, TapsFirst: 1, Clamp: 1}}
	}
	plan, err := NewPlan(ctx, gpu.Executor, gpu.Cache, []Layer{{Shape: s}}, o)
	if err != nil {
		return err
	}
	var got planCounters
	got.Dispatches = gpu.Context.Counters().Dispatches - before
	in := t.randomTensors(7)
	if _, err := plan.SetWeights(ctx, 1, in.Weights, in.Bias); err != nil {
		return err
	}
	output := make([]float32, t.output)
	if err := plan.Run(ctx, in.Input, output); err != nil {
		return err
	}
	if err := Compare(output, t.shape.reference(in), plan.first().tolerance).Err(); err != nil {
		return err
	}
	plan.Release()
	counters := gpu.Cache.Stats().Counters
	got.Compiles, got.DiskHits, got.Wrong = counters.Compiles, counters.DiskHits, counters.WrongAnswers
	if err := gpu.Close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}

// A driver that accepts a binary and computes wrong costs a compile: the result is right.
// A binary that passed is not checked again. The last two have no problem below checkFLOPs.
func TestPlanChecksLoadedPrograms(t *testing.T) {
	gltest.Open(t)
	for _, c := range []struct{ word, algorithm string }{
		{"gemm:33x20x70", ""}, {"conv2d:1x3x20x20-5,3x3,p1,relu", ""},
		{"conv2d:1x24x40x40-56,3x3,p1,bias,relu", "implicit"}, {"conv2d:1x24x40x40-56,3x3,p1", "winograd4"},
	} {
		word := c.word
		t.Run(c.algorithm+word, func(t *testing.T) {
			t.Parallel()
			fault := faultgl.Fault{Mode: faultgl.Wrong, At: "glProgramBinary", Source: "#version"}
			choose := []string{algorithmVariable + "=" + c.algorithm}
			environment := append(faultgl.Environment(t, fault), choose...)
			dir := t.TempDir()
			n := computeInProcess(t, dir, word, environment).Compiles
			if got := computeInProcess(t, dir, word, environment); got.Compiles != n || got.Wrong != n {
				t.Errorf("%d programs, with the fault: %+v", n, got)
			}
			if got := computeInProcess(t, dir, word, choose); got.Compiles != 0 || got.Wrong != 0 || got.DiskHits != n || got.Dispatches == 0 {
				t.Errorf("%d programs, checked: %+v", n, got)
			}
			if got := computeInProcess(t, dir, word, choose); got.Compiles != 0 || got.DiskHits != n || got.Dispatches != 0 {
				t.Errorf("%d programs, checked before: %+v", n, got)
			}
		})
	}
}

func computeInProcess(t *testing.T, dir, word string, environment []string) (got planCounters) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), planVariable+"="+dir, shapeVariable+"="+word), environment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return got
}

// Every algorithm for software drivers has a small problem for the programs of large ones.
// Those for GPUs have all extents compiled in, and are checked with a sample.
func TestSmallerProblem(t *testing.T) {
	info := gltest.Open(t).Info()
	for _, word := range []string{
		"gemm:4096x4096x4096", "gemm:4097x511x300,ta,tb", "gemm:1x4096x4096", "gemm:512x512x2048,lda2052,ldc640,beta2,row-bias,relu",
		"gemm:300x300x300,batch8:90000:0:90004", "conv2d:32x64x56x56-64,3x3,p1,bias,relu", "conv2d:1x3x224x224-64,7x7,s2,p3",
		"conv2d:4x256x56x56-256,3x3,p1,g256", "conv2d:1x256x56x56-64,1x1", "conv2d:8x96x55x55-97,5x3,d2,p2,g1",
	} {
		s, err := ParseShape(word)
		if err != nil {
			t.Fatal(err)
		}
		large, err := newTask(s, info)
		if err != nil {
			t.Fatal(err)
		}
		found, missing := 0, []Choice(nil)
		for _, choice := range large.choices() {
			p := part{task: large, choice: choice, programs: map[shader.Key]*cache.Handle{}}
			if p.sequence, p.tolerance, err = large.build(choice); err != nil {
				continue
			}
			for _, source := range p.sequence.Sources() {
				p.programs[source.Key()] = new(cache.Handle)
			}
			if small, _, _, ok := p.smaller(info); (!ok || small.flops > checkFLOPs) && (info.Software() || !p.isSampled(info)) {
				missing = append(missing, choice)
			} else {
				found++
			}
		}
		if len(missing) > 0 {
			t.Errorf("%s: %d found, none for %v", word, found, missing)
		}
	}
}
