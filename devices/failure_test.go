//go:build linux

package devices_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// fakeDevice is a device whose jobs do nothing, and that fails on request.
type fakeDevice struct {
	shadercache.Device // nil: other methods are not used
	name               string

	mu      sync.Mutex
	get     func()       // called by Get, where it is set
	open    func() error // of NamedBuffer and DeleteBuffer, where it is set
	opened  int          // calls of NamedBuffer
	submits error        // of Submit
	waits   error        // of Wait
	jobs    []uint8      // the first byte of each job's input
}

func (d *fakeDevice) Name() string { return d.name }

func (d *fakeDevice) Local() (*shadercache.GPU, error) { return nil, shadercache.ErrServed }

func (d *fakeDevice) Close() error { return nil }

func (d *fakeDevice) Get(context.Context, *shader.Source) (shadercache.Program, error) {
	if d.get != nil {
		d.get()
	}
	return fakeProgram{}, nil
}

func (d *fakeDevice) Submit(_ context.Context, job *shadercache.Job) (shadercache.Pending, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.submits != nil {
		return nil, d.submits
	}
	d.jobs = append(d.jobs, job.Inputs[0].Data[0])
	return fakePending{d}, nil
}

func (d *fakeDevice) NewBuffer(_ context.Context, size int) (shadercache.Buffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.submits != nil {
		return nil, d.submits
	}
	return fakeBuffer{}, nil
}

func (d *fakeDevice) NamedBuffer(context.Context, string, int) (shadercache.Buffer, error) {
	d.opened++
	return fakeBuffer{}, d.openError()
}

func (d *fakeDevice) DeleteBuffer(context.Context, string) error { return d.openError() }

func (d *fakeDevice) openError() error {
	if d.open != nil {
		return d.open()
	}
	return nil
}

func (d *fakeDevice) fail(submits, waits error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.submits, d.waits = submits, waits
}

type fakeProgram struct{ shadercache.Program }

func (fakeProgram) Release() {}

type fakeBuffer struct{ shadercache.Buffer }

func (fakeBuffer) Release() {}

type fakePending struct{ d *fakeDevice }

func (p fakePending) Wait(context.Context) error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	return p.d.waits
}
func (fakePending) Release() {}

// newFakes returns a group of two devices and its program.
func newFakes(t *testing.T, o devices.Options) (*devices.Group, [2]*fakeDevice, shadercache.Program) {
	t.Helper()
	fakes := [2]*fakeDevice{{name: "a"}, {name: "b"}}
	g, err := devices.New(o, fakes[0], fakes[1])
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Get(context.Background(), sourceOf(t, "scale", scale))
	if err != nil {
		t.Fatal(err)
	}
	for rank := range 2 {
		if _, err := devices.On(context.Background(), p, rank); err != nil {
			t.Fatal(err)
		}
	}
	return g, fakes, p
}

func fakeJob(p shadercache.Program, number uint8) *shadercache.Job {
	return &shadercache.Job{Dispatch: shadercache.Dispatch{Program: p}, Inputs: []shadercache.Input{{Data: []byte{number}}}}
}

var errFakeLost = fmt.Errorf("reset: %w", shadercache.ErrLost)

// submitAll submits jobs of increasing numbers.
func submitAll(t *testing.T, submit func(context.Context, *shadercache.Job) (shadercache.Pending, error), p shadercache.Program, n uint8) (list []shadercache.Pending) {
	t.Helper()
	job := fakeJob(p, 0) // reused: what moves has a copy
	for number := range n {
		job.Inputs[0].Data[0] = number
		pending, err := submit(context.Background(), job)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pending)
	}
	return list
}

// A job that moves has what Fill wrote, once.
func TestAFilledJobMoves(t *testing.T) {
	ctx := context.Background()
	g, fakes, p := newFakes(t, devices.Options{MoveJobs: true})
	fakes[0].fail(nil, errFakeLost)
	fills := 0
	for range 2 { // one of them goes to each device first
		job := fakeJob(p, 0)
		job.Inputs[0] = shadercache.Input{Size: 1, Fill: func(dst []byte) {
			fills++
			dst[0] = 7
		}}
		if err := g.Run(ctx, job); err != nil {
			t.Fatal(err)
		}
	}
	if got := slices.Concat(fakes[0].jobs, fakes[1].jobs); fills != 2 || !slices.Equal(got, []uint8{7, 7, 7}) {
		t.Errorf("%d fills, and the jobs %d", fills, got)
	}
}

