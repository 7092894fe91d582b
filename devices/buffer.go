package devices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shadercache/shadercache/internal/rwlock"
	"github.com/shadercache/shadercache/job"
)

// placed is a buffer on one member.
type placed struct {
	job.Buffer
	m        *member
	held     int64 // bytes that count for the member
	released atomic.Bool
}

// NewBuffer makes a buffer on the member whose objects of the group have the fewest bytes,
// or on another where that one has no room. Jobs that use it run there.
func (g *Group) NewBuffer(ctx context.Context, size int) (made job.Buffer, err error) {
	err = g.place(func(m *member) error {
		made, err = g.newBufferOn(ctx, m, size)
		return err
	})
	return made, err
}

// place calls make for the member whose objects have the fewest bytes, and for the next where
// that one has no room, or a name is that of another one.
func (g *Group) place(make func(*member) error) error {
	if err := g.check(); err != nil {
		return err
	}
	var failed error
	for tried := map[*member]bool{}; len(tried) < len(g.members); {
		m := g.emptiest(tried)
		if m == nil {
			break
		}
		tried[m] = true
		failed = make(m)
		elsewhere := errors.Is(failed, job.ErrOtherDevice) || errors.Is(failed, job.ErrNotFound)
		if failed == nil || !elsewhere && !isOfDevice(failed) {
			return failed
		}
	}
	return cmp.Or(failed, g.noMember())
}

// emptiest returns the usable member with the fewest bytes that was not tried, or nil.
func (g *Group) emptiest(tried map[*member]bool) (best *member) {
	for _, m := range g.members {
		if m.usable() && !tried[m] && (best == nil || m.bytes.Load() < best.bytes.Load()) {
			best = m
		}
	}
	return best
}

// unusable returns why no member can be used.
func (g *Group) unusable() error { return cmp.Or(g.check(), g.noMember()) }

// NewBufferOn makes a buffer on a member, once that is open. Jobs that use it run there.
func (g *Group) NewBufferOn(ctx context.Context, rank, size int) (job.Buffer, error) {
	if _, err := g.members[rank].await(ctx); err != nil {
		return nil, err
	}
	return g.newBufferOn(ctx, g.members[rank], size)
}

func (g *Group) newBufferOn(ctx context.Context, m *member, size int) (job.Buffer, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	b, err := m.device.NewBuffer(ctx, size)
	if err != nil {
		return nil, m.error(err)
	}
	m.bytes.Add(int64(size))
	return &placed{Buffer: b, m: m, held: int64(size)}, nil
}

