package jobtest

import (
	"fmt"
	"slices"

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
		{name: "many inputs, which are large together alone", do: func(r *run) {
			const n, each = 3_750, 10 // words, and inputs of a program
			out, sum := poisoned(n), uint32(0)
			j := &job.Job{Outputs: []job.Output{{Binding: 0, To: bytesOf(out)}}}
			for _, first := range []int{1, 1 + each} {
				j.Then = append(j.Then, job.Dispatch{Program: r.get(summed(first, each)), Groups: groups(n)})
				for k := range each {
					sum += uint32(first + k)
					j.Inputs = append(j.Inputs, job.Input{Binding: uint32(first + k), Data: bytesOf(slices.Repeat([]uint32{uint32(first + k)}, n))})
				}
			}
			j.Dispatch, j.Then = j.Then[0], j.Then[1:]
			r.do(j)
			r.same(out, slices.Repeat([]uint32{sum}, n))
		}},
		{name: "an input that has no room beside uniform blocks", do: func(r *run) {
			const n = 10_000 // words
			out := poisoned(n)
			j := &job.Job{
				Dispatch: job.Dispatch{Program: r.get(blocked), Groups: groups(n)},
				Inputs:   []job.Input{{Binding: 1, Data: bytesOf(slices.Repeat([]uint32{5}, n))}}, Outputs: []job.Output{{Binding: 0, To: bytesOf(out)}},
			}
			for k := range uint32(3) {
				j.Blocks = append(j.Blocks, job.Block{Binding: 1 + k, Data: bytesOf(slices.Repeat([]uint32{k}, n))})
			}
			r.do(j)
			r.same(out, slices.Repeat([]uint32{5 + 0 + 1 + 2}, n))
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