// The jobs of a device that is lost fail with its rank, and the other device
// takes all later jobs.
func TestALostDeviceFailsItsJobs(t *testing.T) {
	ctx := context.Background()
	g, fakes, p := newFakes(t, devices.Options{})
	pending := submitAll(t, g.Submit, p, 8)
	fakes[0].fail(errFakeLost, errFakeLost)
	lost := 0
	for _, one := range pending {
		err := one.Wait(ctx)
		if err == nil {
			continue
		}
		lost++
		var failed *devices.DeviceError
		if !errors.As(err, &failed) || failed.Rank != 0 || failed.Name != "a" || !errors.Is(err, shadercache.ErrLost) {
			t.Errorf("got %v, want a DeviceError of device 0", err)
		}
	}
	if lost != len(fakes[0].jobs) || lost == 0 || lost == len(pending) {
		t.Errorf("%d of %d jobs failed, device 0 had %d", lost, len(pending), len(fakes[0].jobs))
	}
	before := len(fakes[1].jobs)
	for _, one := range submitAll(t, g.Submit, p, 4) {
		if err := one.Wait(ctx); err != nil {
			t.Error(err)
		}
	}
	if len(fakes[1].jobs) != before+4 {
		t.Errorf("device 1 took %d of 4 jobs", len(fakes[1].jobs)-before)
	}
	if s := g.MemberStats(); s[0].Error == "" || s[1].Error != "" {
		t.Errorf("stats are %+v", s)
	}
}

// With MoveJobs every job is done: those of a lost device, and those that it had no memory
// for, are done by the other one, from copies of their inputs.
func TestJobsMove(t *testing.T) {
	for _, reason := range []error{errFakeLost, shader.ErrOutOfMemory} {
		g, fakes, p := newFakes(t, devices.Options{MoveJobs: true})
		pending := submitAll(t, g.Submit, p, 8)
		fakes[0].fail(nil, reason)
		for i, one := range pending {
			if err := one.Wait(context.Background()); err != nil {
				t.Errorf("%v: job %d: %v", reason, i, err)
			}
		}
		done := slices.Sorted(slices.Values(fakes[1].jobs))
		if !slices.Equal(done, []uint8{0, 1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("%v: device 1 did %v, want all", reason, done)
		}
		if s := g.MemberStats(); s[1].Moved != uint64(len(fakes[0].jobs)) || (s[0].Error != "") != errors.Is(reason, shadercache.ErrLost) {
			t.Errorf("%v: stats are %+v", reason, s)
		}
	}
}

// A job whose context ends while it moves continues: it moves with the next Wait.
func TestAMoveThatAContextEnds(t *testing.T) {
	g, fakes, p := newFakes(t, devices.Options{MoveJobs: true})
	job, err := g.Submit(t.Context(), fakeJob(p, 3))
	if err != nil {
		t.Fatal(err)
	}
	on := len(fakes[1].jobs)
	fakes[on].fail(nil, errFakeLost)
	fakes[1-on].fail(context.Canceled, nil)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := job.Wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that ends: %v", err)
	}
	fakes[1-on].fail(nil, nil)
	if err := job.Wait(t.Context()); err != nil || !slices.Equal(fakes[1-on].jobs, []uint8{3}) {
		t.Errorf("the next: %v, and device %d did %v", err, 1-on, fakes[1-on].jobs)
	}
}

