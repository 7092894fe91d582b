package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// resnet are the convolutions of ResNet-50 that differ in kind, for n images.
func resnet(n int) []conv2d.Problem {
	return []conv2d.Problem{
		{N: n, C: 3, H: 224, W: 224, K: 64, R: 7, S: 7, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3},
		{N: n, C: 64, H: 56, W: 56, K: 64, R: 3, S: 3, PadH: 1, PadW: 1},
		{N: n, C: 128, H: 28, W: 28, K: 128, R: 3, S: 3, PadH: 1, PadW: 1},
		{N: n, C: 256, H: 14, W: 14, K: 256, R: 3, S: 3, PadH: 1, PadW: 1},
		{N: n, C: 512, H: 7, W: 7, K: 512, R: 3, S: 3, PadH: 1, PadW: 1},
		{N: n, C: 256, H: 56, W: 56, K: 64, R: 1, S: 1},
	}
}

// convolutions measures the convolutions with tensors that stay on the devices.
func (r *run) convolutions() error {
	for _, p := range resnet(r.Images) {
		if err := r.plan(Conv, p.Shape(), 16); err != nil {
			return err
		}
	}
	return nil
}

// product measures a matrix product with matrices that stay on the devices, and from
// slices, whose parts the host gathers.
func (r *run) product() error {
	shape := conv2d.GEMMProblem{M: r.Matrix, N: r.Matrix, K: r.Matrix}.Shape()
	if err := r.plan(GEMM, shape, 3); err != nil {
		return err
	}
	return r.planFromSlices(shape)
}

// tensors are those of a plan on the host.
type tensors struct{ input, weights, output []float32 }

// open opens a plan on a device with random weights.
func (r *run) open(device shadercache.Device, shape conv2d.Shape, weights []float32) (job.Plan, error) {
	plan, err := conv2d.OpenPlan(r.ctx, device, conv2d.DevicePlanOptions{}, shape)
	if err != nil {
		return nil, err
	}
	if _, err := plan.SetWeights(r.ctx, 1, weights, nil); err != nil {
		plan.Release()
		return nil, err
	}
	return plan, nil
}

// newTensors returns random tensors and a poisoned output, with the sizes that a plan of
// the shape has.
func newTensors(shape conv2d.Shape) tensors {
	var input, weights, output int
	if p := shape.Conv2D; p != nil {
		input, weights, output = p.InputLen(), p.WeightsLen(), p.OutputLen()
	} else {
		input, weights, output = shape.GEMM.ALen(), shape.GEMM.BLen(), shape.GEMM.CLen()
	}
	const period = 65_521 // a prime: values repeat neither with rows nor with planes
	repeated := func(n int, seed uint64) []float32 {
		values := conv2d.RandomValues(min(n, period), seed)
		list := make([]float32, n)
		for done := copy(list, values); done < n; {
			done += copy(list[done:], list[:done])
		}
		return list
	}
	t := tensors{repeated(input, 1), repeated(weights, 2), make([]float32, output)}
	t.poison()
	return t
}

func (t tensors) poison() {
	poison := glctx.Bytes(slices.Repeat([]uint32{conv2d.Poison}, min(1<<20, len(t.output))))
	for out := glctx.Bytes(t.output); len(out) > 0; {
		out = out[copy(out, poison):]
	}
}

// verified compares the output with the CPU's.
func (r *run) verified(shape conv2d.Shape, plan job.Plan, t tensors) (bool, error) {
	report, err := conv2d.CompareSample(shape, r.info, t.input, t.weights, nil, t.output, plan.Info().Layers[0].Tolerance)
	return report.OK(), err
}

// plan measures runs of a plan from a buffer to another, several of them pending: all of
// the problem on the first device, split over all, and the share of one on the first.
func (r *run) plan(name string, shape conv2d.Shape, pending int) error {
	one, err := r.group.Member(r.ctx, 0)
	if err != nil {
		return err
	}
	t := newTensors(shape)
	whole, err := r.placed(one, shape, t)
	defer whole.release()
	if err != nil {
		return err
	}
	split, err := r.placed(r.group.Group, shape, t)
	defer split.release()
	if err != nil {
		return err
	}
	row := Row{Workload: name, Detail: shape.String() + ", on the devices, " + whole.plan.Info().Layers[0].Algorithm, Unit: "TFLOP/s", Verified: true}
	err = r.compare(row, func(device shadercache.Device) (float64, error) {
		p := whole
		if device != one {
			p = split
		}
		rate, err := p.rate(r, pending)
		if err != nil {
			return 0, err
		}
		t.poison()
		if _, err := p.out.Read(r.ctx, 0, glctx.Bytes(t.output)); err != nil {
			return 0, err
		}
		ok, err := r.verified(shape, p.plan, t)
		if !ok {
			r.result.Verified = false
		}
		return rate, err
	})
	if err != nil {
		return err
	}
	done := &r.result.Rows[len(r.result.Rows)-1]
	done.Share, err = r.shareRate(one, shape, t, pending)
	return err
}

