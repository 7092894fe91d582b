package devices

import (
	"context"
	"errors"
	"time"

	"github.com/shadercache/shadercache/job"
)

// pending is a job that a member runs.
type pending struct {
	group   *Group
	job     *job.Job
	movable bool // to another member, where this one fails

	deadline time.Time // the zero time: none

	m      *member
	inner  job.Pending
	failed map[*member]bool // members that could not run it; nil: none
	stream *Stream          // nil: none
	done   bool
	err    error
}

// start submits the job to want, or to the member that is chosen. Where a member cannot
// run it the next is tried, if the job may move.
func (p *pending) start(ctx context.Context, want *member) error {
	for {
		m, err := want, error(nil)
		if m == nil {
			m, err = p.group.choose(p.job, p.failed)
		}
		if err != nil {
			return errors.Join(err, p.err)
		}
		err = p.submitTo(ctx, m)
		if err == nil {
			return nil
		}
		// A lost device took nothing: any other may run the job.
		if mayMove := p.movable && isOfDevice(err) || isLost(err); want != nil || !mayMove {
			return err
		}
		p.reject(m, err)
	}
}

// reject notes that a member could not run the job.
func (p *pending) reject(m *member, err error) {
	if p.failed == nil {
		p.failed = map[*member]bool{}
	}
	p.failed[m] = true
	p.err = err
}

func (p *pending) submitTo(ctx context.Context, m *member) error {
	if err := m.err(); err != nil {
		return err
	}
	j, err := p.group.onMember(ctx, p.job, m)
	if err != nil {
		return err
	}
	inner, err := m.device.Submit(ctx, j)
	if err != nil {
		return m.error(err)
	}
	p.m, p.inner = m, inner
	m.jobs.Add(1)
	m.waiting.Add(1)
	if p.failed != nil {
		m.moved.Add(1)
	}
	return nil
}

// Rank returns the member that runs the job of a Pending of a group.
func (p *pending) Rank() int { return p.m.rank }

// Wait waits for the job, and where its device fails and it may move, for another run on
// another device.
func (p *pending) Wait(ctx context.Context) error {
	if p.done {
		return p.err
	}
	err := p.wait(ctx)
	if !p.continues(ctx, err) {
		p.end(err, true)
	}
	return err
}

func (p *pending) wait(ctx context.Context) error {
	for {
		if p.inner == nil { // it moves
			if err := p.restart(ctx); err != nil {
				return err
			}
		}
		err := p.inner.Wait(ctx)
		if p.continues(ctx, err) {
			return err
		}
		if err = p.m.error(err); err == nil || !p.movable || !isOfDevice(err) {
			return err
		}
		p.reject(p.m, err)
		p.leave()
	}
}

// continues reports whether ctx ended a wait, and not the job.
func (p *pending) continues(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) && !p.expired()
}

func (p *pending) expired() bool { return !p.deadline.IsZero() && !time.Now().Before(p.deadline) }

// restart submits the job to another member.
func (p *pending) restart(ctx context.Context) error {
	if !p.deadline.IsZero() {
		limited, cancel := context.WithDeadline(ctx, p.deadline)
		defer cancel()
		ctx = limited
	}
	if p.stream != nil {
		return p.stream.move(ctx, p)
	}
	return p.start(ctx, nil)
}

// leave ends the use of the member.
func (p *pending) leave() {
	if p.inner != nil {
		p.inner.Release()
		p.m.waiting.Add(-1)
		p.inner = nil
	}
}

func (p *pending) Release() {
	if !p.done {
		p.end(job.ErrReleased, false)
	}
}

func (p *pending) end(err error, waited bool) {
	p.done, p.err = true, err
	p.leave()
	if p.stream != nil && waited {
		p.stream.end(p)
	}
}
