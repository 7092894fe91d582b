//go:build linux

package server_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/internal/wire"
)

func bytesOf(values []float32) []byte {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// sample returns the layers of the sample network, their weights one after the other, and
// a network in this process that has the reference.
func sample(t *testing.T, f *fixture, pictures int) (specs []string, weights, bias []float32, network *conv2d.Plan) {
	t.Helper()
	layers := conv2d.SampleNetwork(pictures)
	if os.Getenv("SHADERCACHE_SOAK") != "1" {
		layers = layers[:2] // a software driver takes seconds to compile all
	}
	for _, l := range layers {
		specs = append(specs, l.Shape.String())
		weights = append(weights, l.Weights...)
		bias = append(bias, l.Bias...)
	}
	network, err := conv2d.NewPlan(t.Context(), f.gpu.Executor, f.gpu.Cache, layers, conv2d.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return specs, weights, bias, network
}

// TestNetworksKeepTheirWeights runs a named network in a second client, which uploads
// nothing and compiles nothing.
func TestNetworksKeepTheirWeights(t *testing.T) {
	f := serve(t, server.Options{})
	specs, weights, bias, network := sample(t, f, 4)
	defer network.Release()
	input := conv2d.RandomValues(network.Info().Input, 7)
	want := network.Reference(input)
	for start := range 2 {
		c := f.dial()
		p, err := c.OpenPlan(t.Context(), "sample", false, specs...)
		if err != nil {
			t.Fatal(err)
		}
		layers := p.Info().Layers
		if p.Info().Input != network.Info().Input || p.Info().Output != network.Info().Output || len(layers) != len(specs) || p.(*client.Plan).Created() != (start == 0) {
			t.Fatalf("lengths %d and %d, %+v", p.Info().Input, p.Info().Output, layers)
		}
		if start == 0 {
			if err := p.Run(t.Context(), input, make([]float32, p.Info().Output)); !errors.Is(err, job.ErrInvalid) {
				t.Errorf("without weights: %v", err)
			}
		}
		uploaded, err := p.SetWeights(t.Context(), 42, weights, bias)
		if err != nil || uploaded != (start == 0) {
			t.Errorf("start %d: uploaded %v, %v", start, uploaded, err)
		}
		output := poisoned(p.Info().Output)
		if err := p.Run(t.Context(), input, output); err != nil {
			t.Fatal(err)
		}
		if result := conv2d.Compare(output, want, 1); !result.OK() {
			t.Errorf("start %d: %v", start, result)
		}
		c.Close()
	}
	if uploads := f.Status().Counters.BytesIn; uploads != uint64(2*4*len(input)+4*len(weights)+4*len(bias)) {
		t.Errorf("%d bytes in", uploads)
	}
	c := f.dial()
	if _, err := c.OpenPlan(t.Context(), "sample", false, "gemm:4x4x4"); !errors.Is(err, job.ErrExists) {
		t.Errorf("other layers: %v", err)
	}
	if err := c.DeletePlan(t.Context(), "sample"); err != nil {
		t.Error(err)
	}
	if _, err := c.OpenPlan(t.Context(), "sample", false); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("after the delete: %v", err)
	}
}

// poisoned returns an output that no plan makes.
func poisoned(n int) []float32 { return slices.Repeat([]float32{float32(math.NaN())}, n) }

// TestPlansOfEverySize has inputs and outputs inline, in shared memory, and larger than a
// slot of the executor, in place and copied.
func TestPlansOfEverySize(t *testing.T) {
	for _, copied := range []bool{false, true} {
		t.Run(fmt.Sprint("copied ", copied), func(t *testing.T) { testPlans(t, serve(t, server.Options{CopyMemory: copied})) })
	}
}

func testPlans(t *testing.T, f *fixture) {
	c := f.dial()
	shapes := []string{"gemm:400x300x200"} // a software driver takes seconds to compile each
	if os.Getenv("SHADERCACHE_SOAK") == "1" {
		shapes = append(shapes, "gemm:4x4x4", "conv2d:1x3x32x32-8,3x3,p1,bias,relu", "gemm:1x100x300,column-bias,relu", "conv2d:1x3x224x224-8,3x3,s2,p1")
	}
	for _, shape := range shapes {
		s, err := conv2d.ParseShape(shape)
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.OpenPlan(t.Context(), "", false, shape)
		if err != nil {
			t.Fatal(err)
		}
		input, weights := conv2d.RandomValues(p.Info().Input, 1), conv2d.RandomValues(p.Info().Weights, 2)
		var bias []float32
		if n := p.Info().Bias; n > 0 {
			bias = conv2d.RandomValues(n, 3)
		}
		if _, err := p.SetWeights(t.Context(), 1, weights, bias); err != nil {
			t.Fatal(shape, err)
		}
		output := poisoned(p.Info().Output)
		if err := p.Run(t.Context(), input, output); err != nil {
			t.Fatal(shape, err)
		}
		runner := conv2d.Runner{Executor: f.gpu.Executor, Programs: f.gpu.Cache}
		var want []float32
		if s.Conv2D != nil {
			want, err = runner.Conv2D(t.Context(), *s.Conv2D, input, weights, bias)
		} else {
			want, err = runner.GEMM(t.Context(), *s.GEMM, conv2d.GEMMTensors{A: input, B: weights, Bias: bias})
		}
		if err != nil || !bytes.Equal(bytesOf(output), bytesOf(want)) {
			t.Errorf("%s: %v, or other values than in process", shape, err)
		}
		p.Release()
	}
}

func TestInvalidPlans(t *testing.T) {
	f := serve(t, server.Options{})
	c := f.dial()
	many := "conv2d:1x5x1x1-1,1021x32766,p510x16383" // 5,105 dispatches, for the sum
	if f.gpu.Context.Info().Software() {
		many = "conv2d:1x1x1x1-1,1021x32766,p510x160000" // likewise, for a grid of 65,535 groups at most
	}
	for _, layers := range [][]string{
		nil, {"nonsense"}, {"gemm:0x1x1"}, {"gemm:99999999999x1x1"}, {"gemm:4x4x4", "gemm:5x5x5"}, {"gemm:4x4x4,beta1", "gemm:4x4x4"}, {"conv2d:1x1x4x4-1,9x9"},
		{many + ` {"algorithm":"direct","params":{"local":1}}`}, {`gemm:1x1x33554368 {"algorithm":"gemm_tiled","params":{"depth":1,"local_y":1,"tile":4}}`},
	} {
		if _, err := c.OpenPlan(t.Context(), "", false, layers...); !errors.Is(err, job.ErrInvalid) {
			t.Errorf("%q: %v", layers, err)
		}
	}
}

// winograd is an algorithm of several programs, as a choice in a layer.
const winograd = ` {"algorithm":"winograd2","params":{"bk":8,"bm":32,"bn":32,"buffers":1,"clamp":1,"slices":4,"split":1,"taps_first":1,"tm":4,"tn":4,"unroll":0}}`

// TestPlansCountTheirWorkspace makes plans whose algorithms, or many small layers, take far more memory
// than their weights and outputs: it counts against the quotas.
func TestPlansCountTheirWorkspace(t *testing.T) {
	f := serve(t, server.Options{Limits: wire.Limits{Buffers: 8 << 20, Named: 8 << 20}})
	c := f.dial()
	const large, small = "conv2d:1x64x128x128-1,3x3,p1" + winograd, "gemm:2x2x2" // 16 MiB and more
	for name, plan := range map[string]func(spec string) (job.Plan, error){
		"its own": func(spec string) (job.Plan, error) { return c.OpenPlan(t.Context(), "", false, spec) },
		"named":   func(spec string) (job.Plan, error) { return c.OpenPlan(t.Context(), "plan", false, spec) },
	} {
		for _, spec := range []string{large, strings.Repeat("gemm:1x1x1\n", 1024)} {
			if _, err := plan(spec); !errors.Is(err, job.ErrQuota) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := plan(small); err != nil {
			t.Errorf("%s, after that: %v", name, err)
		}
	}
	if s := f.Status(); s.NamedBytes <= 0 || s.NamedBytes > 1<<17 || s.Sessions[0].Bytes != s.NamedBytes {
		t.Errorf("%d bytes of the session, %d of names", s.Sessions[0].Bytes, s.NamedBytes)
	}
}

// TestAPlanThatWaitsForAnotherProcess has what comes before the first program take longer than a kernel
// may, as the trial of a program does.
func TestAPlanThatWaitsForAnotherProcess(t *testing.T) {
	const hang = 500 * time.Millisecond
	waits := func() { time.Sleep(3 * hang) }
	f := serveOptions(t, server.Options{HangTime: hang}, shadercache.Options{Dir: t.TempDir(), Cache: cache.Options{BeforeFirst: waits}})
	if _, err := f.dial().OpenPlan(t.Context(), "", false, "conv2d:1x4x16x16-4,3x3,p1"+winograd); err != nil {
		t.Error(err)
	}
}

// TestPlansMakeProgress makes plans of several programs: each of them is progress, so that a
// plan may take longer than one program. Who looks for it may be late for most of one plan.
func TestPlansMakeProgress(t *testing.T) {
	f := serve(t, server.Options{})
	c := f.dial()
	most := 0
	for filters := 4; most < 4 && filters < 24; filters++ {
		seen, made := map[time.Time]bool{}, make(chan error, 1)
		go func() {
			_, err := c.OpenPlan(t.Context(), "", false, fmt.Sprintf("conv2d:1x4x16x16-%d,3x3,p1", filters)+winograd)
			made <- err
		}()
		for isMade := false; !isMade; {
			select {
			case err := <-made:
				if isMade = true; err != nil {
					t.Fatal(err)
				}
			case <-time.After(50 * time.Microsecond):
				seen[f.Progress()] = true
			}
		}
		most = max(most, len(seen))
	}
	if most < 4 {
		t.Errorf("progress was seen %d times at most", most)
	}
}
