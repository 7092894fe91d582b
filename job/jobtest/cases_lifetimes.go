package jobtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/job"
)

// lifetimes are cases of what is released in which order.
func lifetimes() (list []testCase) {
	for name, order := range map[string]func(i int) (first, second bool){
		"in order":      func(int) (bool, bool) { return true, false },
		"the other way": func(int) (bool, bool) { return false, true },
		"odd ones":      func(i int) (bool, bool) { return i%2 == 1, false },
	} {
		list = append(list, testCase{name: "jobs are released " + name, do: func(r *run) {
			var pending []job.Pending
			var outputs, wants [][]uint32
			for range 8 {
				j, got, want := scaledJob(r.get(scaled), 500)
				pending, outputs, wants = append(pending, r.submit(r.Context(), j)), append(outputs, got), append(wants, want)
			}
			waited := make([]bool, 8)
			for i := range pending {
				at := i
				if _, backwards := order(i); backwards {
					at = 7 - i
				}
				if first, _ := order(i); !first {
					r.ok(pending[at].Wait(r.Context()))
					r.same(outputs[at], wants[at])
					waited[at] = true
				}
				pending[at].Release()
				pending[at].Release()
			}
			for i, p := range pending {
				if waited[i] {
					r.ok(p.Wait(r.Context())) // as before
				} else {
					r.fails(fmt.Sprint(i), p.Wait(r.Context()), job.ErrReleased)
				}
			}
			r.scale(500)
		}})
	}
	slices.SortFunc(list, func(a, b testCase) int { return len(a.name) - len(b.name) })
	return append(list, []testCase{
		{name: "a program is released before its job", do: func(r *run) {
			p, err := r.Get(r.Context(), scaled)
			r.ok(err)
			j, got, want := scaledJob(p, 1000)
			pending := r.submit(r.Context(), j)
			p.Release()
			p.Release()
			r.ok(job.Wait(r.Context(), pending, nil))
			r.same(got, want)
		}},
		{name: "a buffer is released before its job", do: func(r *run) {
			b, err := r.NewBuffer(r.Context(), 256)
			r.ok(err)
			_, err = b.Write(r.Context(), 0, bytesOf(counted(64)))
			r.ok(err)
			out := poisoned(64)
			pending := r.submit(r.Context(), &job.Job{
				Dispatch: job.Dispatch{Program: r.get(tripled), Groups: groups(64), Buffers: []job.Bound{{Buffer: b, ReadOnly: true}}},
				Outputs:  []job.Output{{Binding: 1, To: bytesOf(out)}},
			})
			b.Release()
			b.Release()
			r.ok(job.Wait(r.Context(), pending, nil))
			r.note("%x", out)
		}},
		{name: "a job that is released has run for a buffer", do: func(r *run) {
			b := r.buffer(64)
			r.submit(r.Context(), r.increase(job.Bound{Buffer: b})).Release()
			_, err := b.Write(r.Context(), 0, []byte{9})
			r.ok(err)
			if got := make([]byte, 1); true {
				_, err = b.Read(r.Context(), 0, got)
				r.ok(err)
				r.note("%x", got)
			}
		}},
		{name: "jobs of one buffer keep their order", do: func(r *run) {
			b, p := r.buffer(64), r.get(appended)
			var last job.Pending
			for number := range uint32(12) {
				last = r.submit(r.Context(), &job.Job{Dispatch: job.Dispatch{
					Program: p, Groups: [3]uint32{1, 1, 1}, Buffers: []job.Bound{{Buffer: b}}, Uniforms: []job.Uniform{job.Uint("number", number)},
				}})
				defer last.Release()
			}
			r.ok(last.Wait(r.Context()))
			r.contents(b, 0, 56)
		}},
		{name: "a program twice", do: func(r *run) {
			one, two := r.get(scaled), r.get(scaled)
			r.note("%s %v %v %t %v", one.Name(), one.Key(), one.WorkGroup(), one.Key() == two.Key(), two.Origin())
			one.Release()
			j, got, want := scaledJob(two, 64)
			r.do(j)
			r.same(got, want)
		}},
		{name: "a deadline that has passed", do: func(r *run) {
			ctx, cancel := context.WithDeadline(r.Context(), time.Now().Add(-time.Second))
			defer cancel()
			j, _, _ := scaledJob(r.get(scaled), 64)
			r.failsEarly(ctx, j, context.DeadlineExceeded)
		}},
		{name: "a context that was cancelled", do: func(r *run) {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			j, _, _ := scaledJob(r.get(scaled), 64)
			r.failsEarly(ctx, j, context.Canceled)
		}},
		{name: "a deadline passes", do: func(r *run) {
			j, _ := r.slowJob(r.manyTurns())
			ctx, cancel := context.WithTimeout(r.Context(), 30*time.Millisecond)
			defer cancel()
			pending, err := r.Submit(ctx, j)
			if err == nil { // on a busy machine the time is over before it is submitted
				defer pending.Release()
				err = pending.Wait(r.Context())
				r.fails("again", pending.Wait(r.Context()), context.DeadlineExceeded)
			}
			r.fails("the first time", err, context.DeadlineExceeded)
			r.lines = nil
			r.scale(64)
		}},
		{name: "a wait ends and the job continues", do: func(r *run) {
			j, out := r.slowJob(r.manyTurns())
			pending := r.submit(r.Context(), j)
			defer pending.Release()
			short, cancel := context.WithTimeout(r.Context(), time.Millisecond)
			defer cancel()
			r.fails("of Wait", pending.Wait(short), context.DeadlineExceeded)
			cancelled, cancel := context.WithCancel(r.Context())
			cancel()
			r.fails("of Wait", pending.Wait(cancelled), context.Canceled)
			r.ok(pending.Wait(r.Context()))
			if slices.Contains(out, poisoned(1)[0]) {
				r.Error("words were not written")
			}
		}},
		{name: "a context is cancelled after Submit", do: func(r *run) {
			ctx, cancel := context.WithCancel(r.Context())
			j, got, want := scaledJob(r.get(scaled), 64)
			pending := r.submit(ctx, j)
			cancel()
			r.ok(job.Wait(r.Context(), pending, nil))
			r.same(got, want)
		}},
		{name: "a slow job is released", do: func(r *run) {
			j, _ := r.slowJob(r.manyTurns())
			pending := r.submit(r.Context(), j)
			pending.Release()
			r.fails("Wait", pending.Wait(r.Context()), job.ErrReleased)
			r.scale(64)
		}},
	}...)
}

// failsEarly submits a job with a context that has ended.
func (r *run) failsEarly(ctx context.Context, j *job.Job, want error) {
	r.Helper()
	pending, err := r.Submit(ctx, j)
	if err == nil {
		pending.Release()
	}
	r.fails("Submit", err, want)
	r.scale(64)
}
