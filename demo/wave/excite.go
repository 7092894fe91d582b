//go:build linux

package wave

import (
	"context"
	"fmt"
	"math"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
)

// Poke sends messages to the tiles and waits until the tiles have acknowledged
// them: the surface is raised. Many pokes are done in their order. It fails for a
// poke outside the grid or of no reasonable size, then none was done; with
// ErrLost; and with what the executor reports.
func (s *Sim) Poke(ctx context.Context, pokes ...Poke) ([]Ack, error) {
	for _, p := range pokes {
		if err := p.check(s.options); err != nil {
			return nil, err
		}
	}
	var acks []Ack
	for len(pokes) > 0 {
		n := min(len(pokes), maxPokes)
		done, err := s.poke(ctx, pokes[:n])
		if err != nil {
			return acks, err
		}
		acks = append(acks, done...)
		pokes = pokes[n:]
	}
	return acks, nil
}

func (s *Sim) poke(ctx context.Context, pokes []Poke) ([]Ack, error) {
	messages := make([]uint32, 0, 4*len(pokes))
	answers := make([]uint32, 2*len(pokes))
	var step, first uint32
	pending, err := s.submit(ctx, func() executor.Job {
		m, now, before := &s.memory, s.now, 1-s.now
		step, first = s.steps, s.messages
		for i, p := range pokes {
			messages = append(messages, uint32(p.X), uint32(p.Y), math.Float32bits(p.Amplitude), first+uint32(i))
		}
		s.messages += uint32(len(pokes))
		return executor.Job{
			Dispatch: s.tileDispatch(executor.Dispatch{
				Program: s.programs.excite,
				Memory: []executor.Bound{
					m.fields[now].Bind(0), m.fields[before].Bind(1), m.faces[now].Bind(2), m.faces[before].Bind(3),
					m.tiles.Bind(5), m.pulse.BindReadOnly(6),
				},
				Uniforms: []executor.Uniform{executor.Int("count", int32(len(pokes)))},
			}),
			Inputs:  []executor.Input{{Binding: 4, Data: glctx.Bytes(messages)}},
			Outputs: []executor.Output{{Binding: 7, To: glctx.Bytes(answers)}},
		}
	})
	if err != nil {
		return nil, err
	}
	if err := pending.Wait(ctx); err != nil {
		return nil, fmt.Errorf("wave: poke: %w", err)
	}
	acks := make([]Ack, len(pokes))
	for i, p := range pokes {
		if number, at := answers[2*i], answers[2*i+1]; number != first+uint32(i) || at != step {
			return acks[:i], fmt.Errorf("%w: message %d to %d,%d at step %d: the answer is for message %d at step %d", ErrLost, first+uint32(i), p.X, p.Y, step, number, at)
		}
		acks[i] = Ack{p, step}
	}
	return acks, nil
}
