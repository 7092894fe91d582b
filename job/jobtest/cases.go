package jobtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/job"
)

// large is a number of words that no slot of an executor takes.
const large = 1 << 19

// results are cases of what a job computes.
func results() (list []testCase) {
	for _, n := range []int{1, 63, 64, 65, 1000, 1 << 14, 1<<16 + 1, large} {
		list = append(list, testCase{name: fmt.Sprintf("a job of %d words", n), do: func(r *run) { r.scale(n) }})
	}
	for _, n := range []int{64, 1 << 14, large} {
		list = append(list, testCase{name: fmt.Sprintf("fill and read %d words", n), do: func(r *run) { r.fillAndRead(n) }})
	}
	for _, n := range []int{1000, large} {
		list = append(list, testCase{name: fmt.Sprintf("what nothing wrote of %d words is zero", n), do: func(r *run) { r.writeHalf(n) }})
	}
	return append(list, []testCase{
		{name: "groups along three axes", do: func(r *run) {
			out := poisoned(4 * 6 * 8)
			r.do(&job.Job{
				Dispatch: job.Dispatch{Program: r.get(numbered), Groups: [3]uint32{2, 3, 4}},
				Outputs:  []job.Output{{Binding: 0, To: bytesOf(out)}},
			})
			for i, v := range out {
				if want := uint32(i%4 + i/4%6*10 + i/24*100); v != want {
					r.Fatalf("word %d is %d, want %d", i, v, want)
				}
			}
		}},
		{name: "a block with a head and a list", do: func(r *run) {
			in := []uint32{1000, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}
			out := poisoned(1)
			r.do(&job.Job{
				Dispatch: job.Dispatch{Program: r.get(listed), Groups: [3]uint32{1, 1, 1}},
				Inputs:   []job.Input{{Binding: 0, Data: bytesOf(in)}}, Outputs: []job.Output{{Binding: 1, To: bytesOf(out)}},
			})
			r.same(out, []uint32{1000 + 1 + 3 + 5 + 7})
		}},
		{name: "a chain with params of each", do: func(r *run) {
			j, got, _ := scaledJob(r.get(scaled), 64)
			b := r.buffer(64)
			next := j.Dispatch
			next.Params = append(bytesOf([]uint32{2}), make([]byte, 12)...)
			next.Buffers = []job.Bound{{Binding: 0, Buffer: b, ReadOnly: true}}
			j.Buffers = []job.Bound{{Binding: 1, Buffer: b}}
			j.Then = []job.Dispatch{next}
			r.do(j)
			want := counted(64)
			for i := range want {
				want[i] = 2*(5*want[i]+10) + 10
			}
			r.same(got, want)
		}},
		{name: "a chain of twenty", do: func(r *run) {
			b, out := r.buffer(64), poisoned(64)
			j := r.increase(job.Bound{Buffer: b})
			for range 19 {
				j.Then = append(j.Then, j.Dispatch)
			}
			j.Then = append(j.Then, job.Dispatch{Program: r.get(tripled), Groups: groups(64), Buffers: []job.Bound{{Buffer: b, ReadOnly: true}}})
			j.Outputs = []job.Output{{Binding: 1, To: bytesOf(out)}}
			r.do(j)
			r.same(out, slices.Repeat([]uint32{60}, 64))
		}},
		{name: "a chain over one large input", do: func(r *run) {
			in, out := counted(large), poisoned(large)
			j := &job.Job{
				Dispatch: job.Dispatch{Program: r.get(increased), Groups: groups(large)},
				Then:     []job.Dispatch{{Program: r.get(tripled), Groups: groups(large)}},
				Inputs:   []job.Input{{Binding: 0, Data: slices.Clone(bytesOf(in))}}, Outputs: []job.Output{{Binding: 1, To: bytesOf(out)}},
			}
			r.do(j)
			for i := range in {
				in[i] = 3 * (in[i] + 1)
			}
			r.same(out, in)
		}},
		{name: "a hundred jobs at a time", do: func(r *run) {
			p := r.get(scaled)
			var pending []job.Pending
			var outputs, expected [][]uint32
			for i := range 100 {
				j, got, want := scaledJob(p, 100+i)
				pending = append(pending, r.submit(r.Context(), j))
				outputs, expected = append(outputs, got), append(expected, want)
			}
			for i, each := range pending {
				r.ok(each.Wait(r.Context()))
				r.same(outputs[i], expected[i])
				each.Release()
			}
		}},
		{name: "a job that is used again at once", do: func(r *run) {
			j, first, want := scaledJob(r.get(scaled), 1000)
			one := r.submit(r.Context(), j)
			clear(j.Inputs[0].Data)
			clear(j.Params)
			second := poisoned(1000)
			j.Outputs[0].To, j.Uniforms[0] = bytesOf(second), job.Int("plus", 0)
			two := r.submit(r.Context(), j)
			r.ok(job.Wait(r.Context(), two, nil))
			r.ok(job.Wait(r.Context(), one, nil))
			r.same(first, want)
			minus := -11
			r.same(second, slices.Repeat([]uint32{uint32(minus)}, 1000))
		}},
	}...)
}

