//go:build linux

package conv2d

import (
	"context"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
)

// Programs gives out resident programs. *cache.Cache is the one to use.
type Programs interface {
	Get(ctx context.Context, source *binary.Source) (*cache.Handle, error)
}

// Runner computes problems on the GPU, one call at a time: tensors go up, the
// result comes back, and nothing stays behind but the program in the cache. Its
// methods may be called from any goroutine, but not from a callback of
// glctx.Context.Do or Post.
type Runner struct {
	Context *glctx.Context
	Cache   Programs // must be a cache over Context
}

// Conv2D computes a convolution. bias may be nil. It fails for an invalid
// problem, slices of other lengths than the problem's, a problem too large for
// the device, and whatever the cache and the driver report.
func (r *Runner) Conv2D(ctx context.Context, p Problem, input, weights, bias []float32) ([]float32, Timing, error) {
	if err := p.Validate(); err != nil {
		return nil, Timing{}, err
	}
	if err := p.checkLengths(input, weights, bias); err != nil {
		return nil, Timing{}, err
	}
	return r.run(ctx, job{
		source:  p.Source(),
		inputs:  [][]float32{input, weights, bias},
		outputs: p.OutputLen(),
		dispatch: func(gl *glctx.GL, program uint32, in []glctx.Buffer, out glctx.Buffer) (int, error) {
			return p.Dispatch(ctx, gl, program, Conv2DBuffers{in[0], in[1], in[2], out})
		},
	})
}

// GEMM computes a matrix product with a variant. It fails as Conv2D does.
func (r *Runner) GEMM(ctx context.Context, p GEMMProblem, v Variant, a, b []float32) ([]float32, Timing, error) {
	if err := v.computes(p); err != nil {
		return nil, Timing{}, err
	}
	if err := p.checkTensors(GEMMTensors{A: a, B: b}); err != nil {
		return nil, Timing{}, err
	}
	source, err := v.Source()
	if err != nil {
		return nil, Timing{}, err
	}
	return r.run(ctx, job{
		source:  source,
		inputs:  [][]float32{a, b},
		outputs: p.CLen(),
		dispatch: func(gl *glctx.GL, program uint32, in []glctx.Buffer, out glctx.Buffer) (int, error) {
			return v.Dispatch(ctx, gl, program, p, GEMMBuffers{in[0], in[1], out})
		},
	})
}

// job is one run of one program.
type job struct {
	source  *binary.Source
	inputs  [][]float32 // a nil one becomes the zero Buffer
	outputs int         // elements
	// dispatch starts the program and returns the number of dispatches.
	dispatch func(gl *glctx.GL, program uint32, in []glctx.Buffer, out glctx.Buffer) (int, error)
}

func (r *Runner) run(ctx context.Context, j job) ([]float32, Timing, error) {
	t := Timing{Program: j.source.Name()}
	if err := j.checkStorage(r.Context.Info().MaxStorage); err != nil {
		return nil, t, err
	}
	start := time.Now()
	handle, err := r.Cache.Get(ctx, j.source)
	if err != nil {
		return nil, t, fmt.Errorf("conv2d: get %s: %w", t.Program, err)
	}
	defer handle.Release()
	t.Get, t.Origin = time.Since(start), handle.Origin()

	var output []float32
	err = r.Context.Do(func(gl *glctx.GL) (err error) {
		output, err = j.on(gl, handle.Program(), &t)
		return err
	})
	if err != nil {
		return nil, t, err
	}
	return output, t, nil
}

// checkStorage fails where a tensor is larger than a kernel can reach.
func (j job) checkStorage(limit int64) error {
	largest := j.outputs + canaryWords
	for _, values := range j.inputs {
		largest = max(largest, len(values))
	}
	if bytes := 4 * int64(largest); bytes > limit {
		return fmt.Errorf("conv2d: %s: a tensor has %d bytes, this device allows %d: split the problem",
			j.source.Name(), bytes, limit)
	}
	return nil
}

// on runs the job with a resident program and frees everything it made.
func (j job) on(gl *glctx.GL, program uint32, t *Timing) ([]float32, error) {
	memory := tensors{gl: gl}
	defer memory.free()
	in := make([]glctx.Buffer, len(j.inputs))
	for i, values := range j.inputs {
		if values != nil {
			in[i] = memory.upload(values)
		}
	}
	out := memory.poisoned(j.outputs)
	if memory.err != nil {
		return nil, fmt.Errorf("conv2d: %s: %w", t.Program, memory.err)
	}
	gl.Finish() // so that Dispatch does not include the uploads

	start := time.Now()
	dispatches, err := j.dispatch(gl, program, in, out)
	if err != nil {
		return nil, err
	}
	gl.Finish()
	t.Dispatch, t.Dispatches = time.Since(start), dispatches

	start = time.Now()
	values, err := memory.download(out, j.outputs)
	if err != nil {
		return nil, fmt.Errorf("conv2d: %s: %w", t.Program, err)
	}
	t.Readback = time.Since(start)
	return values, nil
}