// Get returns with the program of any device, whatever the first one does.
func TestTheFirstDeviceIsSlow(t *testing.T) {
	slow := make(chan struct{})
	g, err := devices.New(devices.Options{}, &fakeDevice{get: func() { <-slow }}, &fakeDevice{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Get(t.Context(), sourceOf(t, "scale", scale))
	close(slow)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := devices.On(t.Context(), p, 0); err != nil {
		t.Errorf("the program of the first: %v", err)
	}
}

// Jobs do not wait for a named buffer, and a name stays with its device where deleting it fails.
func TestNamedBuffersThatTakeTime(t *testing.T) {
	g, fakes, p := newFakes(t, devices.Options{})
	refused := errors.New("refused")
	fakes[0].open = func() error {
		if err := g.Run(t.Context(), fakeJob(p, 1)); err != nil {
			t.Error(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.NamedBuffer(ended, "other", 4); !errors.Is(err, context.Canceled) {
			t.Errorf("meanwhile: %v", err)
		}
		return nil
	}
	if _, err := g.NamedBuffer(t.Context(), "name", 4); err != nil {
		t.Fatal(err)
	}
	fakes[0].open = func() error { return refused }
	if err := g.DeleteBuffer(t.Context(), "name"); !errors.Is(err, refused) {
		t.Errorf("delete: %v", err)
	}
	fakes[0].open = nil
	if _, err := g.NamedBuffer(t.Context(), "name", 4); err != nil || fakes[0].opened != 2 {
		t.Errorf("again: %v, and %d and %d on the devices", err, fakes[0].opened, fakes[1].opened)
	}
}

// A name that another process gave to a device of the server is found there.
func TestNamesOfOtherProcesses(t *testing.T) {
	g, fakes, _ := newFakes(t, devices.Options{})
	elsewhere := func() error { return job.ErrOtherDevice }
	fakes[0].open = elsewhere
	if _, err := g.NamedBuffer(t.Context(), "name", 4); err != nil || fakes[1].opened != 1 {
		t.Errorf("the name of the other device: %v, opened %d times there", err, fakes[1].opened)
	}
	if err := g.DeleteBuffer(t.Context(), "unknown"); err != nil {
		t.Errorf("delete of the other device's: %v", err)
	}
	fakes[0].open, fakes[1].open = elsewhere, func() error { return job.ErrNotFound }
	if err := g.DeleteBuffer(t.Context(), "missing"); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("delete of none: %v", err)
	}
}

// A job with a buffer on a lost device fails with its error, moves or not.
func TestAJobStaysWithItsBuffers(t *testing.T) {
	ctx := context.Background()
	g, fakes, p := newFakes(t, devices.Options{MoveJobs: true})
	b, err := g.NewBufferOn(ctx, 0, 4)
	if err != nil {
		t.Fatal(err)
	}
	job := fakeJob(p, 1)
	job.Buffers = []shadercache.Bound{{Buffer: b}}
	pending, err := g.Submit(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	fakes[0].fail(errFakeLost, errFakeLost)
	var failed *devices.DeviceError
	if err := pending.Wait(ctx); !errors.As(err, &failed) || failed.Rank != 0 {
		t.Errorf("Wait: %v", err)
	}
	if _, err := g.Submit(ctx, job); !errors.As(err, &failed) || failed.Rank != 0 {
		t.Errorf("Submit: %v", err)
	}
	if len(fakes[1].jobs) != 0 {
		t.Error("the job ran on the other device")
	}
}

// Jobs of a stream move in order, and no later job overtakes them.
func TestAStreamMovesInOrder(t *testing.T) {
	ctx := context.Background()
	g, fakes, p := newFakes(t, devices.Options{MoveJobs: true})
	s := g.Stream()
	pending := submitAll(t, s.Submit, p, 5)
	from, to := fakes[0], fakes[1]
	if len(from.jobs) == 0 {
		from, to = to, from
	}
	if len(from.jobs) != 5 {
		t.Fatalf("the stream ran on two devices: %v and %v", from.jobs, to.jobs)
	}
	from.fail(errFakeLost, errFakeLost)
	if err := pending[1].Wait(ctx); !errors.Is(err, shadercache.ErrLost) {
		t.Errorf("a job that is waited for before an earlier one: %v", err)
	}
	if _, err := s.Submit(ctx, fakeJob(p, 9)); !errors.Is(err, shadercache.ErrLost) {
		t.Errorf("a job behind those of the lost device: %v", err)
	}
	for _, i := range []int{0, 2, 3, 4} {
		if err := pending[i].Wait(ctx); err != nil {
			t.Errorf("job %d: %v", i, err)
		}
	}
	last, err := s.Submit(ctx, fakeJob(p, 9))
	if err != nil {
		t.Fatal(err)
	}
	if err := last.Wait(ctx); err != nil {
		t.Error(err)
	}
	if !slices.Equal(to.jobs, []uint8{0, 2, 3, 4, 9}) {
		t.Errorf("the jobs ran in the order %v", to.jobs)
	}
}

// Behind a job that had no memory a later one of the stream runs where that moved, or the job does
// not run after it.
func TestAStreamBehindAMove(t *testing.T) {
	ctx := t.Context()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, moves := range []bool{true, false} {
		g, fakes, p := newFakes(t, devices.Options{MoveJobs: true})
		s := g.Stream()
		first := submitAll(t, s.Submit, p, 1)[0]
		from, to := fakes[0], fakes[1]
		if len(from.jobs) == 0 {
			from, to = to, from
		}
		from.fail(nil, shader.ErrOutOfMemory)
		if to.fail(context.Canceled, nil); moves {
			to.fail(nil, context.Canceled)
		}
		if err := first.Wait(ended); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		from.fail(nil, nil)
		to.fail(nil, nil)
		if _, err := s.Submit(ctx, fakeJob(p, 9)); err != nil {
			t.Fatal(err)
		}
		if err := first.Wait(ctx); moves != (err == nil) || !moves && !errors.Is(err, shader.ErrOutOfMemory) {
			t.Errorf("it moves: %v, and then %v", moves, err)
		}
		want := [2][]uint8{{0, 9}, nil}
		if moves {
			want = [2][]uint8{{0}, {0, 9}}
		}
		if !slices.Equal(from.jobs, want[0]) || !slices.Equal(to.jobs, want[1]) {
			t.Errorf("it moves: %v, and the devices did %v and %v", moves, from.jobs, to.jobs)
		}
	}
}

// Where every device is lost the error has the reason of each; buffers are made where there
// is room.
func TestNoDeviceIsLeft(t *testing.T) {
	ctx := context.Background()
	g, fakes, p := newFakes(t, devices.Options{MoveJobs: true})
	fakes[0].fail(shader.ErrOutOfMemory, nil)
	for range 3 {
		b, err := g.NewBuffer(ctx, 64)
		if err != nil {
			t.Fatal(err)
		}
		if rank, _ := devices.Rank(b); rank != 1 {
			t.Errorf("the buffer is on device %d, which has no room", rank)
		}
	}
	fakes[0].fail(errFakeLost, nil)
	fakes[1].fail(errFakeLost, nil)
	_, err := g.Submit(ctx, fakeJob(p, 0))
	if !errors.Is(err, devices.ErrNoMember) || !errors.Is(err, shadercache.ErrLost) {
		t.Errorf("got %v, want ErrNoMember and ErrLost", err)
	}
	if _, err := g.NewBuffer(ctx, 64); !errors.Is(err, shadercache.ErrLost) {
		t.Errorf("NewBuffer: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if _, err := g.Get(ctx, sourceOf(t, "scale", scale)); !errors.Is(err, shadercache.ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
}

// busyDevice is a device that has jobs of others to finish.
type busyDevice struct {
	fakeDevice
	queued int
}

func (d *busyDevice) Queued() int { return d.queued }

// Jobs go to the device that has fewer to finish.
func TestJobsGoToTheDeviceWithFewer(t *testing.T) {
	busy, idle := &busyDevice{queued: 3}, &busyDevice{queued: 2}
	g, err := devices.New(devices.Options{}, busy, idle)
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Get(context.Background(), sourceOf(t, "scale", scale))
	if err != nil {
		t.Fatal(err)
	}
	for rank := range 2 {
		if _, err := devices.On(context.Background(), p, rank); err != nil {
			t.Fatal(err)
		}
	}
	submitAll(t, g.Submit, p, 4)
	if len(busy.jobs) != 0 || len(idle.jobs) != 4 {
		t.Errorf("the device with more to finish took %v, the other %v", busy.jobs, idle.jobs)
	}
}
