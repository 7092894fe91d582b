package devices

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/shadercache/shadercache"
)

// member is a device of a group.
type member struct {
	rank  int
	ready chan struct{} // closed when device or the error of opening it is set

	want   func()             // has it opened at once; nil: it is open
	device shadercache.Device // nil where it could not be opened
	queued func() int         // jobs that it has to finish

	waiting atomic.Int64 // jobs of the group that were not waited for
	bytes   atomic.Int64 // of buffers of the group
	jobs    atomic.Uint64
	moved   atomic.Uint64 // jobs that came from other members

	mu struct {
		sync.Mutex
		err error // why it gets no more jobs
	}
}

func newMember(rank int) *member { return &member{rank: rank, ready: make(chan struct{})} }

// set makes a member ready.
func (m *member) set(device shadercache.Device, err error) {
	if m.device = device; err != nil {
		m.mu.err = m.error(err)
	} else if counts, ok := device.(interface{ Queued() int }); ok {
		m.queued = counts.Queued
	} else {
		m.queued = func() int { return int(m.waiting.Load()) }
	}
	close(m.ready)
}

// isReady reports whether the member is open, or could not be opened.
func (m *member) isReady() bool { return isClosed(m.ready) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// await has the member opened, waits until it is ready, and returns its device, or the
// reason that it has none.
func (m *member) await(ctx context.Context) (shadercache.Device, error) {
	if !m.isReady() && m.want != nil {
		go m.want()
	}
	return m.awaitReady(ctx)
}

// awaitReady is await without having it opened earlier.
func (m *member) awaitReady(ctx context.Context) (shadercache.Device, error) {
	if !m.isReady() {
		select {
		case <-m.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return m.device, m.err()
}

// usable reports whether the member is open and not lost.
func (m *member) usable() bool { return m.isReady() && m.err() == nil }

// err returns why the member gets no more jobs. It is ready.
func (m *member) err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.err
}

// error returns an error of the member with its rank, and remembers that it is lost.
func (m *member) error(err error) error {
	if err == nil {
		return nil
	}
	name := ""
	if m.isReady() && m.device != nil {
		name = m.device.Name()
	}
	failed := &DeviceError{m.rank, name, err}
	if isLost(err) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.mu.err == nil {
			m.mu.err = failed
		}
	}
	return failed
}
