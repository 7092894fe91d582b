//go:build linux

package resident

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestRunsEndAtBoundaries publishes boundaries, in simulated time, and compares the outcome
// that a waiting caller gets.
func TestRunsEndAtBoundaries(t *testing.T) {
	fault := Signal{Kind: SignalFault, Argument: 3, Group: 2}
	for name, c := range map[string]struct {
		steps uint64
		last  boundary
		stop  bool
		want  Outcome
	}{
		"all steps":  {steps: 30, last: boundary{progress: 130}, want: Outcome{Steps: 30}},
		"more":       {steps: 30, last: boundary{progress: 140}, want: Outcome{Steps: 40}},
		"signal":     {steps: 30, last: boundary{progress: 115, signal: fault}, want: Outcome{15, fault}},
		"all halted": {last: boundary{progress: 120, halted: true}, want: Outcome{20, Signal{Kind: SignalHalt}}},
		"stopped":    {last: boundary{progress: 120}, stop: true, want: Outcome{Steps: 20}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRunState(100)
			if err := r.startRun(c.steps); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Second, func() { r.publishBoundary(boundary{progress: 110}) })
			time.AfterFunc(2*time.Second, func() {
				if c.stop {
					r.locked(func() { r.stopping = true })
				}
				r.publishBoundary(c.last)
			})
			began := time.Now()
			out, err := r.waitOutcome(t.Context())
			if err != nil || out != c.want || time.Since(began) != 2*time.Second || r.stats.Steps != c.want.Steps {
				t.Errorf("%s: %+v with %d steps after %v, %v", name, out, r.stats.Steps, time.Since(began), err)
			}
		})
	}
}

// TestWaitsForARunEnd lists what else ends a wait: the context, a failure, and Close.
func TestWaitsForARunEnd(t *testing.T) {
	for want, end := range map[error]func(r *runState, cancel func()){
		context.Canceled: func(_ *runState, cancel func()) { cancel() },
		ErrStuck:         func(r *runState, _ func()) { r.setFailure(ErrStuck) },
		errClosed: func(r *runState, _ func()) {
			r.markClosed()
			r.notify()
			time.Sleep(time.Second) // the last tick of the scheduler
			close(r.ended)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRunState(0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := r.startRun(0); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Second, func() { end(r, cancel) })
			if _, err := r.waitOutcome(ctx); !errors.Is(err, want) {
				t.Errorf("the wait ends with %v, not %v", err, want)
			}
			if err := r.startRun(1); !errors.Is(err, ErrRunning) && !errors.Is(err, want) {
				t.Errorf("a start after that returns %v", err)
			}
		})
	}
}

// TestDismissedRequestsReturnErrClosed closes a session with a pending request.
func TestDismissedRequestsReturnErrClosed(t *testing.T) {
	r := newRunState(0)
	q := &request{done: make(chan error, 1)}
	if err := r.addRequest(q); err != nil {
		t.Fatal(err)
	}
	if !r.markClosed() || r.markClosed() {
		t.Error("close does not report whether the session was open")
	}
	r.dismiss()
	if err := <-q.done; !errors.Is(err, errClosed) {
		t.Errorf("the request returns %v", err)
	}
	if err := r.addRequest(q); !errors.Is(err, errClosed) {
		t.Errorf("a request after that returns %v", err)
	}
	if r.withdrawRequest(q) {
		t.Error("a request that was dismissed can be withdrawn")
	}
}
