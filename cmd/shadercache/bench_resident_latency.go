package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident"
)

// mostSamples bounds the calls of a row.
const mostSamples = 20_000

// answerTimeout is how long an answer may take before a row fails.
const answerTimeout = 10 * time.Second

// sample calls once until the time of a row is over, and before that until the
// GPU is warm. It returns how long each call took, without those at first.
func (b *residentBench) sample(once func(i uint32) error) ([]time.Duration, error) {
	var times []time.Duration
	began := time.Now()
	for i := uint32(0); len(times) < mostSamples && (len(times) < 10 || time.Since(began) < b.warm+b.duration()); i++ {
		start := time.Now()
		if err := once(i); err != nil {
			return times, err
		}
		if start.Sub(began) >= b.warm {
			times = append(times, time.Since(start))
		}
		if err := b.ctx.Err(); err != nil {
			return times, err
		}
	}
	return times, nil
}

// answer spins until the kernel's next message is there.
func answer(s *resident.Session) (resident.Message, error) {
	m, _, err := answerFrom(s)
	return m, err
}

// answerFrom is answer with the group that it is of.
func answerFrom(s *resident.Session) (resident.Message, uint32, error) {
	for began := time.Now(); ; {
		for range 1024 {
			if m, group, ok := s.TryReceiveFrom(); ok {
				return m, group, nil
			}
		}
		if time.Since(began) > answerTimeout {
			return resident.Message{}, 0, errors.Join(fmt.Errorf("no answer within %v", answerTimeout), s.Err())
		}
	}
}

// roundTrip measures a message there and its answer back, in flight and with a
// tick for each, and for comparison one dispatch with one fence.
func (b *residentBench) roundTrip() error {
	k, err := resident.Echo(1)
	if err != nil {
		return err
	}
	for _, strategy := range []resident.Strategy{resident.Persistent, resident.Redispatch} {
		s, row, err := b.session(k, resident.Options{Strategy: strategy, Poll: 1}, "round_trip", "message and answer")
		if err != nil {
			return err
		}
		if err := b.echo(s, &row); err != nil {
			s.Close()
			return err
		}
		s.Close()
		b.add(row)
	}
	for _, strategy := range []resident.Strategy{resident.Persistent, resident.Redispatch} {
		if err := b.groupRoundTrip(strategy); err != nil {
			return err
		}
	}
	return b.dispatchAndFence()
}

// groupRoundTrip measures messages to the last of many groups, and to all of
// them, with their answers.
func (b *residentBench) groupRoundTrip(strategy resident.Strategy) error {
	k, err := resident.Echo(barrierGroups)
	if err != nil {
		return err
	}
	s, row, err := b.session(k, resident.Options{Strategy: strategy, Poll: 1}, "round_trip", "")
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Start(0); err != nil {
		return err
	}
	for _, to := range []uint32{barrierGroups - 1, resident.Broadcast} {
		r, answers := row, 1
		r.Variant = fmt.Sprintf("to group %d and its answer", to)
		if to == resident.Broadcast {
			r.Variant, answers = fmt.Sprintf("to all %d groups and %d answers", barrierGroups, barrierGroups), barrierGroups
		}
		r.Verified = true
		times, err := b.sample(func(i uint32) error {
			ok, err := askGroups(s, to, answers, i)
			r.Verified = r.Verified && ok
			return err
		})
		if err != nil {
			return err
		}
		r.took(times)
		b.add(r)
	}
	_, err = s.Stop(b.ctx)
	return err
}

// askGroups sends a message and waits for so many answers, each of another group.
func askGroups(s *resident.Session, to uint32, answers int, i uint32) (ok bool, err error) {
	if err := s.SendTo(to, resident.Message{Kind: 9, A: i, B: ^i}); err != nil {
		return false, err
	}
	ok = true
	var seen [barrierGroups]bool
	for range answers {
		m, group, err := answerFrom(s)
		if err != nil {
			return false, err
		}
		ok = ok && m == (resident.Message{Kind: 9, A: 3*i + 1, B: ^i}) && !seen[group] && (to == resident.Broadcast || group == to)
		seen[group] = true
	}
	return ok, nil
}

