package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident"
)

// preempt measures the time until another dispatch has run while a session works
// without a pause.
func (r *run) preempt() error {
	k := grid.Kernel()
	h, err := r.gpu.Cache.Get(r.ctx, measure.CountSource(1))
	if err != nil {
		return err
	}
	defer h.Release()
	for _, strategy := range []resident.Strategy{resident.Redispatch, resident.Triple, resident.Persistent} {
		s, row, err := r.session(k, resident.Options{Strategy: strategy, Poll: 16}, "preempt", "until another dispatch has run")
		if err != nil {
			return err
		}
		err = r.preemptions(s, h.Program(), &row)
		row.Verified = err == nil && grid.Verify(r.ctx, s) == nil
		s.Close()
		if err != nil {
			return err
		}
		r.addRow(row)
	}
	return nil
}

// preemptions preempts the session again and again for the dispatch of a program.
func (r *run) preemptions(s *resident.Session, program uint32, row *Row) error {
	if err := s.Start(0); err != nil {
		return err
	}
	var times []time.Duration
	time.Sleep(r.warm)
	for began := time.Now(); len(times) < 10 || time.Since(began) < r.rowTime(); {
		time.Sleep(3 * time.Millisecond) // so that a submission of the session is running
		start := time.Now()
		_, err := s.Preempt(r.ctx, resident.Priority{Level: 100, Deadline: 200 * time.Microsecond}, func(context.Context) error {
			err := r.dispatchOnce(program)
			times = append(times, time.Since(start))
			return err
		})
		if err != nil {
			return err
		}
	}
	row.setTimes(times)
	_, err := s.Stop(r.ctx)
	return err
}

// dispatchOnce runs one dispatch of the counting program and waits for its result.
func (r *run) dispatchOnce(program uint32) error {
	return r.gpu.Context.Do(func(gl *glctx.GL) error {
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
