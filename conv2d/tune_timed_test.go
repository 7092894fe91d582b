//go:build linux

package conv2d

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// onceKernel notes that a run has ended.
const onceKernel = `
layout(local_size_x = 1) in;
layout(std430, binding = 4) buffer State { uint state[]; };
void main() { state[0] = 1u; }`

// rightOnce computes what it should in the first run from poisoned memory, and
// nothing in those that follow: the fastest way to be timed.
func rightOnce(r *kernel.Sequence, p Problem) {
	text := strings.Replace(r.Steps[0].Source.Text(), "void main() {", fmt.Sprintf(`
layout(std430, binding = 4) restrict readonly buffer State { uint state[]; };
void main() {
    if (state[0] != %du) return;`, Poison), 1)
	for i := range r.Steps {
		r.Steps[i].Source = shader.MustSource("right_once", text, nil)
		r.Steps[i].Bindings = append(r.Steps[i].Bindings, kernel.Workspace.At(4))
	}
	r.WorkspaceLen = 1
	r.Steps = append(r.Steps, kernel.Step{
		Source: shader.MustSource("once", onceKernel, nil), Groups: [3]int{1, 1, 1}, Bindings: []kernel.Binding{kernel.Workspace.At(4)},
	})
}

// TestCheckTimed: what is right before it is timed, and does nothing while it is, is
// found out where that is asked for.
func TestCheckTimed(t *testing.T) {
	withConvAlgorithms(t, spoiled("right_once", rightOnce), directAlgorithm)
	s := Problem{N: 1, C: 3, H: 12, W: 14, K: 5, R: 3, S: 3, PadH: 1, PadW: 1}.Shape()
	device := gltest.Open(t)
	for _, checked := range []bool{false, true} {
		r, err := Tune(t.Context(), device, nil, s, TuneOptions{CheckTimed: checked, Budget: time.Hour, Only: []Choice{
			{Algorithm: "right_once", Params: Params{"local": 64}}, {Algorithm: "direct", Params: Params{"local": 64}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Candidates {
			wrong := checked && c.Choice.Algorithm == "right_once"
			if (c.Verdict == Wrong) != wrong || wrong && !strings.Contains(c.Reason, "after it was timed") {
				t.Errorf("checked %t: %s is %s: %s", checked, c.Choice.Algorithm, c.Verdict, c.Reason)
			}
			if c.Verdict == Measured && !(0 < c.LeastNanos && c.LeastNanos <= c.Nanos && c.Nanos <= c.MostNanos) {
				t.Errorf("%s takes %v ns, between %v and %v", c.Choice.Algorithm, c.Nanos, c.LeastNanos, c.MostNanos)
			}
		}
	}
}

// TestCheckTimedWhereRunsAdd: a product that adds to its output has no result that
// stays, and is right all the same.
func TestCheckTimedWhereRunsAdd(t *testing.T) {
	s := GEMMProblem{M: 16, N: 12, K: 8, Alpha: 1, Beta: 0.5}.Shape()
	r, err := Tune(t.Context(), gltest.Open(t), nil, s, TuneOptions{CheckTimed: true, Budget: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Candidates {
		if !c.right() {
			t.Errorf("%v is %s: %s", c.Choice, c.Verdict, c.Reason)
		}
	}
}