// fillAndRead runs a job whose input is filled and whose output is read.
func (r *run) fillAndRead(n int) {
	j, got, want := scaledJob(r.get(scaled), n)
	in, filled, read := j.Inputs[0].Data, 0, 0
	j.Inputs[0] = job.Input{Binding: 0, Size: 4 * n, Fill: func(dst []byte) { filled += copy(dst, in) }}
	j.Outputs[0] = job.Output{Binding: 1, Size: 4 * n, Read: func(src []byte) { read += copy(bytesOf(got), src) }}
	pending := r.submit(r.Context(), j)
	defer pending.Release()
	for range 2 { // the second time reads nothing
		r.ok(pending.Wait(r.Context()))
	}
	r.same(got, want)
	r.note("%d bytes filled, %d read", filled, read)
}

// writeHalf runs a job that writes every second word, after one that wrote all.
func (r *run) writeHalf(n int) {
	for range 3 {
		r.scale(n)
		out := poisoned(n)
		r.do(&job.Job{
			Dispatch: job.Dispatch{Program: r.get(half), Groups: groups((n + 1) / 2)},
			Outputs:  []job.Output{{Binding: 1, To: bytesOf(out)}},
		})
		for i, v := range out {
			if want := uint32(i+1) % 2; v != want {
				r.Fatalf("word %d of %d is %#x, want %d", i, n, v, want)
			}
		}
	}
}

