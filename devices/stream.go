package devices

import (
	"context"
	"slices"

	"github.com/shadercache/shadercache/internal/rwlock"
	"github.com/shadercache/shadercache/job"
)

// Stream runs jobs one after the other, in the order of Submit, while those of other
// streams run on other members. Its jobs run on one member as long as one of them was not
// waited for; then the next may run on another. A job that was released and not waited for
// keeps the stream there. A stream needs no Close. Its methods may be called from any
// goroutine; the order of calls that overlap is any.
type Stream struct {
	group *Group

	mu struct {
		*rwlock.RWMutex // held while a job starts too

		on    *member    // of the queue
		queue []*pending // jobs that were not waited for, the oldest first
	}
}

// Stream returns a new stream.
func (g *Group) Stream() *Stream {
	s := &Stream{group: g}
	s.mu.RWMutex = rwlock.New(g.PollWhile)
	return s
}

// Submit starts a job behind those of the stream: see Group.Submit. Where the member of
// the earlier ones is lost, they have to be waited for first: until then it returns the
// error of the member. With Options.MoveJobs those move, if they are waited for in order; a
// job without memory moves where no later one was submitted.
func (s *Stream) Submit(ctx context.Context, j *job.Job) (job.Pending, error) {
	if err := s.mu.Lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if len(s.mu.queue) == 0 {
		s.mu.on = nil
	}
	p, err := s.group.submit(ctx, j, s.mu.on)
	if err != nil {
		return nil, err
	}
	s.mu.on, p.stream = p.m, s
	s.mu.queue = append(s.mu.queue, p)
	return p, nil
}

// Run submits a job and waits for it.
func (s *Stream) Run(ctx context.Context, j *job.Job) error {
	pending, err := s.Submit(ctx, j)
	return job.Wait(ctx, pending, err)
}

// move submits a job to another member, unless that changes the order: then it returns why the job
// has to move.
func (s *Stream) move(ctx context.Context, p *pending) error {
	if err := s.mu.Lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.mu.queue[0] != p || !isLost(p.err) && len(s.mu.queue) > 1 {
		return p.err
	}
	err := p.start(ctx, nil)
	if len(s.mu.queue) == 1 {
		s.mu.on = p.m
	}
	return err
}

// end removes a job that was waited for.
func (s *Stream) end(p *pending) {
	_ = s.mu.Lock(context.Background()) // which has no error
	defer s.mu.Unlock()
	s.mu.queue = slices.DeleteFunc(s.mu.queue, func(other *pending) bool { return other == p })
}
