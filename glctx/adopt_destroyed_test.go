//go:build linux && cgo

package glctx_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// An engine destroys its window, and with it the context, before the cache and the
// executor are closed, while another goroutine still waits for a program and a job is
// on its way.
func TestCloseAfterTheContextWasDestroyed(t *testing.T) {
	destroy := glctx.OwnContext(t)
	gpu, err := glctx.Adopt(glctx.Options{DriverCacheOff: true}, nil)
	wantNoError(t, err)
	programs, err := cache.New(gpu, cache.Options{Dir: t.TempDir()})
	wantNoError(t, err)
	program, err := programs.Get(t.Context(), shader.MustSource("increment", increment, nil))
	wantNoError(t, err)
	jobs, err := executor.New(gpu, programs, executor.Options{SlotBytes: 1 << 16})
	wantNoError(t, err)

	wantNoError(t, programs.Flush()) // its own work has asked for the thread
	select {
	case <-gpu.Pending():
	default:
	}
	elsewhere := make(chan error)
	go func() {
		_, err := programs.Get(context.Background(), shader.MustSource("two", doubler, shader.Defines{"FACTOR": "2.0"}))
		elsewhere <- err
	}()
	<-gpu.Pending() // the compile is queued
	var out [4]uint32
	_, err = jobs.Submit(t.Context(), job.Job{
		Dispatch: job.Dispatch{Program: program, Groups: [3]uint32{1, 1, 1}},
		Inputs:   []job.Input{{Binding: 0, Data: glctx.Bytes([]uint32{1, 2, 3, 4})}},
		Outputs:  []job.Output{{Binding: 1, To: glctx.Bytes(out[:])}},
	})
	wantNoError(t, err)
	destroy()

	wantReturn(t, func() {
		if err := jobs.Close(); !errors.Is(err, shader.ErrContextLost) {
			t.Errorf("closing the executor: %v, want shader.ErrContextLost", err)
		}
		program.Release()
		wantNoError(t, programs.Close())
		wantNoError(t, gpu.Close())
	})
	if err := <-elsewhere; !errors.Is(err, shader.ErrContextLost) {
		t.Errorf("a Get on another goroutine: %v", err)
	}
	if _, err := programs.Get(t.Context(), shader.MustSource("increment", increment, nil)); err == nil {
		t.Error("Get succeeded after Close")
	}
	if n := gpu.Counters(); n.Programs != 0 || !gpu.Lost() {
		t.Errorf("%d programs are counted as live; lost: %v", n.Programs, gpu.Lost())
	}
}

// A Get on the context's thread, after the context was destroyed, is an error that
// names the cause, and Close returns after it.
func TestGetAfterTheContextWasDestroyed(t *testing.T) {
	destroy := glctx.OwnContext(t)
	gpu, err := glctx.Adopt(glctx.Options{DriverCacheOff: true}, nil)
	wantNoError(t, err)
	programs, err := cache.New(gpu, cache.Options{Dir: t.TempDir()})
	wantNoError(t, err)
	destroy()
	wantReturn(t, func() {
		_, err := programs.Get(context.Background(), shader.MustSource("increment", increment, nil))
		if !errors.Is(err, shader.ErrContextLost) {
			t.Errorf("Get: %v, want shader.ErrContextLost", err)
		}
		wantIn(t, err.Error(), "no context is current")
		wantNoError(t, programs.Close())
		wantNoError(t, gpu.Close())
	})
}

// wantReturn runs call, which must be on the locked thread of the test, and ends the
// process with all stacks where it does not return.
func wantReturn(t *testing.T, call func()) {
	t.Helper()
	watchdog := time.AfterFunc(time.Minute, func() { panic("a call has not returned for a minute") })
	defer watchdog.Stop()
	call()
}
