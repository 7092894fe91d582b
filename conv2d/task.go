//go:build linux

package conv2d

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
)

// task is a problem of either kind on one device, with the algorithms that can
// compute it.
type task struct {
	shape  Shape
	flops  int64
	sum    int // elements of a sum
	offers []offer

	sizes

	// keepsOutput reports that the values of the output from before matter: they are
	// added, or remain in the gaps between rows.
	keepsOutput bool

	maxStorage int64 // bytes of one buffer
}

// offer is an algorithm for one task. The first of its candidates is the likeliest.
type offer struct {
	name       string
	candidates []Params
	sequence   func(Params) (kernel.Sequence, error)
	tolerance  float64
}

// newTask fails for an invalid problem, and for one whose tensors the device cannot
// reach.
func newTask(s Shape, info glctx.Info) (task, error) {
	if err := s.Validate(); err != nil {
		return task{}, err
	}
	on := deviceOf(info)
	p := s.of()
	t := task{
		shape: s.canonical(), flops: p.FLOPs(), sum: p.ReductionLen(), sizes: p.sizes(), keepsOutput: p.keepsOutput(),
		maxStorage: info.MaxStorage,
	}
	if s.Conv2D != nil {
		t.offers = offersOf(convAlgorithms, *s.Conv2D, on)
	} else {
		t.offers = offersOf(gemmAlgorithms, *s.GEMM, on)
	}
	if s.kernelsFirst() {
		t.offers = t.cpuLast()
	}
	if bytes := 4 * int64(max(t.input, t.weights, t.output)+kernel.CanaryWords); bytes > t.maxStorage {
		return t, fmt.Errorf("conv2d: %v: a tensor has %d bytes, this device allows %d: split the problem", t.shape, bytes, t.maxStorage)
	}
	return t, nil
}

// offersOf returns every algorithm. Those without a candidate come too: they can be
// chosen by name.
func offersOf[P interface{ ReductionLen() int }](list []algorithm[P], p P, on device) []offer {
	offers := make([]offer, 0, len(list))
	for _, a := range list {
		offers = append(offers, offer{
			name:       a.name,
			candidates: a.candidates(p, on),
			sequence:   func(params Params) (kernel.Sequence, error) { return a.sequence(p, params, on) },
			tolerance:  a.tolerance(p),
		})
	}
	return offers
}

// build returns the sequence of a choice, and the error that its result may have.
func (t task) build(c Choice) (kernel.Sequence, float64, error) {
	names := make([]string, 0, len(t.offers))
	for _, o := range t.offers {
		if o.name != c.Algorithm {
			names = append(names, o.name)
			continue
		}
		made, err := o.sequence(c.Params)
		if err != nil {
			return kernel.Sequence{}, 0, err
		}
		if err := made.Validate(t.maxStorage); err != nil {
			return kernel.Sequence{}, 0, fmt.Errorf("conv2d: %v: %w", t.shape, err)
		}
		made.CheckLater()
		return made, o.tolerance, nil
	}
	return kernel.Sequence{}, 0, fmt.Errorf("conv2d: there is no algorithm %q for %v (there are %s)", c.Algorithm, t.shape, strings.Join(names, ", "))
}

// choices returns all candidates: the likeliest of each algorithm, then the second of
// each, so that a search that ends early has tried every algorithm.
func (t task) choices() []Choice {
	var list []Choice
	for i := 0; ; i++ {
		more := false
		for _, o := range t.offers {
			if i < len(o.candidates) {
				list, more = append(list, Choice{o.name, o.candidates[i]}), true
			}
		}
		if !more {
			return list
		}
	}
}

// likeliest returns the first choice that can be built.
func (t task) likeliest() (Choice, error) {
	var errs []error
	for _, o := range t.offers {
		for _, params := range o.candidates {
			c := Choice{o.name, params}
			_, _, err := t.build(c)
			if err == nil {
				return c, nil
			}
			errs = append(errs, err)
		}
	}
	return Choice{}, errors.Join(append([]error{fmt.Errorf("conv2d: no algorithm computes %v on this device", t.shape)}, errs...)...)
}