// bindings are cases of each kind of binding.
func bindings() (list []testCase) {
	for name, u := range map[string]struct {
		at    int
		value job.Uniform
		want  uint32 // of a word that is 0
	}{
		"a negative int":        {0, job.Int("plus", -3), ^uint32(0) - 31},
		"ints of one":           {0, job.Ints("plus", 4), 17},
		"a large uint":          {1, job.Uint("times", 1<<31), 1<<31 - 11},
		"a float":               {2, job.Float("minus", 2.5), 19},
		"true":                  {3, job.Bool("complement", true), ^uint32(10)},
		"an int for a bool":     {3, job.Int("complement", 1), ^uint32(10)},
		"a uint for a bool":     {3, job.Uint("complement", 4), ^uint32(10)},
		"bools of one":          {3, job.Bools("complement", true), ^uint32(10)},
		"floats of one":         {2, job.Floats("minus", 1), 20},
		"a uniform without use": {2, job.Float("minus", 11), 10},
	} {
		list = append(list, testCase{name: name, do: func(r *run) {
			j, got, _ := scaledJob(r.get(scaled), 1)
			j.Uniforms[u.at] = u.value
			j.Uniforms = append(j.Uniforms, job.Uint("noSuchUniform", 3))
			slices.Reverse(j.Uniforms)
			r.do(j)
			r.same(got, []uint32{u.want})
		}})
	}
	slices.SortFunc(list, func(a, b testCase) int { return len(a.name) - len(b.name) })
	return append(list, []testCase{
		{name: "params that are longer than the block", do: func(r *run) {
			r.scaleWith(64, func(j *job.Job) { j.Params = append(j.Params, make([]byte, 100)...) })
		}},
		{name: "an input that no program uses", do: func(r *run) {
			r.scaleWith(64, func(j *job.Job) { j.Inputs = append(j.Inputs, job.Input{Binding: 9, Data: []byte{1, 2, 3}}) })
		}},
		{name: "a large input that no program uses", do: func(r *run) {
			r.scaleWith(64, func(j *job.Job) { j.Inputs = append(j.Inputs, job.Input{Binding: 9, Data: make([]byte, 4*large)}) })
		}},
		{name: "a buffer that no program uses", do: func(r *run) {
			b := r.buffer(64)
			r.scaleWith(64, func(j *job.Job) { j.Buffers = []job.Bound{{Binding: 9, Buffer: b, ReadOnly: true}} })
		}},
		{name: "an input that is longer than what is read", do: func(r *run) {
			b := r.buffer(1000, counted(1000)...)
			r.scaleWith(100, func(j *job.Job) { j.Inputs, j.Buffers = nil, []job.Bound{{Buffer: b, Size: 400, ReadOnly: true}} })
		}},
		{name: "a buffer before an input", do: func(r *run) {
			b := r.buffer(64, counted(64)...)
			r.scaleWith(64, func(j *job.Job) {
				clear(j.Inputs[0].Data)
				j.Buffers = []job.Bound{{Binding: 0, Buffer: b, ReadOnly: true}}
			})
		}},
		{name: "a buffer before a large input", do: func(r *run) {
			b := r.buffer(large, counted(large)...)
			r.scaleWith(large, func(j *job.Job) {
				j.Inputs[0].Data = make([]byte, 4*large)
				j.Buffers = []job.Bound{{Binding: 0, Buffer: b, ReadOnly: true}}
			})
		}},
		{name: "a range of a buffer", do: func(r *run) {
			b := r.buffer(256, make([]uint32, 256)...)
			r.do(r.increase(job.Bound{Buffer: b, Offset: 256, Size: 512}))
			r.do(r.increase(job.Bound{Buffer: b, Offset: 512}))
			r.contents(b, 252, 8)
			r.contents(b, 508, 8)
			r.contents(b, 764, 8)
			r.contents(b, 1020, 4)
		}},
		{name: "two ranges of a buffer", do: func(r *run) {
			b := r.buffer(128, counted(64)...)
			r.do(&job.Job{Dispatch: job.Dispatch{Program: r.get(tripled), Groups: groups(64), Buffers: []job.Bound{
				{Binding: 0, Buffer: b, Size: 256, ReadOnly: true}, {Binding: 1, Buffer: b, Offset: 256},
			}}})
			r.contents(b, 0, 512)
		}},
		{name: "a buffer into an output", do: func(r *run) {
			b, out := r.buffer(64, counted(64)...), poisoned(64)
			r.do(&job.Job{
				Dispatch: job.Dispatch{Program: r.get(tripled), Groups: groups(64), Buffers: []job.Bound{{Buffer: b, ReadOnly: true}}},
				Outputs:  []job.Output{{Binding: 1, To: bytesOf(out)}},
			})
			r.note("%x", out)
		}},
		{name: "large in and small out", do: func(r *run) {
			in, out := counted(large), poisoned(64)
			r.do(&job.Job{
				Dispatch: job.Dispatch{Program: r.get(tripled), Groups: groups(64)},
				Inputs:   []job.Input{{Binding: 0, Data: bytesOf(in)}}, Outputs: []job.Output{{Binding: 1, To: bytesOf(out)}},
			})
			r.note("%x", out)
		}},
		{name: "small in and large out", do: func(r *run) {
			in, out := counted(large/2+1), poisoned(large)
			r.do(&job.Job{
				Dispatch: job.Dispatch{Program: r.get(increased), Groups: groups(large)},
				Then:     []job.Dispatch{{Program: r.get(half), Groups: groups(large / 2)}},
				Inputs:   []job.Input{{Binding: 0, Data: bytesOf(in)}}, Outputs: []job.Output{{Binding: 1, To: bytesOf(out)}},
			})
			r.note("%x %x", out[:4], out[large-2:])
		}},
	}...)
}

