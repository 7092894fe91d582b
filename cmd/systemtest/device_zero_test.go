//go:build linux

package systemtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// half writes every second element.
var half = shader.MustSource("half", `
layout(local_size_x = 64) in;
layout(std430, binding = 1) restrict writeonly buffer Out { uint y[]; };
void main() { uint i = 2u * gl_GlobalInvocationID.x; if (i < y.length()) y[i] = 1u; }`, nil)

// Elements that no dispatch wrote are zero, in a slot of the executor and, from half a slot
// on, in memory of the job.
func TestElementsThatNothingWroteAreZero(t *testing.T) {
	d, n := ownDevice(t), []int{1000, 1 << 20}
	whole, part := must(d.Get(t.Context(), scaled))(&record{t: t}), must(d.Get(t.Context(), half))(&record{t: t})
	defer whole.Release()
	defer part.Release()
	for _, n := range n {
		for range 3 {
			job, got, want := scaledJob(whole, n)
			(&record{t: t, d: d}).run(job)
			if got[n-1] != want[n-1] {
				t.Errorf("%d elements: the last is %v", n, got[n-1])
			}
			odd := make([]uint32, n)
			for i := range odd {
				odd[i] = 0x7fc0dead
			}
			(&record{t: t, d: d}).run(&shadercache.Job{
				Dispatch: shadercache.Dispatch{Program: part, Groups: [3]uint32{uint32(n+127) / 128, 1, 1}},
				Outputs:  []shadercache.Output{{Binding: 1, To: glctx.Bytes(odd)}},
			})
			for i, v := range odd {
				if want := uint32(i+1) % 2; v != want {
					t.Fatalf("%d elements: %d is %#x, not %d", n, i, v, want)
				}
			}
		}
	}
}

// Sizes that no block has are refused with both sizes, also where an operand gets memory of
// its own.
func TestSizesThatDoNotFit(t *testing.T) {
	d := ownDevice(t)
	p := must(d.Get(t.Context(), scaled))(&record{t: t})
	defer p.Release()
	for _, n := range []int{1000, 1 << 20} {
		for what, spoil := range map[string]func(*shadercache.Job){
			"block In (binding 0) is bound to %d bytes, 2 more than whole elements of 4 bytes":  func(j *shadercache.Job) { j.Inputs[0].Data = j.Inputs[0].Data[:4*n-2] },
			"block Out (binding 1) is bound to %d bytes, 2 more than whole elements of 4 bytes": func(j *shadercache.Job) { j.Outputs[0].To = j.Outputs[0].To[:4*n-2] },
		} {
			job, _, _ := scaledJob(p, n)
			spoil(job)
			err := d.Run(t.Context(), job)
			if what = fmt.Sprintf(what, 4*n-2); kindOf(err) != "invalid" || !strings.Contains(err.Error(), what) {
				t.Errorf("the error %v does not say %q", err, what)
			}
		}
	}
}

func ownDevice(t *testing.T) shadercache.Device {
	t.Helper()
	gltest.Open(t) // skips where there is no GL
	d, err := shadercache.Connect(t.Context(), shadercache.Options{Dir: t.TempDir(), Server: shadercache.ServerOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
