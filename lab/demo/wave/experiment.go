//go:build linux

package wave

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ScheduledPoke is a poke before a step.
type ScheduledPoke struct {
	Impulse
	Step int
}

// ParseScheduledPoke parses "X,Y,HEIGHT" or "X,Y,HEIGHT@STEP".
func ParseScheduledPoke(text string) (p ScheduledPoke, err error) {
	wrong := fmt.Errorf("%q is not X,Y,HEIGHT or X,Y,HEIGHT@STEP", text)
	place, step, later := strings.Cut(text, "@")
	if later {
		if p.Step, err = strconv.Atoi(step); err != nil || p.Step < 0 {
			return p, wrong
		}
	}
	parts := strings.Split(place, ",")
	if len(parts) != 3 {
		return p, wrong
	}
	x, errX := strconv.Atoi(parts[0])
	y, errY := strconv.Atoi(parts[1])
	height, errHeight := strconv.ParseFloat(parts[2], 32)
	if errors.Join(errX, errY, errHeight) != nil {
		return p, wrong
	}
	p.Impulse = Impulse{X: x, Y: y, Amplitude: float32(height)}
	return p, nil
}

// Simulation is a Sim or a Session.
type Simulation interface {
	Step(ctx context.Context, n int) error
	Excite(ctx context.Context, pokes ...Impulse) ([]Ack, error)
	Tiles(ctx context.Context) ([]TileReport, error)
	Field(ctx context.Context) ([]float32, uint32, error)
	Steps() uint32
}

var (
	_ Simulation = (*Sim)(nil)
	_ Simulation = (*Session)(nil)
)

// Experiment is a number of steps with pokes between them, frames, and a comparison.
type Experiment struct {
	Steps int
	Pokes []ScheduledPoke // of one step in the order given; those after the last step are left out

	// Done and Applied are what a simulation that continues has: steps, and the impulses
	// of Session.Impulses, which must be the first pokes. Steps is the total.
	Done    int
	Applied Applied

	// Frame, which may be nil, gets the surface behind every Every steps.
	Every int
	Frame func(field []float32, step uint32) error

	// Reference, which may be nil, does the same steps on the CPU. It is compared with
	// every frame and the end.
	Reference *Reference

	// Progress, which may be nil, gets the number of steps done since the last call.
	Progress func(steps int) error
}

// Outcome is what an experiment did.
type Outcome struct {
	Pokes    []Ack // in the order of steps
	Frames   int
	Verified *bool         // nil without a Reference
	Stepping time.Duration // of the steps, without frames and comparisons
	Energy   float64       // of the end
	Largest  float64       // of the end
	Steps    uint32        // of the simulation
}

// stepsWithoutFrames is the number of steps between two calls of Progress where no
// frames are taken.
const stepsWithoutFrames = 128

// Run runs the experiment on a simulation and its reference, both of which are at the
// same step; where Done is set, the reference is at the beginning and follows. It returns
// ErrDiffers, and the outcome until then, where a cell differs from the reference, and
// ErrOtherPokes where the pokes are not those of the simulation.
func (e Experiment) Run(ctx context.Context, s Simulation) (Outcome, error) {
	r := experimentRun{Experiment: e, ctx: ctx, sim: s}
	r.Pokes = slices.Clone(e.Pokes)
	slices.SortStableFunc(r.Pokes, func(a, b ScheduledPoke) int { return a.Step - b.Step })
	if err := r.skipDone(); err != nil {
		return r.outcome, err
	}
	if e.Frame == nil {
		r.Every = stepsWithoutFrames
	}
	err := r.run()
	return r.outcome, err
}

type experimentRun struct {
	Experiment
	ctx     context.Context
	sim     Simulation
	outcome Outcome
}

// skipDone removes the pokes that the simulation has had, and has the reference follow.
func (r *experimentRun) skipDone() error {
	n, digest := r.Applied.Count, uint32(0)
	for _, p := range r.Pokes[:min(n, len(r.Pokes))] {
		digest += impulseHash(p.Impulse, uint32(p.Step))
	}
	if n > len(r.Pokes) || digest != r.Applied.Digest || n < len(r.Pokes) && r.Pokes[n].Step < r.Done {
		return fmt.Errorf("%w: it had %d before step %d", ErrOtherPokes, n, r.Done)
	}
	if r.Reference != nil {
		for _, p := range r.Pokes[:n] {
			r.Reference.Step(p.Step - int(r.Reference.Steps()))
			if err := r.Reference.Excite(p.Impulse); err != nil {
				return err
			}
		}
		if r.Done > 0 {
			r.Reference.Step(r.Done - int(r.Reference.Steps()))
		}
	}
	r.Pokes = r.Pokes[n:]
	return nil
}

// run steps from event to event: a poke, a frame, the end.
func (r *experimentRun) run() error {
	for step := r.Done; ; {
		if err := r.pokeBefore(step); err != nil {
			return err
		}
		if step == r.Experiment.Steps {
			return r.end()
		}
		next := min(step+r.Every-step%r.Every, r.Experiment.Steps)
		if len(r.Pokes) > 0 {
			next = min(next, r.Pokes[0].Step)
		}
		if err := r.stepBy(next - step); err != nil {
			return err
		}
		step = next
		if r.Frame != nil && step%r.Every == 0 {
			if err := r.frame(); err != nil {
				return err
			}
		}
	}
}

func (r *experimentRun) pokeBefore(step int) error {
	for len(r.Pokes) > 0 && r.Pokes[0].Step == step {
		poke := r.Pokes[0].Impulse
		acks, err := r.sim.Excite(r.ctx, poke)
		if err == nil && r.Reference != nil {
			err = r.Reference.Excite(poke)
		}
		if err != nil {
			return err
		}
		r.outcome.Pokes = append(r.outcome.Pokes, acks...)
		r.Pokes = r.Pokes[1:]
	}
	return nil
}

func (r *experimentRun) stepBy(n int) error {
	start := time.Now()
	if err := r.sim.Step(r.ctx, n); err != nil {
		return err
	}
	r.outcome.Stepping += time.Since(start)
	if r.Reference != nil {
		r.Reference.Step(n)
	}
	if r.Progress == nil {
		return nil
	}
	return r.Progress(n)
}

func (r *experimentRun) frame() error {
	field, step, err := r.field()
	if err != nil {
		return err
	}
	r.outcome.Frames++
	return r.Frame(field, step)
}

// field returns the surface, compared with the reference.
func (r *experimentRun) field() ([]float32, uint32, error) {
	field, step, err := r.sim.Field(r.ctx)
	if err != nil || r.Reference == nil {
		return field, step, err
	}
	err = r.Reference.Compare(field)
	verified := err == nil
	r.outcome.Verified = &verified
	return field, step, err
}

// end adds the figures of the end and compares it.
func (r *experimentRun) end() error {
	tiles, err := r.sim.Tiles(r.ctx)
	if err != nil {
		return err
	}
	for _, t := range tiles {
		r.outcome.Energy += float64(t.Energy)
		r.outcome.Largest = max(r.outcome.Largest, float64(t.Largest))
	}
	r.outcome.Steps = r.sim.Steps()
	_, _, err = r.field()
	return err
}
