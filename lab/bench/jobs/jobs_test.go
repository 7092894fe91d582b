package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// Each depth and delay has a row, and every word of every result is verified.
func TestRun(t *testing.T) {
	r, err := Run(clitest.Options(t), Options{Workloads: []string{"large"}, Seconds: 0.001, Repeat: 2, LargeBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Print(t, r, "ring on ", "upload of jobs of 64.0 KiB", "every result was verified")
	if len(r.Rows) != 5 || len(r.Parts) != 1 || r.Upload == nil || r.Upload.GBPerS <= 0 {
		t.Fatalf("%+v", r)
	}
	for _, row := range r.Rows {
		if row.Jobs < 1 || row.LeastJobs > row.JobsPerSecond || row.MostJobs < row.JobsPerSecond || row.OfBound <= 0 || !row.Verified {
			t.Errorf("%+v", row)
		}
	}
	r.Interrupted = true
	if err := r.Verdict(); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v", err)
	}
	r.Rows[0].wallBelowGPUTime, r.Interrupted = true, false
	if err := r.Verdict(); err == nil || !strings.Contains(err.Error(), "worked for longer") {
		t.Errorf("a wall time below the GPU's: %v", err)
	}
}

func TestSoak(t *testing.T) {
	r, err := Run(clitest.Options(t), Options{Seconds: 1, Repeat: 1, LargeBytes: smallBytes, Soak: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r.Soak.Stalled = false // other load on the machine may stall it
	clitest.Print(t, r, "soak of ", "round of 8 jobs")
	if f := r.Soak; f.Jobs == 0 || len(f.Leaks) > 0 || !f.Verified || len(f.Samples) < 3 {
		t.Errorf("%+v", f)
	}
	r.Soak.Stalled, r.Soak.StallRatio = true, 12.6
	if err := r.Verdict(); err == nil || !strings.Contains(err.Error(), "12.6 times the median") || cli.HintFor(err) == "" {
		t.Errorf("a stall: %v", err)
	}
	r.Soak.Leaks = []string{"fences: 1 after warming up, 2 at the end"}
	if err := r.Verdict(); err == nil || !strings.Contains(err.Error(), "fences: 1") {
		t.Errorf("a leak: %v", err)
	}
}

func TestPlan(t *testing.T) {
	plan := Options{Workloads: []string{"small", "large"}, LargeBytes: 1 << 20}.plan()
	if len(plan) != 5 || planRows(plan) != 3*4+4+3+5 {
		t.Errorf("%d sizes, %d rows", len(plan), planRows(plan))
	}
	runs := plan[3].runs()
	if want := (executor.Options{Depth: 32, SlotJobs: 1, SlotBytes: smallBytes, MaxDelay: 12 * time.Millisecond}); len(runs) != 7 || runs[6].Depth != want.Depth || runs[6].MaxDelay != want.MaxDelay || runs[6].SlotBytes != want.SlotBytes {
		t.Errorf("%+v", runs)
	}
}

func TestValidate(t *testing.T) {
	good := Options{Workloads: []string{"small"}, Seconds: 1, Repeat: 1, LargeBytes: smallBytes}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Options){
		`no workload "huge"`:      func(o *Options) { o.Workloads = []string{"huge"} },
		"--seconds":               func(o *Options) { o.Seconds = 61 },
		"--repeat":                func(o *Options) { o.Repeat = 0 },
		"--soak must":             func(o *Options) { o.Soak = time.Millisecond },
		"a multiple of 4096":      func(o *Options) { o.LargeBytes = 5000 },
		"--large-bytes must be a": func(o *Options) { o.LargeBytes = 1 << 29 },
	} {
		bad := good
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
}
