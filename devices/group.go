package devices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/internal/rwlock"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// Options configure a group. The zero value is a good choice: all GPUs, and a job that
// fails with its device returns the error.
type Options struct {
	// Device has the options of every member, and Devices among them: see
	// shadercache.OpenAll.
	Device shadercache.Options

	// MoveJobs runs a job whose device was lost, or had no memory for it, on another one:
	// Submit and Wait return an error only where none is left. A job that uses a buffer of
	// one member is not moved. A job may have run in part before. Submit copies the inputs
	// of each job then. Default: the error of the device is returned.
	MoveJobs bool
}

// Group is several devices as one. It implements shadercache.Device. Methods may be called
// from any goroutine, but not from a callback of glctx.Context.Do or Post.
type Group struct {
	options Options
	members []*member
	close   func() error
	next    atomic.Uint64 // breaks ties

	closed atomic.Bool

	naming     *rwlock.RWMutex // held by who uses named, also while a member opens one
	named      map[string]*member
	opening    sync.WaitGroup // further members
	background sync.WaitGroup // programs on their way to members
	ctx        context.Context
	cancel     context.CancelFunc
}

var _ shadercache.Device = (*Group)(nil)

// Open opens a group over the GPUs of o.Device.Devices, by default over all. It returns
// when the first is open; the others take jobs when they are. It returns the errors of
// shadercache.OpenAll. Close releases the group.
func Open(o Options) (*Group, error) {
	o.Device.NoExecutor = false
	all, err := shadercache.OpenAll(o.Device)
	if err != nil {
		return nil, err
	}
	g := newGroup(o, all.Len())
	g.close = all.Close
	for i, m := range g.members {
		m.want = func() { _, _ = all.Wait(g.ctx, i) }
		set := func() {
			<-all.Opened(i)
			gpu, err := all.Wait(context.Background(), i)
			if err != nil {
				m.set(nil, err)
				return
			}
			m.set(gpu.AsDevice(), nil)
		}
		if i == 0 {
			set()
		} else {
			g.opening.Go(set)
		}
	}
	return g, nil
}

// New makes a group of devices that are open, of this process or of servers. The group
// owns them from then on: Close closes them. It returns an error for none.
func New(o Options, members ...shadercache.Device) (*Group, error) {
	if len(members) == 0 {
		return nil, errors.New("devices: a group without devices")
	}
	g := newGroup(o, len(members))
	for i, m := range g.members {
		m.set(members[i], nil)
	}
	g.close = func() error {
		var errs []error
		for _, d := range members {
			errs = append(errs, d.Close())
		}
		return errors.Join(errs...)
	}
	return g, nil
}

