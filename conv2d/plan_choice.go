//go:build linux

package conv2d

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// Basis is the reason for a plan's choice.
type Basis string

// The reasons, in the order in which they are considered.
const (
	ByCaller  Basis = "caller"  // PlanOptions.Choice
	ByTuning  Basis = "tuned"   // found by tuning, kept for this driver
	ByTable   Basis = "table"   // the shipped table has this problem, or one like it
	ByRanking Basis = "ranking" // the likeliest, by the algorithms' own estimates
)

// Tuner searches for the fastest choice for a problem and keeps it. *tune.Options, of
// package conv2d/tune, is one.
type Tuner interface {
	Tune(ctx context.Context, r TuneRequest) (Choice, error)
}

// TuneRequest is the problem of a search.
type TuneRequest struct {
	Context  *glctx.Context
	Programs executor.Programs // a cache over Context, or nil
	Tunings  cache.Tunings     // where the result is kept; nil: nowhere
	Shape    Shape
	Restriction
}

// choose returns the choice for a task: that of the caller, else the one tuned with
// this driver, else that of a search where the options have one, else that of the
// shipped table, else the likeliest. An entry that is damaged or cannot be built any
// more counts as none.
func (o PlanOptions) choose(ctx context.Context, c *glctx.Context, programs executor.Programs, t task) (Choice, Basis, error) {
	tunings := o.tunings(programs)
	if o.Choice != nil {
		return *o.Choice, ByCaller, nil
	}
	if choice, ok := tuned(t, o.restriction(), tunings); ok {
		return choice, ByTuning, nil
	}
	if o.Tune != nil {
		choice, err := o.Tune.Tune(ctx, TuneRequest{c, programs, tunings, t.shape, o.restriction()})
		return choice, ByTuning, err
	}
	if choice, ok := shipped(t, deviceOf(c.Info())); ok {
		return choice, ByTable, nil
	}
	choice, err := t.likeliest()
	return choice, ByRanking, err
}

// tunings returns where results of searches are kept; nil: nowhere.
func (o PlanOptions) tunings(programs executor.Programs) cache.Tunings {
	if o.Tunings != nil {
		return o.Tunings
	}
	if c, ok := programs.(tunedPrograms); ok {
		return c.Tunings()
	}
	return nil
}

// tunedPrograms is implemented by *cache.Cache.
type tunedPrograms interface{ Tunings() cache.Tunings }

var _ tunedPrograms = (*cache.Cache)(nil)

// Choose returns the choice that a plan with these options would make on a context,
// and the reason. programs is a cache over c, or nil. With o.Tune it may search, as
// NewPlan does.
func Choose(ctx context.Context, c *glctx.Context, programs executor.Programs, s Shape, o PlanOptions) (Choice, Basis, error) {
	p, err := choosePart(ctx, c, programs, Layer{Shape: s}, o)
	if err != nil {
		return Choice{}, "", err
	}
	return p.choice, p.basis, nil
}

// Tuned returns the kept result of an earlier search for a problem, with this driver
// and the same restriction, if it can still be built.
func Tuned(info glctx.Info, s Shape, r Restriction, tunings cache.Tunings) (binary.Tuning, bool) {
	t, err := newTask(s, info)
	if err != nil || tunings == nil {
		return binary.Tuning{}, false
	}
	kept, err := tunings.Tuning(TuningKey(t.shape, r))
	if err != nil {
		return binary.Tuning{}, false
	}
	choice, err := decodeChoice(kept.Choice)
	return kept, err == nil && t.builds(choice)
}

// Sources returns the programs that a choice needs for a problem, to load or store
// them before there is a plan.
func (c Choice) Sources(info glctx.Info, s Shape) ([]*shader.Source, error) {
	t, err := newTask(s, info)
	if err != nil {
		return nil, err
	}
	r, _, err := t.build(c)
	if err != nil {
		return nil, err
	}
	return r.Sources(), nil
}

// TuningKey returns the problem under which a result is kept: a search that left
// algorithms out has another one.
func TuningKey(s Shape, r Restriction) string { return s.String() + r.suffix() }

// tuned returns the kept choice for the task: for exactly this problem, else for the
// same without bias, activation and alpha, which change the time little.
func tuned(t task, r Restriction, tunings cache.Tunings) (Choice, bool) {
	if tunings == nil {
		return Choice{}, false
	}
	for _, s := range []Shape{t.shape, t.shape.plain()} {
		for _, weaker := range r.weaker() {
			kept, err := tunings.Tuning(TuningKey(s, weaker))
			if err != nil {
				continue
			}
			if choice, err := decodeChoice(kept.Choice); err == nil && t.takes(choice, s) {
				return choice, true
			}
		}
	}
	return Choice{}, false
}

// takes reports whether a choice that was found for a similar problem can be built and is
// likely to be as good for this one.
func (t task) takes(c Choice, found Shape) bool {
	return t.builds(c) && !(isOnCPU(c.Algorithm) && t.shape.kernelsFirst() && !found.kernelsFirst())
}

// builds reports whether a choice that came from a file can be built.
func (t task) builds(c Choice) bool {
	_, _, err := t.build(c)
	return err == nil
}

func decodeChoice(data []byte) (Choice, error) {
	var c Choice
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("conv2d: a choice: %w", err)
	}
	if c.Algorithm == "" {
		return c, errors.New("conv2d: a choice without an algorithm")
	}
	return c, nil
}

// CheckTuning returns an error for a kept result that no plan can read. One of an unknown
// algorithm may be of another version: plans leave it out.
func CheckTuning(t binary.Tuning) error {
	if _, err := decodeChoice(t.Choice); err != nil {
		return err
	}
	_, err := ParseShape(strings.TrimSuffix(strings.TrimSuffix(t.Problem, noCPUSuffix), exactSuffix))
	return err
}

// plain returns the problem without bias, activation and alpha.
func (s Shape) plain() Shape {
	if s.Conv2D != nil {
		p := *s.Conv2D
		p.Bias, p.Activation = false, None
		return p.Shape()
	}
	p := *s.GEMM
	p.Bias, p.Activation, p.Factors = NoBias, None, AlphaBeta(1, p.beta())
	return p.Shape()
}
