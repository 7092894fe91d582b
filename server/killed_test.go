//go:build linux

package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
)

// envDie has this test binary run as a client of the server at that path, which kills
// itself in a step: see dyingClient.
const envDie = "SHADERCACHE_SERVER_DIE"

// The points at which clients are killed: a delay after the start of a step.
var (
	killSteps  = 20
	killDelays = []time.Duration{0, 50 * time.Microsecond, 300 * time.Microsecond, time.Millisecond, 4 * time.Millisecond}
)

// dyingClient takes every step of a job, and is killed with SIGKILL in one of them. Without
// a kill it ends well.
func dyingClient(path string, kill int, delay time.Duration) error {
	ctx := context.Background()
	step := 0
	next := func() {
		if step == kill && delay == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		} else if step == kill {
			go func() {
				for start := time.Now(); time.Since(start) < delay; {
				}
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}()
		}
		step++
	}
	var failed error
	do := func(f func() error) {
		next()
		if failed == nil {
			failed = f()
		}
	}
	var c *client.Client
	var p, slowly job.Program
	var m *client.Memory
	var b, named job.Buffer
	var plan job.Plan
	var pending, second, third, run job.Pending
	const size = 1 << 20
	input, output := make([]float32, 64), make([]float32, 64)
	do(func() (err error) { c, err = client.Dial(ctx, client.Options{Path: path, Ring: 64 << 10}); return err })
	do(func() (err error) { p, err = c.Get(ctx, affine); return err })
	do(func() (err error) { slowly, err = c.Get(ctx, slow); return err })
	do(func() (err error) { m, err = c.NewMemory(ctx, 2*size); return err })
	do(func() (err error) { b, err = c.NewBuffer(ctx, size); return err })
	do(func() (err error) { named, err = c.NamedBuffer(ctx, "shared", size); return err })
	do(func() (err error) { _, err = b.Write(ctx, 0, m.Bytes()[:size]); return err })
	do(func() (err error) { _, err = named.Write(ctx, 0, make([]byte, 4096)); return err })
	do(func() (err error) {
		_, err = named.(*client.Buffer).CopyFrom(ctx, 0, b.(*client.Buffer), 0, size)
		return err
	})
	do(func() (err error) { plan, err = c.OpenPlan(ctx, "", false, "gemm:1x64x64"); return err })
	do(func() (err error) {
		_, err = plan.SetWeights(ctx, 1, make([]float32, plan.Info().Weights), nil)
		return err
	})
	do(func() (err error) {
		j, _, _ := affineJob(p, 1024, 3, 5)
		pending, err = c.Submit(ctx, j)
		return err
	})
	do(func() (err error) {
		second, err = c.Submit(ctx, &job.Job{ // in shared memory, for a while
			Dispatch: job.Dispatch{Program: slowly, Groups: [3]uint32{size / 256, 1, 1}, Uniforms: []job.Uniform{job.Uint("turns", 500)}},
			Outputs:  []job.Output{{Binding: 0, To: m.Bytes()[size:][:size]}},
		})
		return err
	})
	do(func() (err error) {
		j, _, _ := affineJob(p, 64, 3, 5)
		j.Inputs, j.Outputs = nil, nil
		j.Buffers = []job.Bound{{Binding: 0, Buffer: b, ReadOnly: true}, {Binding: 1, Buffer: named}}
		third, err = c.Submit(ctx, j)
		return err
	})
	do(func() (err error) {
		run, err = plan.Submit(ctx, input, output)
		return err
	})
	do(func() error { return pending.Wait(ctx) })
	do(func() error { return errors.Join(second.Wait(ctx), third.Wait(ctx), run.Wait(ctx)) })
	do(func() (err error) { _, err = named.Read(ctx, 0, m.Bytes()[:size]); return err })
	do(func() error { m.Release(); p.Release(); b.Release(); return nil })
	do(func() error { return c.Close() })
	if step != killSteps {
		return fmt.Errorf("%d steps", step)
	}
	if kill < step { // the delay has not passed
		select {}
	}
	return failed
}

// left is what clients could leave behind.
type left struct {
	files, mapped int
	objects       glctx.Counters
}

func (f *fixture) left() left {
	_ = f.gpu.Context.Do(func(*glctx.GL) error { return nil }) // after what is posted
	n := f.gpu.Context.Counters()
	return left{openFiles(f.t), mappings(f.t, "shadercache"), glctx.Counters{Programs: n.Programs, Buffers: n.Buffers}}
}

// wantLeft waits until there is no more than before.
func (f *fixture) wantLeft(before left) {
	f.t.Helper()
	after := f.left()
	for start := time.Now(); after.exceeds(before) && time.Since(start) < 10*time.Second; after = f.left() {
		time.Sleep(10 * time.Millisecond)
	}
	if after.exceeds(before) {
		f.t.Errorf("left: %+v, before: %+v", after, before)
	}
}

func (l left) exceeds(before left) bool {
	return l.files > before.files || l.mapped > before.mapped || l.objects.Buffers > before.objects.Buffers || l.objects.Programs > before.objects.Programs
}

// TestClientsThatAreKilledAtAnyStep kills clients with SIGKILL at 100 points of a job. Each
// leaves no session, file, mapping, buffer or program, and the server serves others right.
func TestClientsThatAreKilledAtAnyStep(t *testing.T) {
	f := serve(t, server.Options{NamedTime: 50 * time.Millisecond})
	good := f.dial()
	p := program(t, good, affine)
	die := func(step int, delay time.Duration) error {
		cmd := exec.Command("/proc/self/exe", strconv.Itoa(step), delay.String())
		cmd.Env = append(os.Environ(), envDie+"="+f.path)
		out, err := cmd.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			err = nil
		} else if step < killSteps {
			err = fmt.Errorf("it ended: %w\n%s", errors.Join(err, errors.New("not by SIGKILL")), out)
		} else if err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
		return err
	}
	// One that is not killed: programs stay resident.
	if err := die(killSteps, 0); err != nil {
		t.Fatal(err)
	}
	f.wantNothingLeft(good)
	before := f.left()
	var all sync.WaitGroup
	steps := make(chan int)
	for range 4 {
		all.Go(func() {
			for step := range steps {
				for _, delay := range killDelays {
					if err := die(step, delay); err != nil {
						t.Errorf("step %d, %v: %v", step, delay, err)
					}
				}
			}
		})
	}
	for step := range killSteps {
		steps <- step
		if err := run(t.Context(), good, p, 1000, 3, uint32(step)); err != nil {
			t.Error(err)
		}
	}
	close(steps)
	all.Wait()
	f.wantNothingLeft(good)
	f.wantLeft(before)
	if n := f.Status().Counters.Sessions; n < 90 {
		t.Errorf("only %d clients came as far as a session", n)
	}
}