// echo has the kernel answer again and again, and checks every answer.
func (b *residentBench) echo(s *resident.Session, row *residentRow) error {
	if err := s.Start(0); err != nil {
		return err
	}
	wrong, sum := 0, uint32(0)
	times, err := b.sample(func(i uint32) error {
		if err := s.Send(resident.Message{Kind: 9, A: i, B: ^i}); err != nil {
			return err
		}
		m, err := answer(s)
		if m != (resident.Message{Kind: 9, A: 3*i + 1, B: ^i}) {
			wrong++
		}
		sum += i
		return err
	})
	if err != nil {
		return err
	}
	if _, err := s.Stop(b.ctx); err != nil {
		return err
	}
	v, err := s.State(b.ctx, "sums[31]")
	row.Verified = wrong == 0 && err == nil && v.Uint() == sum
	row.took(times)
	return err
}

func (b *residentBench) dispatchAndFence() error {
	h, err := b.gpu.Cache.Get(b.ctx, countSource(1))
	if err != nil {
		return err
	}
	defer h.Release()
	row := residentRow{Workload: "round_trip", Strategy: "none", Got: "none", Variant: "dispatch and fence"}
	err = b.gpu.Context.Do(func(gl *glctx.GL) error {
		count, err := gl.NewBuffer(16, make([]byte, 16))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(count)
		gl.UseProgram(h.Program())
		gl.BindStorage(0, count)
		calls := uint32(0)
		times, err := b.sample(func(uint32) error {
			gl.Dispatch(1, 1, 1)
			calls++
			fence := gl.NewFence()
			defer gl.DeleteFence(fence)
			_, err := gl.WaitFence(fence, answerTimeout)
			return err
		})
		if err != nil {
			return err
		}
		var got [4]uint32
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Download(count, 0, glctx.Bytes(got[:]))
		row.took(times)
		row.Verified = got[0] == calls
		return gl.Err()
	})
	b.add(row)
	return err
}

// Frames of the mixed row.
const (
	frameSteps  = 20
	mostFrames  = 60
	framePeriod = time.Second / 60
)

// live measures the same four things on the same grid in ticks and in flight.
func (b *residentBench) live() error {
	w := resident.Persistence{Groups: residentGroups, Local: residentLocal, FMAs: residentFMAs}
	k, err := w.Kernel()
	if err != nil {
		return err
	}
	for _, strategy := range []resident.Strategy{resident.Redispatch, resident.Persistent} {
		o := resident.Options{Strategy: strategy, Poll: 4, TickTime: time.Millisecond}
		s, row, err := b.session(k, o, "live", "")
		if err != nil {
			return err
		}
		rows, err := b.liveRows(s, row)
		if err != nil {
			s.Close()
			return err
		}
		verified, err := b.verify(s, w)
		s.Close()
		if err != nil {
			return err
		}
		for _, r := range rows {
			r.Verified = r.Verified && verified
			b.add(r)
		}
	}
	return nil
}

// liveRows measures in one session. It leaves it stopped.
func (b *residentBench) liveRows(s *resident.Session, row residentRow) ([]residentRow, error) {
	if err := s.Start(0); err != nil {
		return nil, err
	}
	for i := range uint32(liveCells) {
		if err := b.inject(s, i); err != nil {
			return nil, err
		}
	}
	var rows []residentRow
	measure := func(variant string, once func(i uint32) error) error {
		times, err := b.sample(once)
		r := row
		r.Variant, r.Verified = variant, err == nil
		r.took(times)
		rows = append(rows, r)
		return err
	}
	if err := measure("query", func(i uint32) error { return b.query(s, i) }); err != nil {
		return rows, err
	}
	if err := measure("injection until acknowledged", func(i uint32) error { return b.inject(s, i) }); err != nil {
		return rows, err
	}
	if err := b.mixed(s, row, &rows); err != nil {
		return rows, err
	}
	if _, err := s.Stop(b.ctx); err != nil {
		return rows, err
	}
	err := measure("single step", func(uint32) error {
		out, err := s.Run(b.ctx, 1)
		if err == nil && out.Steps != 1 {
			err = fmt.Errorf("a single step did %d", out.Steps)
		}
		return err
	})
	return rows, err
}

// liveCells is how many cells of the kernel the rows use.
const liveCells = 64

