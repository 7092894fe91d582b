//go:build linux

package wave

import (
	"context"
	"fmt"
	"math"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// Excite applies impulses in order, and waits until their tiles have acknowledged them. It
// returns an error for an impulse outside the grid or of invalid height, before any is
// applied; ErrLost; and the errors of the executor.
func (s *Sim) Excite(ctx context.Context, pokes ...Impulse) ([]Ack, error) {
	return s.options.excite(ctx, pokes, s.poke)
}

// excite checks impulses, and has poke apply as many at a time as one dispatch may.
func (o Options) excite(ctx context.Context, pokes []Impulse, poke func(context.Context, []Impulse) ([]Ack, error)) ([]Ack, error) {
	for _, p := range pokes {
		if err := p.check(o); err != nil {
			return nil, err
		}
	}
	var acks []Ack
	for len(pokes) > 0 {
		n := min(len(pokes), o.pokesAtOnce())
		done, err := poke(ctx, pokes[:n])
		if err != nil {
			return acks, err
		}
		acks = append(acks, done...)
		pokes = pokes[n:]
	}
	return acks, nil
}

// maxExciteTurns bounds the loop turns of an invocation that applies impulses, which some
// drivers silently end after 65,535.
const maxExciteTurns = 60_000

// pokesAtOnce returns the number of impulses of one dispatch: an invocation tries all of
// them for each of its cells.
func (o Options) pokesAtOnce() int {
	return min(maxPokes, maxExciteTurns/(o.cellsEach()+1)-2)
}

func (s *Sim) poke(ctx context.Context, pokes []Impulse) ([]Ack, error) {
	inputs := make([]uint32, 0, 4*len(pokes))
	results := make([]uint32, 2*len(pokes))
	var step, first uint32
	pending, err := s.submit(ctx, func() job.Job {
		m, now, before := &s.memory, s.now, 1-s.now
		step, first = s.steps, s.messages
		for i, p := range pokes {
			inputs = append(inputs, uint32(p.X), uint32(p.Y), math.Float32bits(p.Amplitude), first+uint32(i))
		}
		s.messages += uint32(len(pokes))
		return job.Job{
			Dispatch: s.tileDispatch(job.Dispatch{
				Program: s.programs.excite,
				Buffers: []job.Bound{
					m.fields[now].Bind(0), m.fields[before].Bind(1), m.faces[now].Bind(2), m.faces[before].Bind(3),
					m.tiles.Bind(5), m.pulse.BindReadOnly(6),
				},
				Uniforms: []job.Uniform{job.Int("count", int32(len(pokes)))},
			}),
			Inputs:  []job.Input{{Binding: 4, Data: glctx.Bytes(inputs)}},
			Outputs: []job.Output{{Binding: 7, Dirty: true, To: glctx.Bytes(results)}},
		}
	})
	if err != nil {
		return nil, err
	}
	if err := pending.Wait(ctx); err != nil {
		return nil, fmt.Errorf("wave: excite: %w", err)
	}
	return acknowledged(pokes, results, first, step)
}

// acknowledged returns the acknowledgements of impulses that are numbered from first on, or
// ErrLost, wrapped, and those before.
func acknowledged(pokes []Impulse, results []uint32, first, step uint32) ([]Ack, error) {
	acks := make([]Ack, len(pokes))
	for i, p := range pokes {
		if number, at := results[2*i], results[2*i+1]; number != first+uint32(i) || at != step {
			return acks[:i], fmt.Errorf("%w: impulse %d at %d,%d in step %d: the tile acknowledged impulse %d in step %d", ErrLost, first+uint32(i), p.X, p.Y, step, number, at)
		}
		acks[i] = Ack{p, step}
	}
	return acks, nil
}