func newGroup(o Options, n int) *Group {
	g := &Group{options: o, named: map[string]*member{}}
	g.naming = rwlock.New(g.PollWhile)
	for rank := range n {
		g.members = append(g.members, newMember(rank))
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Len returns the number of members.
func (g *Group) Len() int { return len(g.members) }

// Member waits until a member is open and returns it. Programs and buffers of it are not
// those of the group. It returns a *DeviceError where it was not opened or is lost. The
// caller must not close it.
func (g *Group) Member(ctx context.Context, rank int) (shadercache.Device, error) {
	return g.members[rank].await(ctx)
}

// Members waits until all members are open or failed, and returns those that can be used.
func (g *Group) Members(ctx context.Context) ([]job.Device, error) {
	usable, err := g.awaitAll(ctx)
	list := make([]job.Device, len(usable))
	for i, m := range usable {
		list[i] = m.device
	}
	return list, err
}

// awaitAll waits until all members are ready, and returns those that can be used: one at
// least.
func (g *Group) awaitAll(ctx context.Context) (list []*member, err error) {
	var errs []error
	for _, m := range g.members {
		if _, err := m.await(ctx); err != nil {
			errs = append(errs, err)
		} else {
			list = append(list, m)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("devices: %w: %w", ErrNoMember, errors.Join(errs...))
	}
	return list, nil
}

// Each calls fn for all members that can be used, side by side, and returns when all calls
// have returned: a barrier. The context of the others ends with the first error, which it
// returns as a *DeviceError.
func (g *Group) Each(ctx context.Context, fn func(ctx context.Context, rank int, member shadercache.Device) error) error {
	list, err := g.awaitAll(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, m := range list {
		group.Go(func() error { return m.error(fn(ctx, m.rank, m.device)) })
	}
	g.PollWhile(func() { err = group.Wait() })
	return err
}

// Barrier waits until every member of this process has finished what was submitted before,
// whether or not it was waited for. Jobs of servers have to be waited for. It returns the
// errors of members that can be used, as a *DeviceError each.
func (g *Group) Barrier(ctx context.Context) (err error) {
	var group errgroup.Group
	for _, m := range g.members {
		if !m.usable() {
			continue // and its device may not be set yet
		}
		if own, ok := m.device.(interface{ Drain(context.Context) error }); ok {
			group.Go(func() error { return m.error(own.Drain(ctx)) })
		}
	}
	g.PollWhile(func() { err = group.Wait() })
	return err
}

// PollWhile calls wait, which waits for work on members. The thread of an adopted context does what
// that needs meanwhile: this may be it.
func (g *Group) PollWhile(wait func()) {
	for _, m := range g.members {
		if inner := wait; m.usable() {
			if gpu, served := m.device.Local(); served == nil {
				wait = func() { gpu.Context.PollWhile(inner) }
			}
		}
	}
	wait()
}

// Name returns the names of the GPUs that are open: "2 x NVIDIA H200", for example.
func (g *Group) Name() string {
	var names, counted []string
	for _, m := range g.members {
		if m.isReady() && m.device != nil {
			names = append(names, m.device.Name())
		}
	}
	for len(names) > 0 {
		others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == names[0] })
		counted = append(counted, fmt.Sprintf("%d x %s", len(names)-len(others), names[0]))
		names = others
	}
	return strings.Join(counted, ", ")
}

// Preload makes the programs resident on every member, side by side: one member compiles
// what is not in the cache. It returns the results of the first member that succeeded,
// and progress receives them. It returns an error where no member succeeded.
func (g *Group) Preload(ctx context.Context, sources []*shader.Source, progress func(cache.PreloadResult)) ([]cache.PreloadResult, error) {
	results, errs := make([][]cache.PreloadResult, len(g.members)), make([]error, len(g.members))
	var all sync.WaitGroup
	for i, m := range g.members {
		report := progress
		if i > 0 {
			report = nil
		}
		all.Go(func() {
			device, err := m.await(ctx)
			if err == nil {
				results[i], err = device.Preload(ctx, sources, report)
			}
			errs[i] = m.error(err)
		})
	}
	g.PollWhile(all.Wait)
	if first := slices.Index(errs, nil); first >= 0 {
		return results[first], nil
	}
	return results[0], errors.Join(errs...)
}

// Stats returns the state of the cache of the first member that can be used: see
// MemberStats for each.
func (g *Group) Stats(ctx context.Context) (shadercache.Stats, error) {
	for _, m := range g.members {
		if m.usable() {
			stats, err := m.device.Stats(ctx)
			return stats, m.error(err)
		}
	}
	return shadercache.Stats{}, g.noMember()
}

// MemberStats is the work of one member.
type MemberStats struct {
	Rank   int    `json:"rank"`
	Name   string `json:"name"`   // of the GPU; "" where it is not open
	Jobs   uint64 `json:"jobs"`   // of the group, that it took
	Moved  uint64 `json:"moved"`  // of those, after another member failed
	Queued int    `json:"queued"` // not finished
	Bytes  int64  `json:"bytes"`  // of buffers of the group
	Error  string `json:"error"`  // why it gets no jobs
}

// MemberStats returns the work of each member so far. It waits for nothing.
func (g *Group) MemberStats() []MemberStats {
	list := make([]MemberStats, len(g.members))
	for i, m := range g.members {
		s := MemberStats{Rank: i, Jobs: m.jobs.Load(), Moved: m.moved.Load(), Bytes: m.bytes.Load()}
		if m.isReady() && m.device != nil {
			s.Name, s.Queued = m.device.Name(), m.queued()
		}
		if m.isReady() && m.err() != nil {
			s.Error = m.err().Error()
		}
		list[i] = s
	}
	return list
}

// Local returns the GPU of the first member that can be used: what is made with it is on
// that member alone. Member has the others.
func (g *Group) Local() (*shadercache.GPU, error) {
	for _, m := range g.members {
		if m.usable() {
			return m.device.Local()
		}
	}
	return nil, g.noMember()
}

// Close ends the use of the group and closes its members, those that are still being
// opened too. It may be called again.
func (g *Group) Close() error {
	if g.closed.Swap(true) {
		return nil
	}
	g.cancel()
	g.background.Wait()
	err := g.close()
	g.opening.Wait()
	return err
}

// check returns ErrClosed after Close.
func (g *Group) check() error {
	if g.closed.Load() {
		return job.ErrClosed
	}
	return nil
}

// noMember returns ErrNoMember with the reasons.
func (g *Group) noMember() error {
	var errs []error
	for _, m := range g.members {
		if m.isReady() && m.err() != nil {
			errs = append(errs, m.err())
		}
	}
	return fmt.Errorf("devices: %w: %w", ErrNoMember, errors.Join(errs...))
}
