//go:build linux && cgo

package glctx_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// compileTwo compiles two programs.
func compileTwo(t *testing.T, c *glctx.Context) (ids []uint32) {
	t.Helper()
	sources := []*shader.Source{
		shader.MustSource("a", doubler, shader.Defines{"FACTOR": "2.0"}),
		shader.MustSource("b", doubler, shader.Defines{"FACTOR": "3.0"}),
	}
	c.Compile(context.Background(), sources, func(_ int, p shader.Program, err error) {
		noError(t, err)
		ids = append(ids, p.ID)
	})
	return ids
}

type dispatchTime struct {
	program    uint32
	gpu        time.Duration
	operations float64
}

// The first three dispatches of each program are measured, with their own operations.
// Timestamps of software drivers are compared with the wall time: some are 0.
func TestTheFirstDispatchesAreMeasured(t *testing.T) {
	c := gltest.OpenWith(t, glctx.TimeSoftware(glctx.Options{}))
	var times []dispatchTime
	stop := c.WatchTimes(func(program uint32, gpu time.Duration, operations float64) {
		times = append(times, dispatchTime{program, gpu, operations})
	})
	ids := compileTwo(t, c)
	began := time.Now()
	noError(t, c.Do(func(gl *glctx.GL) error {
		for n := range 5 {
			for i, id := range ids {
				gl.UseProgram(id)
				gl.SetOperations(float64(100*i + n + 1))
				gl.Dispatch(1, 1, 1)
				gl.Dispatch(0, 1, 1) // of the same program, without operations
			}
		}
		gl.Finish()
		return gl.Err()
	}))
	wall := time.Since(began)
	stop()
	seen := map[uint32][]float64{}
	for _, d := range times {
		seen[d.program] = append(seen[d.program], d.operations)
		if d.gpu <= 0 || d.gpu > wall {
			t.Errorf("%+v, the wall time of all is %v", d, wall)
		}
	}
	for i, id := range ids {
		want := []float64{float64(100*i + 1), 0, float64(100*i + 2)}
		for k, operations := range seen[id] {
			if len(seen[id]) > 3 || !slices.Contains(want, operations) || k > 0 && len(seen[id]) == 3 && operations != want[k] {
				t.Errorf("program %d: operations %v, want %v or, where timestamps are 0, fewer", id, seen[id], want)
			}
		}
	}
	if !c.Info().Software() && len(times) != 6 {
		t.Errorf("%d dispatches measured", len(times))
	}
	later := compileTwo(t, c)
	noError(t, c.Do(func(gl *glctx.GL) error {
		gl.UseProgram(later[0])
		gl.Dispatch(1, 1, 1)
		gl.Finish()
		return gl.Err()
	}))
	for _, d := range times {
		if d.program == later[0] || d.program == later[1] {
			t.Error("measured after stop")
		}
	}
}

func TestSoftwareDriversMeasureNothing(t *testing.T) {
	c := gltest.Open(t)
	if !c.Info().Software() {
		t.Skip("the driver is that of a GPU")
	}
	c.WatchTimes(func(program uint32, gpu time.Duration, _ float64) { t.Errorf("program %d: %v", program, gpu) })
	ids := compileTwo(t, c)
	noError(t, c.Do(func(gl *glctx.GL) error {
		gl.UseProgram(ids[0])
		gl.Dispatch(1, 1, 1)
		gl.Finish()
		return gl.Err()
	}))
}

// The operations that a job gives reach the figures of its program on disk.
func TestOperationsOfAJobAreRecorded(t *testing.T) {
	c := gltest.OpenWith(t, glctx.TimeSoftware(glctx.Options{}))
	dir := t.TempDir()
	programs, err := cache.New(c, cache.Options{Dir: dir})
	noError(t, err)
	jobs, err := executor.New(c, programs, executor.Options{SlotBytes: 1 << 16})
	noError(t, err)
	program, err := programs.Get(t.Context(), shader.MustSource("increment", increment, nil))
	noError(t, err)
	var out [4]uint32
	pending, err := jobs.Submit(t.Context(), job.Job{
		Dispatch: job.Dispatch{Program: program, Groups: [3]uint32{1, 1, 1}, Operations: 1e9},
		Inputs:   []job.Input{{Binding: 0, Data: glctx.Bytes([]uint32{1, 2, 3, 4})}},
		Outputs:  []job.Output{{Binding: 1, To: glctx.Bytes(out[:])}},
	})
	noError(t, err)
	noError(t, pending.Wait(t.Context()))
	program.Release()
	noError(t, jobs.Close())
	store := programs.Store().(*binary.Store)
	noError(t, programs.Close())
	for e, err := range store.All() {
		noError(t, err)
		if e.Name != "increment" {
			continue
		}
		if e.FirstResultNanos < e.CompileNanos || e.CompileNanos == 0 {
			t.Errorf("first result %d ns, compile %d ns", e.FirstResultNanos, e.CompileNanos)
		}
		if want := 1e9 / float64(max(e.GPUNanos, 1)); e.GPUNanos == 0 != (e.GFLOPS == 0) || e.GPUNanos != 0 && e.GFLOPS != want {
			t.Errorf("GPU time %d ns, %g GFLOP/s", e.GPUNanos, e.GFLOPS)
		}
		if e.GPUNanos == 0 && !c.Info().Software() {
			t.Error("nothing was measured")
		}
		return
	}
	t.Error("the program is not on disk")
}
