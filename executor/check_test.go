//go:build linux

package executor

import (
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// everything uses one of each kind of resource that can be bound.
const everything = `
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer In { uvec4 head[4]; uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
layout(std430, binding = 5) buffer State { uint state[8]; };
layout(std140, binding = 2) uniform Params { uvec4 p; uvec4 q; };
uniform int n;
uniform float scale;
void main() {
    y[0] = head[1].x + x[0] + p.x + q.y + uint(float(n) * scale) + atomicAdd(state[0], 1u);
}`

// TestCheckNamesTheFault changes one thing of a valid job at a time. Nothing
// may be queued.
func TestCheckNamesTheFault(t *testing.T) {
	f := newFixture(t, Options{SlotBytes: 4096})
	other, err := New(f.context, f.cache, Options{SlotBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	h := f.program("everything", everything, nil)
	state, otherFixture := f.buffer(make([]uint32, 64)), &fixture{Executor: other, t: t}
	othersBuffer := otherFixture.buffer(make([]uint32, 8))
	released, err := f.NewMemory(64)
	if err != nil {
		t.Fatal(err)
	}
	released.Release()
	out := make([]byte, 64)
	valid := func() Job {
		return Job{
			Dispatch: Dispatch{
				Program:       h,
				Groups:        [3]uint32{1, 1, 1},
				Buffers:       []Bound{state.Bind(5)},
				Uniforms:      []job.Uniform{job.Int("n", 2), job.Float("scale", 1.5)},
				Params:        make([]byte, 32),
				ParamsBinding: 2,
			},
			Inputs:  []Input{{Binding: 0, Data: make([]byte, 68)}},
			Outputs: []Output{{Binding: 1, To: out}},
		}
	}
	f.wait(f.submit(valid()))
	align, most := f.info.StorageAlignment, uint32(f.info.MaxGroups[1])
	tests := []struct {
		want   string
		change func(j *Job)
	}{
		{"dispatch 0 has no program", func(j *Job) { j.Program = nil }},
		{"dispatch 1 has no program", func(j *Job) { j.Then = []Dispatch{{}} }},
		{"Groups are [0 1 1]: 0 along x", func(j *Job) { j.Groups[0] = 0 }},
		{"Groups are [1 0 0]: 0 along y, so nothing would run: where groups are along x alone, those along y and z are 1, not 0", func(j *Job) { j.Groups = [3]uint32{1} }},
		{"Groups are [1 1 0]: 0 along z", func(j *Job) { j.Groups[2] = 0 }},
		{"Groups are [0 0 0]", func(j *Job) { j.Groups = [3]uint32{} }},
		{"Groups are [1 0 0]", func(j *Job) { j.Then = []Dispatch{j.Dispatch}; j.Then[0].Groups = [3]uint32{1} }},
		{"work groups along y", func(j *Job) { j.Groups[1] = most + 1 }},
		{"work groups along z", func(j *Job) { j.Groups[2] = 1 << 31 }},
		{"there is no memory", func(j *Job) { j.Indirect = &Indirect{} }},
		{"byte 2 of 256", func(j *Job) { j.Indirect = &Indirect{Buffer: state.Memory, Offset: 2} }},
		{"byte 248 of 256", func(j *Job) { j.Indirect = &Indirect{Buffer: state.Memory, Offset: 248} }},
		{"byte -4 of 256", func(j *Job) { j.Indirect = &Indirect{Buffer: state.Memory, Offset: -4} }},
		{"storage block In (binding 0) is not bound", func(j *Job) { j.Inputs = nil }},
		{"storage block Out (binding 1) is not bound", func(j *Job) { j.Outputs = nil }},
		{"storage block State (binding 5) is not bound", func(j *Job) { j.Buffers = nil }},
		{"In (binding 0) is bound twice", func(j *Job) { j.Inputs = append(j.Inputs, j.Inputs[0]) }},
		{"Out (binding 1) is bound twice", func(j *Job) { j.Inputs = append(j.Inputs, Input{Binding: 1, Data: out}) }},
		{"State (binding 5) is bound twice", func(j *Job) { j.Buffers = append(j.Buffers, state.BindReadOnly(5)) }},
		// Drivers disagree about the size of an array without a length.
		{"bytes and is bound to 32", func(j *Job) { j.Inputs[0].Data = make([]byte, 32) }},
		{"State (binding 5) needs 32 bytes and is bound to 16", func(j *Job) { j.Buffers[0].Size = 16 }},
		{"memory at binding 5: there is no memory", func(j *Job) { j.Buffers[0].Buffer = nil }},
		{"belongs to another executor", func(j *Job) { j.Buffers[0].Buffer = othersBuffer.Memory }},
		{"the memory was released", func(j *Job) { j.Buffers[0].Buffer = released }},
		{"is not a multiple of", func(j *Job) { j.Buffers[0].Offset = 2 }},
		{"bytes 0 to 257 of 256", func(j *Job) { j.Buffers[0].Size = 257 }},
		{"of 256", func(j *Job) { j.Buffers[0].Offset = (256 + align - 1) / align * align }},
		{"In (binding 0) needs 68 bytes and is bound to 64", func(j *Job) { j.Inputs[0].Data = make([]byte, 64) }},
		{"In (binding 0) is bound to 74 bytes, 2 more than whole elements of 4 bytes from byte 64 on", func(j *Job) { j.Inputs[0].Data = make([]byte, 74) }},
		{"Out (binding 1) is bound to 6 bytes, 2 more than whole elements of 4 bytes from byte 0 on", func(j *Job) { j.Outputs[0].To = out[:6] }},
		{"Out (binding 1) needs 4 bytes and is bound to 3", func(j *Job) { j.Outputs[0].To = out[:3] }},
		{"Out (binding 1) is bound to 9 bytes", func(j *Job) { j.Outputs[0] = Output{Binding: 1, Read: func([]byte) {}, Size: 9} }},
		{"uniform block Params (binding 2) has no Params", func(j *Job) { j.Params = nil }},
		{"uniform block Params (binding 2) has no Params", func(j *Job) { j.ParamsBinding = 0 }},
		{"Params (binding 2) needs 32 bytes and is bound to 16", func(j *Job) { j.Params = make([]byte, 16) }},
		{"uniform scale is not set; it is of type float; the program has none of the name scal", func(j *Job) { j.Uniforms[1] = job.Float("scal", 1) }},
		{"uniform n is not set", func(j *Job) { j.Uniforms = nil }},
		{"input at binding 0: has neither Data nor Fill", func(j *Job) { j.Inputs[0].Data = nil }},
		{"has both Data and Fill", func(j *Job) { j.Inputs[0].Fill = func([]byte) {} }},
		{"has Fill and a Size of 0", func(j *Job) { j.Inputs[0] = Input{Fill: func([]byte) {}} }},
		{"output at binding 1: has neither To nor Read", func(j *Job) { j.Outputs[0].To = nil }},
		{"has both To and Read", func(j *Job) { j.Outputs[0].Read = func([]byte) {} }},
		{"output at binding 9: no program of the job", func(j *Job) { j.Outputs = append(j.Outputs, Output{Binding: 9, To: out}) }},
		{"a slot has 4096 each way: raise SlotBytes", func(j *Job) { j.Inputs[0].Data = make([]byte, 4096) }},
		{"a slot has 4096 each way: raise SlotBytes", func(j *Job) { j.Outputs[0].To = make([]byte, 4097) }},
		{"65 outputs", func(j *Job) { j.Outputs = make65(out[:1]) }},
	}
	before := f.Stats().Jobs
	for _, test := range tests {
		j := valid()
		test.change(&j)
		_, err := f.Submit(t.Context(), j)
		wantError(t, err, test.want)
	}
	if n := f.Stats().Jobs - before; n != 0 {
		t.Errorf("%d jobs were queued", n)
	}
	f.wait(f.submit(valid()))
}

func make65(to []byte) []Output {
	outputs := make([]Output, 65)
	for i := range outputs {
		outputs[i] = Output{Binding: 1, To: to}
	}
	return outputs
}

// TestParamsReachTheirDispatch gives each dispatch of a chain its own parameters.
func TestParamsReachTheirDispatch(t *testing.T) {
	const text = `
layout(local_size_x = 1) in;
layout(std430, binding = 3) buffer Sum { uint sum; };
layout(std140, binding = 1) uniform Params { uint p; uint q; };
void main() { sum = sum * 10u + p + q; }`
	f := newFixture(t, Options{})
	h := f.program("params", text, nil)
	sum := f.buffer([]uint32{0})
	step := func(p, q uint32) Dispatch {
		return Dispatch{
			Program: h, Groups: [3]uint32{1, 1, 1}, Buffers: []Bound{sum.Bind(3)},
			Params: glctx.Bytes([]uint32{p, q, 0, 0}), ParamsBinding: 1,
		}
	}
	f.wait(f.submit(Job{Dispatch: step(1, 0), Then: []Dispatch{step(1, 1), step(2, 1), step(0, 4)}}))
	got := make([]uint32, 1)
	if err := sum.Download(t.Context(), 0, got); err != nil {
		t.Fatal(err)
	}
	if got[0] != 1234 {
		t.Errorf("the sum is %d", got[0])
	}
}
