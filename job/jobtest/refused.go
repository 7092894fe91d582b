package jobtest

import (
	"errors"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// foreignProgram and foreignBuffer are of no device.
type (
	foreignProgram struct{ job.Program }
	foreignBuffer  struct{ job.Buffer }
)

// misuse is a job that has to be refused: a scaledJob of 64 words that is spoiled.
type misuse struct {
	name  string
	says  string // part of the error
	spoil func(r *run, j *job.Job)
}

// misuses are jobs that lack something, or have too much.
var misuses = []misuse{
	{"no program", "has no program: set Program to what Get", func(_ *run, j *job.Job) { j.Program = nil }},
	{"a program of another device", "program scaled is of another device", func(_ *run, j *job.Job) { j.Program = foreignProgram{j.Program} }},
	{"no program in a chain", "has no program", func(_ *run, j *job.Job) { j.Then = []job.Dispatch{{Groups: groups(1)}} }},
	{"no input", "storage block In (binding 0) is not bound", func(_ *run, j *job.Job) { j.Inputs = nil }},
	{"an empty input", "binding 0", func(_ *run, j *job.Job) { j.Inputs[0].Data = []byte{} }},
	{"an input of nil", "binding 0", func(_ *run, j *job.Job) { j.Inputs[0].Data = nil }},
	{"no output", "storage block Out (binding 1) is not bound", func(_ *run, j *job.Job) { j.Outputs = nil }},
	{"an empty output", "binding 1", func(_ *run, j *job.Job) { j.Outputs[0].To = nil }},
	{"an output that no program has", "output at binding 9: no program of the job has a storage block there", func(_ *run, j *job.Job) {
		j.Outputs = append(j.Outputs, job.Output{Binding: 9, To: make([]byte, 4)})
	}},
	{"a large output that no program has", "output at binding 9: no program of the job has a storage block there", func(_ *run, j *job.Job) {
		j.Outputs = append(j.Outputs, job.Output{Binding: 9, To: make([]byte, 4*large)})
	}},
	{"an input of two and a half words", "block In (binding 0) is bound to 254 bytes, 2 more than whole elements of 4 bytes", func(_ *run, j *job.Job) {
		j.Inputs[0].Data = j.Inputs[0].Data[:254]
	}},
	{"a large input of odd size", "block In (binding 0) is bound to 2097150 bytes, 2 more", func(_ *run, j *job.Job) {
		j.Inputs[0].Data = make([]byte, 4*large-2)
	}},
	{"an output of odd size", "block Out (binding 1) is bound to 255 bytes, 3 more", func(_ *run, j *job.Job) {
		j.Outputs[0].To = j.Outputs[0].To[:255]
	}},
	{"a large output of odd size", "block Out (binding 1) is bound to 2097149 bytes, 1 more", func(_ *run, j *job.Job) {
		j.Outputs[0].To = make([]byte, 4*large-3)
	}},
	{"an output of no whole word", "Out (binding 1)", func(_ *run, j *job.Job) { j.Outputs[0].To = j.Outputs[0].To[:3] }},
	{"an input twice", "storage block In (binding 0) is bound twice", func(_ *run, j *job.Job) { j.Inputs = append(j.Inputs, j.Inputs[0]) }},
	{"an input and an output at one binding", "storage block Out (binding 1) is bound twice", func(_ *run, j *job.Job) {
		j.Inputs = append(j.Inputs, job.Input{Binding: 1, Data: make([]byte, 4)})
	}},
	{"data and fill", "input at binding 0: has both Data and Fill", func(_ *run, j *job.Job) { j.Inputs[0].Fill, j.Inputs[0].Size = func([]byte) {}, 256 }},
	{"fill of nothing", "input at binding 0: has Fill and a Size of 0", func(_ *run, j *job.Job) { j.Inputs[0] = job.Input{Fill: func([]byte) {}} }},
	{"fill of a negative size", "input at binding 0: has Fill and a Size of -4", func(_ *run, j *job.Job) {
		j.Inputs[0] = job.Input{Fill: func([]byte) {}, Size: -4}
	}},
	{"to and read", "output at binding 1: has both To and Read", func(_ *run, j *job.Job) { j.Outputs[0].Read, j.Outputs[0].Size = func([]byte) {}, 256 }},
	{"read of nothing", "output at binding 1: has Read and a Size of 0", func(_ *run, j *job.Job) { j.Outputs[0] = job.Output{Binding: 1, Read: func([]byte) {}} }},
	{"a uniform is missing", "uniform times is not set; it is of type uint", func(_ *run, j *job.Job) { j.Uniforms[1] = j.Uniforms[0] }},
	{"a uniform of another name", "uniform times is not set; it is of type uint; the program has none of the name time", func(_ *run, j *job.Job) {
		j.Uniforms[1].Name = "time"
	}},
	{"a uint for an int", "uniform plus is of type int and was given uint components", func(_ *run, j *job.Job) { j.Uniforms[0] = job.Uint("plus", 1) }},
	{"an int for a float", "uniform minus is of type float and was given int components", func(_ *run, j *job.Job) { j.Uniforms[2] = job.Int("minus", 1) }},
	{"no params", "uniform block Params (binding 2) has no Params", func(_ *run, j *job.Job) { j.Params = nil }},
	{"short params", "uniform block Params (binding 2) needs 16 bytes and is bound to 2", func(_ *run, j *job.Job) { j.Params = j.Params[:2] }},
	{"params of another binding", "uniform block Params (binding 2) has no Params", func(_ *run, j *job.Job) { j.ParamsBinding = 3 }},
	{"no groups", "Groups are [0 0 0]: 0 along x", func(_ *run, j *job.Job) { j.Groups = [3]uint32{} }},
	{"groups along one axis", "Groups are [1 0 0]: 0 along y", func(_ *run, j *job.Job) { j.Groups = [3]uint32{1} }},
	{"no buffer", "the buffer at binding 0 is not of this device", func(_ *run, j *job.Job) { j.Buffers = []job.Bound{{Binding: 0}} }},
	{"a buffer of another device", "the buffer at binding 0 is not of this device", func(r *run, j *job.Job) {
		j.Buffers = []job.Bound{{Buffer: foreignBuffer{r.buffer(64)}}}
	}},
	{"an offset that is not aligned", "offset 4 is not a multiple of", func(r *run, j *job.Job) {
		j.Buffers = []job.Bound{{Buffer: r.buffer(64), Offset: 4, Size: 4}}
	}},
	{"a negative offset", "binding 0", func(r *run, j *job.Job) { j.Buffers = []job.Bound{{Buffer: r.buffer(64), Offset: -256}} }},
	{"bytes around the first", "binding 0", func(r *run, j *job.Job) { j.Buffers = []job.Bound{{Buffer: r.buffer(64), Offset: -256, Size: 512}} }},
	{"a negative size", "binding 0", func(r *run, j *job.Job) { j.Buffers = []job.Bound{{Buffer: r.buffer(64), Size: -4}} }},
	{"a negative size from an offset", "binding 0", func(r *run, j *job.Job) {
		j.Buffers = []job.Bound{{Buffer: r.buffer(64), Offset: 256, Size: -4}}
	}},
	{"a buffer that is read, and zero at first", "binding 0: Zero of 256 bytes", func(r *run, j *job.Job) {
		j.Buffers = []job.Bound{{Buffer: r.buffer(64), ReadOnly: true, Zero: true}}
	}},
	{"a part of a word that is zero at first", "binding 0: Zero of 6 bytes", func(r *run, j *job.Job) {
		j.Buffers = []job.Bound{{Buffer: r.buffer(64), Size: 6, Zero: true}}
	}},
	{"more than a buffer has", "binding 0", func(r *run, j *job.Job) { j.Buffers = []job.Bound{{Buffer: r.buffer(64), Size: 260}} }},
	{"behind a buffer", "binding 0", func(r *run, j *job.Job) { j.Buffers = []job.Bound{{Buffer: r.buffer(64), Offset: 256}} }},
	{"no groups in a chain", "Groups are [1 1 0]: 0 along z", func(_ *run, j *job.Job) {
		j.Then = []job.Dispatch{j.Dispatch}
		j.Then[0].Groups = [3]uint32{1, 1, 0}
	}},
	{"a buffer over an output that no other program has", "output at binding 1: no program of the job has a storage block there", func(r *run, j *job.Job) {
		j.Buffers = []job.Bound{{Binding: 1, Buffer: r.buffer(64)}}
	}},
	{"two buffers at one binding", "storage block In (binding 0) is bound twice", func(r *run, j *job.Job) {
		b := r.buffer(64)
		j.Buffers = []job.Bound{{Buffer: b}, {Buffer: b}}
	}},
}

// refused are cases of jobs that have to be refused, and of a job after each.
func refused() (list []testCase) {
	for _, m := range misuses {
		list = append(list, testCase{name: m.name, do: func(r *run) {
			j, _, _ := scaledJob(r.get(scaled), 64)
			m.spoil(r, j)
			r.refuse(j, job.ErrInvalid, m.says)
		}})
	}
	return append(list, []testCase{
		{name: "half an element of a list", do: func(r *run) {
			r.refuse(&job.Job{
				Dispatch: job.Dispatch{Program: r.get(listed), Groups: [3]uint32{1, 1, 1}},
				Inputs:   []job.Input{{Binding: 0, Data: make([]byte, 40)}}, Outputs: []job.Output{{Binding: 1, To: make([]byte, 4)}},
			}, job.ErrInvalid, "storage block List (binding 0)", "is bound to 40 bytes, 8 more than whole elements of 16 bytes from byte 16 on")
		}},
		{name: "less than the head of a block", do: func(r *run) {
			b := r.buffer(1)
			r.refuse(&job.Job{
				Dispatch: job.Dispatch{Program: r.get(listed), Groups: [3]uint32{1, 1, 1}, Buffers: []job.Bound{{Buffer: b, ReadOnly: true}}},
				Outputs:  []job.Output{{Binding: 1, To: make([]byte, 4)}},
			}, job.ErrInvalid, "storage block List (binding 0) needs")
		}},
		{name: "a program that was released", do: func(r *run) {
			p, err := r.Get(r.Context(), scaled)
			r.ok(err)
			p.Release()
			j, _, _ := scaledJob(p, 64)
			r.refuse(j, job.ErrReleased, "program scaled")
		}},
		{name: "a buffer that was released", do: func(r *run) {
			b, err := r.NewBuffer(r.Context(), 256)
			r.ok(err)
			b.Release()
			r.refuse(r.increase(job.Bound{Buffer: b}), job.ErrReleased, "buffer at binding 0")
			_, err = b.Read(r.Context(), 0, make([]byte, 4))
			r.fails("Read", err, job.ErrReleased)
			_, err = b.Write(r.Context(), 0, make([]byte, 4))
			r.fails("Write", err, job.ErrReleased)
			_, err = b.Replace(r.Context(), 0, make([]byte, 4), 0, 1)
			r.fails("Replace", err, job.ErrReleased)
		}},
		{name: "a program that does not compile", do: func(r *run) {
			for range 2 {
				_, err := r.Get(r.Context(), broken)
				failure, ok := errors.AsType[*shader.CompileError](err)
				if !ok || failure.Source != broken {
					r.Fatalf("got %v", err)
				}
				r.note("%v", failure)
			}
		}},
	}...)
}

// limits are cases of what is too much for the GPU or the device.
func limits() (list []testCase) {
	for axis, name := range []string{"x", "y", "z"} {
		list = append(list, testCase{name: "too many groups along " + name, do: func(r *run) {
			j, _, _ := scaledJob(r.get(scaled), 64)
			j.Groups[axis] = 1 << 31
			r.refuse(j, job.ErrInvalid, "2147483648 work groups along "+name, "split the job")
		}})
	}
	for _, size := range []int{0, -4, 6, 1 << 50} {
		list = append(list, testCase{name: fmt.Sprintf("a buffer of %d bytes", size), do: func(r *run) {
			_, err := r.NewBuffer(r.Context(), size)
			r.fails("NewBuffer", err, job.ErrInvalid, fmt.Sprintf("a buffer of %d bytes", size))
			_, err = r.NamedBuffer(r.Context(), "of no size", size)
			r.fails("NamedBuffer", err, job.ErrInvalid)
		}})
	}
	return append(list, []testCase{
		{name: "65 outputs", do: func(r *run) {
			j, _, _ := scaledJob(r.get(scaled), 64)
			for len(j.Outputs) < 65 {
				j.Outputs = append(j.Outputs, j.Outputs[0])
			}
			r.refuse(j, job.ErrInvalid, "1 inputs and 65 outputs, at most 1024 and 64 can be")
		}},
		{name: "small operands that no slot takes", do: func(r *run) {
			r.scaleWith(64, func(j *job.Job) { // no one of them is large
				for range 80 {
					j.Inputs = append(j.Inputs, job.Input{Binding: 9, Data: make([]byte, 1000)})
				}
			})
		}},
	}...)
}

// ends are cases that end the device.
func ends() []testCase {
	return []testCase{
		{name: "after Close", fresh: true, do: func(r *run) {
			p := r.get(scaled)
			b := r.buffer(16)
			j, _, _ := scaledJob(p, 64)
			b.Release()
			p.Release()
			r.ok(r.Close())
			r.ok(r.Close())
			_, err := r.Submit(r.Context(), j)
			r.fails("Submit", err, job.ErrClosed)
			r.fails("Run", r.Device.Run(r.Context(), j), job.ErrClosed)
			_, err = r.Get(r.Context(), scaled)
			r.fails("Get", err, job.ErrClosed)
			_, err = r.NewBuffer(r.Context(), 64)
			r.fails("NewBuffer", err, job.ErrClosed)
			_, err = r.NewTexture(r.Context(), texel.Shape{Format: "r8"})
			r.fails("NewTexture", err, job.ErrClosed)
			_, err = r.NamedBuffer(r.Context(), "n", 64)
			r.fails("NamedBuffer", err, job.ErrClosed)
			r.fails("DeleteBuffer", r.DeleteBuffer(r.Context(), "n"), job.ErrClosed)
			_, err = b.Read(r.Context(), 0, make([]byte, 4))
			r.fails("Read", err, job.ErrClosed)
		}},
	}
}

// victim is slow by another name: the driver of RunLost loses the context where it runs.
var victim = shader.MustSource("victim", slow.Text()+"\n// victim", nil)

// lost is the case of RunLost.
var lost = testCase{name: "a device that is lost", fresh: true, do: func(r *run) {
	b := r.buffer(64)
	p, err := r.Get(r.Context(), victim)
	r.ok(err)
	j, _ := r.slowJob(1)
	j.Program = p
	for start := time.Now(); time.Since(start) < 20*time.Second; { // a group has several, and a client may not know it yet
		var pending job.Pending
		if pending, err = r.Submit(r.Context(), j); err != nil {
			break
		}
		first := pending.Wait(r.Context())
		again := pending.Wait(r.Context())
		pending.Release()
		if !errors.Is(first, job.ErrLost) || !errors.Is(again, job.ErrLost) {
			r.Errorf("Wait: %v, and again %v", first, again)
		}
	}
	r.lost("Submit", err)
	_, err = b.Read(r.Context(), 0, make([]byte, 4))
	r.lost("Read", err)
	_, err = b.Write(r.Context(), 0, make([]byte, 4))
	r.lost("Write", err)
	_, err = r.NewBuffer(r.Context(), 64)
	r.lost("NewBuffer", err)
	_, err = r.NewTexture(r.Context(), texel.Shape{Format: "r8"})
	r.lost("NewTexture", err)
	_, err = r.NamedBuffer(r.Context(), "n", 64)
	r.lost("NamedBuffer", err)
	_, err = r.Get(r.Context(), tripled)
	r.lost("Get", err)
	p.Release()
}}

// lost fails the test for another error than that of a device that is lost.
func (r *run) lost(what string, err error) {
	r.Helper()
	if !errors.Is(err, job.ErrLost) {
		r.Errorf("%s: %v, want %v", what, err, job.ErrLost)
	}
}
