package fleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// A lease decides which process compiles for all others while a driver has no head. It is
// an object that is made, renewed and taken over by compare-and-swap. Its holder changes it
// three times in each LeaseTime. A process that has seen the same object for LeaseTime, on
// its own clock, takes it over: clocks of different machines are not compared.
type lease struct {
	of   shader.Digest
	tag  string
	body leaseBody
	stop context.CancelFunc
}

// leaseBody is the object. The holder is a random number, and names no machine.
type leaseBody struct {
	Holder string        `json:"holder"`
	Number uint64        `json:"number"` // grows with each renewal
	Time   time.Duration `json:"lease_ns"`
}

const (
	maxLeaseBytes = 4 << 10

	// maxLeaseTime bounds what the object of another process can ask for.
	maxLeaseTime = time.Hour

	// leasePoll and leasePollMax are the times between two looks of a waiter.
	leasePoll    = 10 * time.Millisecond
	leasePollMax = 500 * time.Millisecond
)

// waited returns how long a process waits before it takes the lease over. Its own time has
// no bound; that of the object has, since anyone who can write may have made it.
func (b leaseBody) waited(own time.Duration) time.Duration {
	return max(min(b.Time, maxLeaseTime), own)
}

// canLease reports whether this process may compile for all others.
func (r *Remote) canLease(ctx context.Context) bool {
	if r.options.Mode != ReadWrite || r.checkWriter() != nil {
		return false
	}
	can, err := r.backend.Abilities(ctx)
	return err == nil && can.CompareAndSwap
}

// waiter waits for a lease or a head.
type waiter struct {
	r    *Remote
	of   shader.Digest
	tag  string    // of the lease of another process
	seen time.Time // when this tag was first seen, by the monotonic clock of this process
}

// take tries to get the lease. It reports false while another process holds it.
func (w *waiter) take(ctx context.Context) (bool, error) {
	object, err := w.r.readSmall(ctx, leaseName(w.of), maxLeaseBytes)
	tag := object.tag
	switch {
	case errors.Is(err, ErrNotFound):
		return w.put(ctx, PutOptions{IfAbsent: true}, 0)
	case err != nil:
		return false, err
	case tag == "":
		return false, fmt.Errorf("%w: the lease has no tag", ErrProtocol)
	}
	var other leaseBody
	_ = json.Unmarshal(object.data, &other)
	if tag != w.tag {
		w.tag, w.seen = tag, time.Now()
		return false, nil
	}
	if time.Since(w.seen) < other.waited(w.r.options.LeaseTime) {
		return false, nil
	}
	return w.put(ctx, PutOptions{IfTag: tag}, other.Number)
}

// put writes the lease, and reports false where another process was first.
func (w *waiter) put(ctx context.Context, o PutOptions, number uint64) (bool, error) {
	l := &lease{of: w.of, body: leaseBody{rand.Text(), number, w.r.options.LeaseTime}}
	err := l.write(ctx, w.r.backend, o)
	if errors.Is(err, ErrChanged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.r.hold(l)
	return true, nil
}

// write writes the next number of the lease.
func (l *lease) write(ctx context.Context, b Backend, o PutOptions) error {
	l.body.Number++
	data, err := json.Marshal(l.body)
	if err != nil {
		return err
	}
	o.Size = int64(len(data))
	tag, err := b.Put(ctx, leaseName(l.of), bytes.NewReader(data), o)
	if err == nil { // else the next one is written in place of that before, if it is there
		l.tag = tag
	}
	return err
}

// hold keeps a lease until endLease, or until Close.
func (r *Remote) hold(l *lease) {
	ctx, stop := context.WithCancel(r.background)
	done := make(chan struct{})
	l.stop = func() { stop(); <-done }
	r.mu.Lock()
	r.mu.lease = l
	r.mu.Unlock()
	if !r.goBackground(func(context.Context) { defer close(done); l.renew(ctx, r) }) {
		close(done)
	}
}

// renew renews the lease until ctx ends, or another process has it.
func (l *lease) renew(ctx context.Context, r *Remote) {
	for pause(ctx, r.options.LeaseTime/3) == nil {
		err := l.write(ctx, r.backend, PutOptions{IfTag: l.tag})
		if errors.Is(err, ErrChanged) {
			return
		}
		if err != nil && ctx.Err() == nil {
			r.warn("the lease could not be renewed", err)
		}
	}
}

// endLease deletes the lease of this process, if it has that of a driver.
func (r *Remote) endLease(of shader.Digest) {
	r.mu.Lock()
	l := r.mu.lease
	if l == nil || l.of != of {
		r.mu.Unlock()
		return
	}
	r.mu.lease = nil
	r.mu.Unlock()
	l.stop()
	ctx, cancel := context.WithTimeout(context.Background(), closeWait/2)
	defer cancel()
	// Another process may have taken it over: a change shows that it has not.
	if err := l.write(ctx, r.backend, PutOptions{IfTag: l.tag}); err == nil {
		r.note(r.backend.Delete(ctx, leaseName(of)))
	}
}

// awaitHead waits until there is a head, or this process has the lease. It reports whether
// it has. It returns the error of ctx when that ends first.
func (r *Remote) awaitHead(ctx context.Context, of shader.Digest) (leased bool, err error) {
	w := waiter{r: r, of: of}
	wait := leasePoll
	for {
		if leased, err = w.take(ctx); err != nil {
			return false, err
		}
		_, err = r.readHead(ctx, of, false)
		if err == nil && leased {
			r.endLease(of) // a holder pushed between the two requests
			return false, nil
		}
		if leased || !errors.Is(err, ErrNotFound) {
			return leased, ignoreMissing(err)
		}
		if err := pause(ctx, wait/2+time.Duration(mathrand.Int64N(int64(wait)))); err != nil {
			return false, err
		}
		wait = min(wait*5/4, leasePollMax, max(r.options.LeaseTime/4, leasePoll))
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
