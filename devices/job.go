package devices

import (
	"context"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/job"
)

// Submit starts a job on one member: see the package documentation. Otherwise it is like
// Submit of every shadercache.Device.
func (g *Group) Submit(ctx context.Context, j *job.Job) (job.Pending, error) {
	p, err := g.submit(ctx, j, nil)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Run submits a job and waits for it.
func (g *Group) Run(ctx context.Context, j *job.Job) error {
	pending, err := g.Submit(ctx, j)
	return job.Wait(ctx, pending, err)
}

// submit starts a job on the member that its buffers are on, else on want, else on the
// member that choose returns.
func (g *Group) submit(ctx context.Context, j *job.Job, want *member) (*pending, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	home, err := g.home(j)
	if err != nil {
		return nil, err
	}
	if home != nil && want != nil && home != want {
		return nil, fmt.Errorf("devices: the stream runs on device %d, and its buffers are on device %d: %w", want.rank, home.rank, ErrOtherMember)
	}
	p := &pending{group: g, movable: home == nil && g.options.MoveJobs}
	if p.movable {
		j = cloneJob(j)
	}
	p.job = j
	p.deadline, p.hasDeadline = ctx.Deadline()
	if home == nil {
		home = want
	}
	if err := p.start(ctx, home); err != nil {
		return nil, err
	}
	return p, nil
}

// home returns the member that the buffers of a job are on, or nil.
func (g *Group) home(j *job.Job) (home *member, err error) {
	for i := range j.Count() {
		d := j.At(i)
		if p, ok := d.Program.(*program); !ok || p.group != g {
			return nil, job.Foreign(d.Program)
		}
		for _, b := range d.Buffers {
			m, err := g.memberOf(&b)
			if err != nil {
				return nil, err
			}
			if m != nil && home != nil && m != home {
				return nil, fmt.Errorf("devices: a job has buffers on device %d and %d: %w", home.rank, m.rank, ErrOtherMember)
			}
			if m != nil {
				home = m
			}
		}
	}
	return home, nil
}

// memberOf returns the member of a buffer, or nil for a replica.
func (g *Group) memberOf(b *job.Bound) (*member, error) {
	switch of := b.Buffer.(type) {
	case *placed:
		if g.members[of.m.rank%len(g.members)] == of.m {
			return of.m, nil
		}
	case *Replica:
		if of.group == g && !b.ReadOnly {
			return nil, fmt.Errorf("%w: binding %d writes a replica: bind its Copy of one device, or mark it ReadOnly", job.ErrInvalid, b.Binding)
		}
		if of.group == g {
			return nil, nil
		}
	case *Split:
		return nil, fmt.Errorf("devices: binding %d has a split buffer: bind its parts: %w", b.Binding, ErrOtherMember)
	}
	return nil, job.ForeignBuffer(b.Binding)
}

// choose returns the member that has the fewest jobs to finish, among those that have the
// programs of a job; where none has them yet, among all. failed is left out.
func (g *Group) choose(j *job.Job, failed map[*member]bool) (*member, error) {
	first := int(g.next.Add(1))
	var best *member
	var bestQueued int
	var bestHas bool
	for i := range g.members {
		m := g.members[(first+i)%len(g.members)]
		if !m.usable() || failed[m] {
			continue
		}
		has, err := g.hasPrograms(j, m)
		if err != nil {
			continue
		}
		queued := m.queued()
		if best == nil || has && !bestHas || has == bestHas && queued < bestQueued {
			best, bestQueued, bestHas = m, queued, has
		}
	}
	if best == nil {
		return nil, g.unusable()
	}
	return best, nil
}

// hasPrograms reports whether a member has all programs of a job now. It returns an error
// where it never will.
func (g *Group) hasPrograms(j *job.Job, m *member) (bool, error) {
	all := true
	for i := range j.Count() {
		d := j.At(i)
		has, err := d.Program.(*program).has(m.rank)
		if err != nil {
			return false, err
		}
		all = all && has
	}
	return all, nil
}

// onMember returns a job with the programs and buffers of a member.
func (g *Group) onMember(ctx context.Context, j *job.Job, m *member) (*job.Job, error) {
	to := &job.Job{Inputs: j.Inputs, Outputs: j.Outputs}
	if len(j.Then) > 0 {
		to.Then = make([]job.Dispatch, len(j.Then))
	}
	if err := onMember(ctx, &j.Dispatch, &to.Dispatch, m); err != nil {
		return nil, err
	}
	for i := range j.Then {
		if err := onMember(ctx, &j.Then[i], &to.Then[i], m); err != nil {
			return nil, err
		}
	}
	return to, nil
}

func onMember(ctx context.Context, from, to *job.Dispatch, m *member) (err error) {
	*to = *from
	if to.Program, err = from.Program.(*program).on(ctx, m.rank); err != nil {
		return err
	}
	if len(from.Buffers) == 0 {
		return nil
	}
	to.Buffers = slices.Clone(from.Buffers)
	for i := range to.Buffers {
		b := &to.Buffers[i]
		switch of := b.Buffer.(type) {
		case *placed:
			b.Buffer = of.Buffer
		case *Replica:
			there := of.on(m)
			if there == nil {
				return m.error(fmt.Errorf("%w: the replica at binding %d has no copy there", job.ErrInvalid, b.Binding))
			}
			b.Buffer = there.Buffer
		}
	}
	return nil
}

// cloneJob returns a job that is independent of what the caller may reuse after Submit.
func cloneJob(j *job.Job) *job.Job {
	to := *j
	to.Then, to.Inputs, to.Outputs = slices.Clone(j.Then), slices.Clone(j.Inputs), slices.Clone(j.Outputs)
	for i := range to.Inputs {
		in := &to.Inputs[i]
		if in.Fill != nil && in.Data == nil && in.Size > 0 {
			in.Data = make([]byte, in.Size)
			in.Fill(in.Data)
			in.Fill, in.Size = nil, 0
		} else {
			in.Data = slices.Clone(in.Data)
		}
	}
	for i := range to.Count() {
		d := to.At(i)
		d.Buffers, d.Uniforms, d.Params = slices.Clone(d.Buffers), slices.Clone(d.Uniforms), slices.Clone(d.Params)
	}
	return &to
}