// buffers are cases of buffers and of named ones.
func buffers() []testCase {
	return []testCase{
		{name: "a new buffer is zero", do: func(r *run) {
			b := r.buffer(64)
			r.note("%d bytes, version %d, created %t", b.Size(), b.Version(), b.Created())
			r.contents(b, 0, 256)
		}},
		{name: "a new large buffer is zero", do: func(r *run) {
			b, got := r.buffer(large), poisoned(large)
			_, err := b.Read(r.Context(), 0, bytesOf(got))
			r.ok(err)
			r.same(got, make([]uint32, large))
		}},
		{name: "bytes at any offset", do: func(r *run) {
			b := r.buffer(16)
			for offset, data := range [][]byte{{1}, {2, 3}, {4, 5, 6, 7, 8}} {
				_, err := b.Write(r.Context(), 7*offset+1, data)
				r.ok(err)
			}
			r.contents(b, 0, 64)
			r.contents(b, 3, 13)
		}},
		{name: "a large buffer is written and read", do: func(r *run) {
			b, got := r.buffer(large, counted(large)...), poisoned(large-2)
			_, err := b.Read(r.Context(), 4, bytesOf(got))
			r.ok(err)
			r.same(got, counted(large)[1:large-1])
		}},
		{name: "outside a buffer", do: func(r *run) {
			b := r.buffer(256)
			const far = int(^uint(0) >> 1)
			for _, c := range []struct{ offset, n int }{{-1, 4}, {0, 0}, {1020, 8}, {4096, 4}, {far, 4}} {
				_, err := b.Read(r.Context(), c.offset, make([]byte, c.n))
				r.fails("Read", err, job.ErrInvalid)
				_, err = b.Write(r.Context(), c.offset, make([]byte, c.n))
				r.fails("Write", err, job.ErrInvalid)
				_, err = b.Replace(r.Context(), c.offset, make([]byte, c.n), 0, 1)
				r.fails("Replace", err, job.ErrInvalid)
			}
			r.contents(b, 0, 4)
		}},
		{name: "a named buffer", do: func(r *run) {
			b, err := r.NamedBuffer(r.Context(), "state", 64)
			r.ok(err)
			r.note("%d bytes, version %d, created %t", b.Size(), b.Version(), b.Created())
			r.contents(b, 0, 64)
			_, err = b.Write(r.Context(), 0, []byte("kept"))
			r.ok(err)
			b.Release()
			b, err = r.NamedBuffer(r.Context(), "state", 64)
			r.ok(err)
			r.note("%d bytes, version %d, created %t", b.Size(), b.Version(), b.Created())
			r.contents(b, 0, 64)
			_, err = r.NamedBuffer(r.Context(), "state", 128)
			r.fails("another size", err, job.ErrExists)
			r.ok(r.DeleteBuffer(r.Context(), "state"))
			r.contents(b, 0, 4) // those that have it open keep it
			b.Release()
			r.fails("delete again", r.DeleteBuffer(r.Context(), "state"), job.ErrNotFound)
		}},
		{name: "a named buffer of two", do: func(r *run) {
			one, err := r.NamedBuffer(r.Context(), "two", 256)
			r.ok(err)
			two, err := r.NamedBuffer(r.Context(), "two", 256)
			r.ok(err)
			r.do(r.increase(job.Bound{Buffer: one}))
			r.contents(two, 0, 8)
			one.Release()
			r.do(r.increase(job.Bound{Buffer: two}))
			r.contents(two, 0, 8)
			two.Release()
			r.ok(r.DeleteBuffer(r.Context(), "two"))
		}},
		{name: "a name that is made again", do: func(r *run) {
			old, err := r.NamedBuffer(r.Context(), "again", 64)
			r.ok(err)
			_, err = old.Write(r.Context(), 0, []byte("old"))
			r.ok(err)
			r.ok(r.DeleteBuffer(r.Context(), "again"))
			b, err := r.NamedBuffer(r.Context(), "again", 128)
			r.ok(err)
			r.contents(b, 0, 8)
			r.contents(old, 0, 8)
			r.ok(r.DeleteBuffer(r.Context(), "again"))
			old.Release()
			b.Release()
		}},
		{name: "no name", do: func(r *run) {
			_, err := r.NamedBuffer(r.Context(), "", 64)
			r.fails("NamedBuffer", err, job.ErrInvalid)
			r.fails("DeleteBuffer", r.DeleteBuffer(r.Context(), "noSuchName"), job.ErrNotFound)
		}},
	}
}

