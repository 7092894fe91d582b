package sessions

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident"
)

// Frames of the mixed row.
const (
	frameSteps  = 20
	maxFrames   = 60
	framePeriod = time.Second / 60
)

// stepPeriod is the distance of the steps of the row with a fixed rate.
const stepPeriod = time.Millisecond

// liveCells is how many cells of the kernel the rows use.
const liveCells = 64

// live measures the same four operations on the same grid in ticks and in a kernel that
// keeps running.
func (r *run) live() error {
	k := grid.Kernel()
	for _, strategy := range []resident.Strategy{resident.Redispatch, resident.Persistent} {
		o := resident.Options{Strategy: strategy, Poll: 4, TickTime: time.Millisecond}
		s, mode, err := r.session(k, o, "live", "")
		if err != nil {
			return err
		}
		rows, err := r.liveRows(s, mode)
		if err != nil {
			s.Close()
			return err
		}
		verified := grid.Verify(r.ctx, s) == nil
		s.Close()
		for _, row := range rows {
			row.Verified = row.Verified && verified
			r.addRow(row)
		}
	}
	return nil
}

// liveRows measures in one session. It returns with the session stopped.
func (r *run) liveRows(s *resident.Session, mode Row) (rows []Row, err error) {
	if err := s.Start(0); err != nil {
		return nil, err
	}
	for i := range uint32(liveCells) {
		if err := r.inject(s, i); err != nil {
			return nil, err
		}
	}
	measure := func(variant string, once func(i uint32) error) error {
		times, err := r.sample(once)
		row := mode
		row.Variant, row.Verified = variant, err == nil
		row.setTimes(times)
		rows = append(rows, row)
		return err
	}
	if err := measure("query", func(i uint32) error { return r.query(s, i) }); err != nil {
		return rows, err
	}
	if err := measure("injection until acknowledged", func(i uint32) error { return r.inject(s, i) }); err != nil {
		return rows, err
	}
	frames, err := r.frames(s, mode)
	if err != nil {
		return rows, err
	}
	rows = append(rows, frames)
	if _, err := s.Stop(r.ctx); err != nil {
		return rows, err
	}
	if err = measure("single step", func(uint32) error { return r.step(s) }); err != nil {
		return rows, err
	}
	paced, err := r.paced(s, mode)
	return append(rows, paced), err
}

// step runs one step.
func (r *run) step(s *resident.Session) error {
	out, err := s.Run(r.ctx, 1)
	if err == nil && out.Steps != 1 {
		err = fmt.Errorf("a single step did %d", out.Steps)
	}
	return err
}

// paced runs single steps at a fixed rate, for the CPU time that one takes. The sleeps
// between them are in it.
func (r *run) paced(s *resident.Session, mode Row) (Row, error) {
	row := mode
	row.Variant, row.Verified = "single step at 1000/s", true
	var times []time.Duration
	cpu, began := measure.CPUTime(), time.Now()
	for next := began; time.Since(began) < r.rowTime() || len(times) == 0; next = next.Add(stepPeriod) {
		time.Sleep(time.Until(next))
		start := time.Now()
		if err := r.step(s); err != nil {
			return row, err
		}
		times = append(times, time.Since(start))
	}
	row.CPUPercent = measure.CPUPercent(cpu, time.Since(began))
	row.setTimes(times)
	return row, nil
}

// inject writes a cell and waits for the acknowledgement.
func (r *run) inject(s *resident.Session, i uint32) error {
	return s.Deliver(r.ctx, resident.Message{Kind: 1, A: i % liveCells, B: 7*(i%liveCells) + 1})
}

// query reads a cell that inject wrote, and checks the answer.
func (r *run) query(s *resident.Session, i uint32) error {
	at := i % liveCells
	if err := s.Send(resident.Message{Kind: 2, A: at}); err != nil {
		return err
	}
	m, err := receive(s)
	if err == nil && m != (resident.Message{Kind: 2, A: at, B: 7*at + 1}) {
		err = fmt.Errorf("the answer for cell %d is %d", m.A, m.B)
	}
	return err
}

// frames runs frames of some steps, an injection and a query for what it wrote. The
// times are those that a frame kept the host busy.
func (r *run) frames(s *resident.Session, mode Row) (Row, error) {
	row := mode
	row.Variant, row.Verified = "frame of 20 steps at 60/s", true
	var times []time.Duration
	next := time.Now()
	for i := range uint32(min(max(200*r.Seconds, 5), maxFrames)) {
		time.Sleep(time.Until(next))
		next = next.Add(framePeriod)
		start, from := time.Now(), s.Progress()
		if err := s.Deliver(r.ctx, resident.Message{Kind: 1, A: 3, B: i}); err != nil {
			return row, err
		}
		if err := s.Send(resident.Message{Kind: 2, A: 3}); err != nil {
			return row, err
		}
		m, err := receive(s)
		if err != nil {
			return row, err
		}
		row.Verified = row.Verified && m == (resident.Message{Kind: 2, A: 3, B: i})
		for s.Progress() < from+frameSteps {
			if time.Since(start) > answerTimeout {
				return row, fmt.Errorf("a frame did not do its %d steps", frameSteps)
			}
		}
		times = append(times, time.Since(start))
	}
	row.setTimes(times)
	return row, nil
}