// inject writes a cell and waits for the acknowledgement.
func (b *residentBench) inject(s *resident.Session, i uint32) error {
	return s.Deliver(b.ctx, resident.Message{Kind: 1, A: i % liveCells, B: 7*(i%liveCells) + 1})
}

// query asks for a cell that inject wrote, and checks the answer.
func (b *residentBench) query(s *resident.Session, i uint32) error {
	at := i % liveCells
	if err := s.Send(resident.Message{Kind: 2, A: at}); err != nil {
		return err
	}
	m, err := answer(s)
	if err == nil && m != (resident.Message{Kind: 2, A: at, B: 7*at + 1}) {
		err = fmt.Errorf("cell %d was said to hold %d", m.A, m.B)
	}
	return err
}

// mixed has the session do some steps in each frame, take an injection and
// answer a query for it. The time is what the frame kept the host busy.
func (b *residentBench) mixed(s *resident.Session, row residentRow, rows *[]residentRow) error {
	r := row
	r.Variant, r.Verified = "frame of 20 steps at 60/s", true
	var times []time.Duration
	next := time.Now()
	for i := range uint32(min(max(200*b.seconds, 5), mostFrames)) {
		time.Sleep(time.Until(next))
		next = next.Add(framePeriod)
		start, from := time.Now(), s.Progress()
		if err := s.Deliver(b.ctx, resident.Message{Kind: 1, A: 3, B: i}); err != nil {
			return err
		}
		if err := s.Send(resident.Message{Kind: 2, A: 3}); err != nil {
			return err
		}
		m, err := answer(s)
		if err != nil {
			return err
		}
		r.Verified = r.Verified && m == (resident.Message{Kind: 2, A: 3, B: i})
		for s.Progress() < from+frameSteps {
			if time.Since(start) > answerTimeout {
				return fmt.Errorf("a frame did not do its %d steps", frameSteps)
			}
		}
		times = append(times, time.Since(start))
	}
	r.took(times)
	*rows = append(*rows, r)
	return nil
}

// preempt measures how soon a dispatch of somebody else has run while a session
// works without a pause.
func (b *residentBench) preempt() error {
	w := resident.Persistence{Groups: residentGroups, Local: residentLocal, FMAs: residentFMAs}
	k, err := w.Kernel()
	if err != nil {
		return err
	}
	h, err := b.gpu.Cache.Get(b.ctx, countSource(1))
	if err != nil {
		return err
	}
	defer h.Release()
	for _, strategy := range []resident.Strategy{resident.Redispatch, resident.Triple, resident.Persistent} {
		s, row, err := b.session(k, resident.Options{Strategy: strategy, Poll: 16}, "preempt", "until another dispatch has run")
		if err != nil {
			return err
		}
		err = b.preemptions(s, h.Program(), &row)
		if err == nil {
			row.Verified, err = b.verify(s, w)
		}
		s.Close()
		if err != nil {
			return err
		}
		b.add(row)
	}
	return nil
}

func (b *residentBench) preemptions(s *resident.Session, program uint32, row *residentRow) error {
	if err := s.Start(0); err != nil {
		return err
	}
	var times []time.Duration
	time.Sleep(b.warm)
	for began := time.Now(); len(times) < 10 || time.Since(began) < b.duration(); {
		time.Sleep(3 * time.Millisecond) // so that the session is in the middle of something
		start := time.Now()
		_, err := s.Preempt(b.ctx, resident.Priority{Level: 100, Deadline: 200 * time.Microsecond}, func(context.Context) error {
			err := b.other(program)
			times = append(times, time.Since(start))
			return err
		})
		if err != nil {
			return err
		}
	}
	row.took(times)
	_, err := s.Stop(b.ctx)
	return err
}

// other is a dispatch of somebody else, until it is done.
func (b *residentBench) other(program uint32) error {
	return b.gpu.Context.Do(func(gl *glctx.GL) error {
		count, err := gl.NewBuffer(16, make([]byte, 16))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(count)
		gl.UseProgram(program)
		gl.BindStorage(0, count)
		gl.Dispatch(1, 1, 1)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		var got [4]uint32
		gl.Download(count, 0, glctx.Bytes(got[:]))
		if got[0] != 1 {
			return fmt.Errorf("the other dispatch counted %d", got[0])
		}
		return gl.Err()
	})
}
