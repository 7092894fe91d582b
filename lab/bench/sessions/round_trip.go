package sessions

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident"
)

// roundTrip measures a message to a kernel and its answer, while it runs and with a
// tick for each, and for comparison one dispatch with one fence.
func (r *run) roundTrip() error {
	k := resident.Echo(1)
	for _, strategy := range []resident.Strategy{resident.Persistent, resident.Redispatch} {
		s, row, err := r.session(k, resident.Options{Strategy: strategy, Poll: 1}, "round_trip", "message and answer")
		if err != nil {
			return err
		}
		if err := r.echo(s, &row); err != nil {
			s.Close()
			return err
		}
		s.Close()
		r.addRow(row)
	}
	for _, strategy := range []resident.Strategy{resident.Persistent, resident.Redispatch} {
		if err := r.groupRoundTrip(strategy); err != nil {
			return err
		}
	}
	return r.dispatchAndFence()
}

// groupRoundTrip measures messages to the last of many groups, and to all of them,
// with their answers.
func (r *run) groupRoundTrip(strategy resident.Strategy) error {
	s, mode, err := r.session(resident.Echo(barrierGroups), resident.Options{Strategy: strategy, Poll: 1}, "round_trip", "")
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Start(0); err != nil {
		return err
	}
	for _, to := range []uint32{barrierGroups - 1, resident.Broadcast} {
		row, answers := mode, 1
		row.Variant = fmt.Sprintf("to group %d and its answer", to)
		if to == resident.Broadcast {
			row.Variant, answers = fmt.Sprintf("to all %d groups and %d answers", barrierGroups, barrierGroups), barrierGroups
		}
		row.Verified = true
		times, err := r.sample(func(i uint32) error {
			ok, err := askGroups(s, to, answers, i)
			row.Verified = row.Verified && ok
			return err
		})
		if err != nil {
			return err
		}
		row.setTimes(times)
		r.addRow(row)
	}
	_, err = s.Stop(r.ctx)
	return err
}

// echoed returns message i to an echo kernel, and its answer.
func echoed(i uint32) (question, answer resident.Message) {
	return resident.Message{Kind: 9, A: i, B: ^i}, resident.Message{Kind: 9, A: 3*i + 1, B: ^i}
}

// askGroups sends a message, waits for the answers, and reports whether each is right
// and of another group.
func askGroups(s *resident.Session, to uint32, answers int, i uint32) (ok bool, err error) {
	question, want := echoed(i)
	question.Group = to
	if err := s.Send(question); err != nil {
		return false, err
	}
	ok = true
	var seen [barrierGroups]bool
	for range answers {
		m, err := receive(s)
		if err != nil {
			return false, err
		}
		want.Group = m.Group
		ok = ok && m == want && !seen[m.Group] && (to == resident.Broadcast || m.Group == to)
		seen[m.Group] = true
	}
	return ok, nil
}

// echo measures one message and its answer at a time, and checks every answer and the
// kernel's sum of all messages.
func (r *run) echo(s *resident.Session, row *Row) error {
	if err := s.Start(0); err != nil {
		return err
	}
	wrong, sum := 0, uint32(0)
	times, err := r.sample(func(i uint32) error {
		question, want := echoed(i)
		if err := s.Send(question); err != nil {
			return err
		}
		m, err := receive(s)
		if m != want {
			wrong++
		}
		sum += i
		return err
	})
	if err != nil {
		return err
	}
	if _, err := s.Stop(r.ctx); err != nil {
		return err
	}
	v, err := s.State(r.ctx, "sums[31]")
	row.Verified = wrong == 0 && err == nil && v.Uint() == sum
	row.setTimes(times)
	return err
}

// dispatchAndFence measures a dispatch until its fence is signaled.
func (r *run) dispatchAndFence() error {
	h, err := r.gpu.Cache.Get(r.ctx, measure.CountSource(1))
	if err != nil {
		return err
	}
	defer h.Release()
	row := Row{Workload: "round_trip", Strategy: "none", Got: "none", Variant: "dispatch and fence"}
	err = r.gpu.Context.Do(func(gl *glctx.GL) error {
		count, err := gl.NewBuffer(16, make([]byte, 16))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(count)
		gl.UseProgram(h.Program())
		gl.BindStorage(0, count)
		calls := uint32(0)
		times, err := r.sample(func(uint32) error {
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
		row.setTimes(times)
		row.Verified = got[0] == calls
		return gl.Err()
	})
	r.addRow(row)
	return err
}