// shareRate returns the rate of a device with the share of a problem that it has among
// all, alone: the median.
func (r *run) shareRate(device shadercache.Device, shape conv2d.Shape, t tensors, pending int) (float64, error) {
	rows := rowsOf(shape)
	n := job.Shares(rows, r.result.Devices)[0].Len
	own := tensors{t.input[:len(t.input)/rows*n], t.weights, t.output[:len(t.output)/rows*n]}
	p, err := r.placed(device, withRows(shape, n), own)
	defer p.release()
	if err != nil {
		return 0, err
	}
	var rates []float64
	for range r.Repeat {
		rate, err := p.rate(r, pending)
		if err != nil {
			return 0, err
		}
		rates = append(rates, rate)
	}
	return stats.NewSpread(rates).Median, nil
}

// rowsOf returns what a problem is split by: images, or rows.
func rowsOf(shape conv2d.Shape) int {
	if shape.Conv2D != nil {
		return shape.Conv2D.N
	}
	return shape.GEMM.M
}

// withRows returns the problem with n images or rows.
func withRows(shape conv2d.Shape, n int) conv2d.Shape {
	if shape.Conv2D != nil {
		p := *shape.Conv2D
		p.N = n
		return p.Shape()
	}
	p := *shape.GEMM
	p.M = n
	return p.Shape()
}

// placedPlan is a plan with its operands on a device.
type placedPlan struct {
	shape   conv2d.Shape
	plan    job.Plan // nil: not opened
	in, out shadercache.Buffer
}

// release releases what was made.
func (p placedPlan) release() {
	for _, b := range []shadercache.Buffer{p.in, p.out} {
		if b != nil {
			b.Release()
		}
	}
	if p.plan != nil {
		p.plan.Release()
	}
}

// placed opens a plan on a device, with operands. The caller releases it, also after an
// error.
func (r *run) placed(device shadercache.Device, shape conv2d.Shape, t tensors) (p placedPlan, err error) {
	p.shape = shape
	if p.plan, err = r.open(device, shape, t.weights); err != nil {
		return p, err
	}
	if p.in, err = r.operand(device, shape, t.input); err != nil {
		return p, err
	}
	p.out, err = r.operand(device, shape, t.output)
	return p, err
}

// operand makes the buffer of a tensor: split over the images or rows on a group.
func (r *run) operand(device shadercache.Device, shape conv2d.Shape, values []float32) (b shadercache.Buffer, err error) {
	if device == shadercache.Device(r.group.Group) {
		rows := rowsOf(shape)
		b, err = r.split(devices.Tensor{Shape: []int{rows, len(values) / rows}, Element: 4})
	} else {
		b, err = device.NewBuffer(r.ctx, 4*len(values))
	}
	if err == nil {
		_, err = b.Write(r.ctx, 0, glctx.Bytes(values))
	}
	return b, err
}

// split makes a buffer that is split along the first dimension.
func (r *run) split(t devices.Tensor) (shadercache.Buffer, error) {
	s, err := r.group.NewSplit(r.ctx, t, 0)
	if err != nil {
		return nil, err // and no buffer in the interface
	}
	return s, nil
}

// rate returns the rate of runs in TFLOP/s, at the GPU's full clock.
func (p placedPlan) rate(r *run, pending int) (float64, error) {
	if _, err := p.runs(r, pending, warmSeconds); err != nil { // programs, memory and clocks
		return 0, err
	}
	began := time.Now()
	count, err := p.runs(r, pending, r.Seconds)
	return perSecond(count, began) * float64(p.shape.FLOPs()) / 1e12, err
}

// runs does runs of the plan for a time, with several pending, and returns their number.
func (p placedPlan) runs(r *run, pending int, seconds float64) (count int, err error) {
	var list []shadercache.Pending
	defer func() {
		for _, each := range list {
			each.Release()
		}
	}()
	for began := time.Now(); time.Since(began).Seconds() < seconds || count == 0; {
		for len(list) < pending {
			next, err := p.plan.SubmitBuffers(r.ctx, p.in, p.out)
			if err != nil {
				return count, err
			}
			list = append(list, next)
		}
		if err := list[0].Wait(r.ctx); err != nil {
			return count, err
		}
		list = list[1:]
		count++
	}
	for _, each := range list {
		if err := each.Wait(r.ctx); err != nil {
			return count, err
		}
		count++
	}
	list = nil
	return count, nil
}

// planFromSlices measures runs of a plan from a slice to a slice.
func (r *run) planFromSlices(shape conv2d.Shape) error {
	t := newTensors(shape)
	row := Row{Workload: GEMM, Detail: shape.String() + ", from slices", Unit: "TFLOP/s", Verified: true}
	return r.compare(row, func(device shadercache.Device) (float64, error) {
		plan, err := r.open(device, shape, t.weights)
		if err != nil {
			return 0, err
		}
		defer plan.Release()
		if err := plan.Run(r.ctx, t.input, t.output); err != nil { // memory is warm
			return 0, err
		}
		t.poison()
		began := time.Now()
		if err := plan.Run(r.ctx, t.input, t.output); err != nil {
			return 0, err
		}
		rate := perSecond(1, began) * float64(shape.FLOPs()) / 1e12
		ok, err := r.verified(shape, plan, t)
		if !ok {
			r.result.Verified = false
			err = fmt.Errorf("%v: %w", shape, err)
		}
		return rate, err
	})
}
