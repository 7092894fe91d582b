package sessions

import (
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// The workloads have verified rows, and the soak one for each strategy. All workloads run
// in a script of the command.
func TestRun(t *testing.T) {
	names := []string{"preempt", "reread"}
	r, err := Run(clitest.Options(t), Options{Workloads: names, Iterations: 4096, Seconds: 0.001, Soak: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Rows { // other load on the machine may stall a session
		r.Rows[i].BoundBy = noStall
	}
	clitest.Print(t, r, "probe: kernels do", "preempt\tran as", "soak\tran as", "the state of every session is what its steps make of it")
	rows := map[string]int{}
	for _, row := range r.Rows {
		rows[row.Workload]++
		if !row.Verified {
			t.Errorf("%+v", row)
		}
	}
	for _, name := range append(names, "soak") {
		if rows[name] == 0 {
			t.Errorf("no row of %s", name)
		}
	}
}

func TestValidate(t *testing.T) {
	for want, o := range map[string]Options{
		`no workload "x"`:    {Workloads: []string{"x"}, Seconds: 1},
		"nothing to measure": {Seconds: 1},
		"--seconds":          {Workloads: Workloads},
		"--iterations":       {Workloads: Workloads, Seconds: 1, Iterations: 1<<40 + 1},
		"--soak":             {Workloads: Workloads, Seconds: 1, Soak: -1},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
}
