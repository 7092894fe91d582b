//go:build linux

package conv2d

import (
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
)

// Job is the convolution as a job for an executor, with a program made from
// p.Source: input goes up and output comes down with the job, weights and bias
// stay on the device. A nil bias means none. A long reduction becomes a chain of
// dispatches. It fails for an invalid problem and for slices and buffers of
// other lengths than the problem's; the executor checks the rest.
//
// To produce the input, or to take the output, in the executor's own memory,
// replace Data of Inputs[0] by Fill, or To of Outputs[0] by Read.
func (p Problem) Job(program *cache.Handle, input []float32, weights, bias *executor.Buffer[float32], output []float32) (executor.Job, error) {
	if err := p.Validate(); err != nil {
		return executor.Job{}, err
	}
	memory := []executor.Bound{weights.ReadAt(1), weights.ReadAt(3)}
	checks := []length{
		{"input", len(input), p.InputLen()},
		{"weights", weights.Len(), p.WeightsLen()},
		{"output", len(output), p.OutputLen()},
	}
	if bias != nil {
		memory[1] = bias.ReadAt(3)
		checks = append(checks, length{"bias", bias.Len(), p.BiasLen()})
	}
	if err := checkAll(checks); err != nil {
		return executor.Job{}, err
	}
	var uniforms []executor.Uniform
	p.eachUniform(bias != nil, func(name string, v int) {
		uniforms = append(uniforms, executor.Int(name, int32(v)))
	})
	job := chain(p.reduction(), executor.Dispatch{
		Program:  program,
		Groups:   groups(ceilDiv(p.P()*p.Q(), directLocal), p.K, p.N),
		Memory:   memory,
		Uniforms: uniforms,
	}, "firstRow", "lastRow")
	job.Inputs = []executor.Input{{Binding: 0, Data: glctx.Bytes(input)}}
	job.Outputs = []executor.Output{{Binding: 2, To: glctx.Bytes(output)}}
	return job, nil
}

// Job is the matrix product as a job for an executor, with a program made from
// v.Source: a goes up and c comes down with the job, b stays on the device.
// Otherwise it is like [Problem.Job].
func (v Variant) Job(program *cache.Handle, p GEMMProblem, a []float32, b *executor.Buffer[float32], c []float32) (executor.Job, error) {
	if err := v.computes(p); err != nil {
		return executor.Job{}, err
	}
	err := checkAll([]length{{"A", len(a), p.ALen()}, {"B", b.Len(), p.BLen()}, {"C", len(c), p.CLen()}})
	if err != nil {
		return executor.Job{}, err
	}
	job := chain(v.Tile.reduction(p.K), executor.Dispatch{
		Program: program,
		Groups:  groups(ceilDiv(p.N, v.Tile.Size), ceilDiv(p.M, v.Tile.Size), 1),
		Memory:  []executor.Bound{b.ReadAt(1)},
		Uniforms: []executor.Uniform{
			executor.Int("M", int32(p.M)), executor.Int("N", int32(p.N)), executor.Int("K", int32(p.K)),
		},
	}, "firstK", "lastK")
	job.Inputs = []executor.Input{{Binding: 0, Data: glctx.Bytes(a)}}
	job.Outputs = []executor.Output{{Binding: 2, To: glctx.Bytes(c)}}
	return job, nil
}

// length is what a slice or buffer has and what the problem needs.
type length struct {
	name      string
	got, want int
}

func checkAll(lengths []length) error {
	for _, l := range lengths {
		if l.got != l.want {
			return lengthError(l.name, l.got, l.want)
		}
	}
	return nil
}

func groups(x, y, z int) [3]uint32 { return [3]uint32{uint32(x), uint32(y), uint32(z)} }

// chain is a job that makes the dispatch once for every span of the reduction,
// with the names of the uniforms that bound it.
func chain(r reduction, d executor.Dispatch, first, last string) executor.Job {
	var job executor.Job
	for i := range r.dispatches() {
		s, link := r.span(i), d
		link.Uniforms = append(d.Uniforms[:len(d.Uniforms):len(d.Uniforms)],
			executor.Int(first, int32(s.first)), executor.Int(last, int32(s.last)))
		if i == 0 {
			job.Dispatch = link
		} else {
			job.Then = append(job.Then, link)
		}
	}
	return job
}