// versions are cases of the version of a buffer.
func versions() []testCase {
	return []testCase{
		{name: "each write counts", do: func(r *run) {
			b := r.buffer(64)
			for range 3 {
				version, err := b.Write(r.Context(), 0, []byte{1})
				r.ok(err)
				r.note("%d", version)
			}
			r.do(r.increase(job.Bound{Buffer: b}))
			r.contents(b, 0, 4)
		}},
		{name: "a job that reads and writes counts once", do: func(r *run) {
			b := r.buffer(128)
			j := &job.Job{Dispatch: job.Dispatch{Program: r.get(tripled), Groups: groups(64), Buffers: []job.Bound{{Buffer: b, Size: 256, ReadOnly: true}, {Binding: 1, Buffer: b, Offset: 256}}}}
			r.do(j)
			r.contents(b, 0, 4)
		}},
		{name: "a chain counts once", do: func(r *run) {
			b := r.buffer(64)
			j := r.increase(job.Bound{Buffer: b})
			j.Then = []job.Dispatch{j.Dispatch, j.Dispatch}
			r.do(j)
			r.contents(b, 0, 4)
		}},
		{name: "who only reads does not count", do: func(r *run) {
			b, out := r.buffer(64), poisoned(64)
			r.do(&job.Job{
				Dispatch: job.Dispatch{Program: r.get(tripled), Groups: groups(64), Buffers: []job.Bound{{Buffer: b, ReadOnly: true}}},
				Outputs:  []job.Output{{Binding: 1, To: bytesOf(out)}},
			})
			r.contents(b, 0, 4)
		}},
		{name: "a job that is refused does not count", do: func(r *run) {
			b := r.buffer(64)
			j := r.increase(job.Bound{Buffer: b})
			j.Groups[1] = 0
			if r.Device.Run(r.Context(), j) == nil {
				r.Error("it ran")
			}
			r.contents(b, 0, 4)
		}},
		{name: "replace", do: func(r *run) {
			b := r.buffer(64, 1)
			version, err := b.Replace(r.Context(), 0, []byte("abcd"), 1, 99)
			r.ok(err)
			r.note("%d", version)
			_, err = b.Replace(r.Context(), 0, []byte("efgh"), 1, 100)
			r.fails("Replace again", err, job.ErrConflict)
			r.contents(b, 0, 8)
			version, err = b.Replace(r.Context(), 4, []byte("ijkl"), 99, 0)
			r.ok(err)
			r.note("%d", version)
			r.contents(b, 0, 8)
		}},
	}
}

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
			j, _ := r.slowJob(manyTurns)
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
			j, out := r.slowJob(manyTurns)
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
			j, _ := r.slowJob(manyTurns)
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