// NamedBuffer opens the buffer of a name where one of the group, or the server of members, has
// it, and else as NewBuffer places one.
func (g *Group) NamedBuffer(ctx context.Context, name string, size int) (job.Buffer, error) {
	b := new(placed)
	err := g.onNamed(ctx, name, func(m *member) (err error) {
		if b.Buffer, err = m.device.NamedBuffer(ctx, name, size); err != nil {
			return m.error(err)
		}
		if b.m = m; g.named[name] == nil {
			m.bytes.Add(int64(size))
		}
		g.named[name] = m
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// onNamed calls do for the member that has a name, or as place does, with named locked.
func (g *Group) onNamed(ctx context.Context, name string, do func(*member) error) error {
	if err := g.naming.Lock(ctx); err != nil {
		return err
	}
	defer g.naming.Unlock()
	if err := g.check(); err != nil {
		return err
	}
	if m := g.named[name]; m != nil {
		return do(m)
	}
	return g.place(do)
}

// DeleteBuffer removes the name of a buffer: see shadercache.Device.
func (g *Group) DeleteBuffer(ctx context.Context, name string) error {
	return g.onNamed(ctx, name, func(m *member) error {
		err := m.device.DeleteBuffer(ctx, name)
		if err == nil || errors.Is(err, job.ErrNotFound) || isLost(err) {
			delete(g.named, name)
		}
		return m.error(err)
	})
}

func (b *placed) Write(ctx context.Context, offset int, data []byte) (uint64, error) {
	version, err := b.Buffer.Write(ctx, offset, data)
	return version, b.m.error(err)
}

func (b *placed) Replace(ctx context.Context, offset int, data []byte, expected, next uint64) (uint64, error) {
	version, err := b.Buffer.Replace(ctx, offset, data, expected, next)
	return version, b.m.error(err)
}

func (b *placed) Read(ctx context.Context, offset int, dst []byte) (uint64, error) {
	version, err := b.Buffer.Read(ctx, offset, dst)
	return version, b.m.error(err)
}

func (b *placed) Release() {
	if !b.released.Swap(true) {
		b.m.bytes.Add(-b.held)
		b.Buffer.Release()
	}
}

// Replica is a buffer with a copy on each member. A job that only reads it runs on any
// member, with the copy there; one that writes it is refused. Read reads the copy of the
// first member that can be used.
type Replica struct {
	copies
	writing *rwlock.RWMutex // held by one write of all copies: another one would be first on some
}

// NewReplica makes a buffer on every member that can be used, once all are open.
func (g *Group) NewReplica(ctx context.Context, size int) (*Replica, error) {
	list, err := g.awaitAll(ctx)
	if err != nil {
		return nil, err
	}
	c, err := g.newCopies(ctx, list, func(int) int { return size })
	if err != nil {
		return nil, err
	}
	return &Replica{c, rwlock.New(g.PollWhile)}, nil
}

// copies are buffers of a group, one of each member that could be used.
type copies struct {
	group *Group
	parts []*placed
}

// newCopies makes a buffer on each member of a list. i counts them.
func (g *Group) newCopies(ctx context.Context, list []*member, size func(i int) int) (copies, error) {
	c := copies{group: g}
	for i, m := range list {
		b, err := g.newBufferOn(ctx, m, size(i))
		if err != nil {
			c.Release()
			return copies{}, err
		}
		c.parts = append(c.parts, b.(*placed))
	}
	return c, nil
}

// Release ends the use of all copies. It may be called again.
func (c copies) Release() {
	for _, p := range c.parts {
		p.Release()
	}
}

// Created reports true: buffers of this kind have no name.
func (c copies) Created() bool { return true }

// Size returns the number of bytes of one copy.
func (r *Replica) Size() int { return r.parts[0].Size() }

// Version returns that of the first copy, when it was made.
func (r *Replica) Version() uint64 { return r.parts[0].Version() }

// Write copies data to all copies, side by side. Copies of members that were lost are left
// out. After another error the copies may differ.
func (r *Replica) Write(ctx context.Context, offset int, data []byte) (uint64, error) {
	return r.onAll(ctx, func(p *placed) (uint64, error) { return p.Write(ctx, offset, data) })
}

// Replace is Write for a version: see job.Buffer.
func (r *Replica) Replace(ctx context.Context, offset int, data []byte, expected, next uint64) (uint64, error) {
	return r.onAll(ctx, func(p *placed) (uint64, error) { return p.Replace(ctx, offset, data, expected, next) })
}

// onAll calls write for the copies that can be used.
func (r *Replica) onAll(ctx context.Context, write func(*placed) (uint64, error)) (uint64, error) {
	if err := r.writing.Lock(ctx); err != nil {
		return 0, err
	}
	defer r.writing.Unlock()
	versions, errs := r.all(func(i int) (uint64, error) {
		if err := r.parts[i].m.err(); err != nil {
			return 0, err
		}
		return write(r.parts[i])
	})
	written := slices.Index(errs, nil)
	err := errors.Join(slices.DeleteFunc(errs, isLost)...)
	if written < 0 {
		return 0, cmp.Or(err, r.group.unusable())
	}
	return versions[written], err
}

func (r *Replica) Read(ctx context.Context, offset int, dst []byte) (uint64, error) {
	for _, p := range r.parts {
		if !p.m.usable() {
			continue
		}
		version, err := p.Read(ctx, offset, dst)
		if err == nil || !isLost(err) {
			return version, err
		}
	}
	return 0, r.group.unusable()
}

// all calls fn for each copy, side by side, and returns what it returned.
func (c copies) all(fn func(i int) (uint64, error)) (versions []uint64, errs []error) {
	versions, errs = make([]uint64, len(c.parts)), make([]error, len(c.parts))
	var group sync.WaitGroup
	for i := range c.parts {
		group.Go(func() { versions[i], errs[i] = fn(i) })
	}
	c.group.PollWhile(group.Wait)
	return versions, errs
}

// on returns the copy of a member, or nil.
func (c copies) on(m *member) *placed {
	for _, p := range c.parts {
		if p.m == m {
			return p
		}
	}
	return nil
}

// Copy returns the copy of a member, for jobs that write it there: from then on copies
// differ. It is released with the replica.
func (r *Replica) Copy(rank int) (job.Buffer, error) {
	if p := r.on(r.group.members[rank]); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("devices: %w: device %d has no copy of it", job.ErrNotFound, rank)
}
