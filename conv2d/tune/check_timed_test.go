//go:build linux

package tune

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// onceKernel writes to the workspace that a run has ended.
const onceKernel = `
layout(local_size_x = 1) in;
layout(std430, binding = 4) buffer State { uint state[]; };
void main() { state[0] = 1u; }`

// rightOnce makes a sequence that is right in the first run from poisoned memory, and
// writes nothing in later runs: the fastest way to be timed.
func rightOnce(s *kernel.Sequence) {
	text := strings.Replace(s.Steps[0].Source.Text(), "void main() {", fmt.Sprintf(`
layout(std430, binding = 4) restrict readonly buffer State { uint state[]; };
void main() {
    if (state[0] != %du) return;`, conv2d.Poison), 1)
	for i := range s.Steps {
		s.Steps[i].Source = shader.MustSource("right_once", text, nil)
		s.Steps[i].Bindings = append(s.Steps[i].Bindings, kernel.Workspace.At(4))
	}
	s.WorkspaceLen = 1
	s.Steps = append(s.Steps, kernel.Step{
		Source: shader.MustSource("once", onceKernel, nil), Groups: [3]int{1, 1, 1}, Bindings: []kernel.Binding{kernel.Workspace.At(4)},
	})
}

// TestCheckTimed searches with a candidate that is right before it is timed, and
// writes nothing while it is: CheckTimed finds it.
func TestCheckTimed(t *testing.T) {
	device := gltest.Open(t)
	spoil := map[string]func(s *kernel.Sequence){"right_once": rightOnce}
	for _, checked := range []bool{false, true} {
		r, err := searchSpoiled(t, device, sampleConv.Shape(), Options{CheckTimed: checked, Budget: time.Hour, Runs: 1 << 40}, spoil, "right_once", "direct")
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

// TestCheckTimedWithBeta checks products that add to their output: their timed runs
// leave no result, and they are right all the same.
func TestCheckTimedWithBeta(t *testing.T) {
	s := conv2d.GEMMProblem{M: 16, N: 12, K: 8, Factors: conv2d.AlphaBeta(1, 0.5)}.Shape()
	r, err := Search(t.Context(), gltest.Open(t), nil, s, Options{CheckTimed: true, Budget: time.Hour, Runs: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Candidates {
		if !c.right() {
			t.Errorf("%v is %s: %s", c.Choice, c.Verdict, c.Reason)
		}
	}
}
