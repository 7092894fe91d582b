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
	p.deadline, _ = ctx.Deadline()
	if home == nil {
		home = want
	}
	if err := p.start(ctx, home); err != nil {
		return nil, err
	}
	return p, nil
}

// home returns the member that the buffers and textures of a job are on, or nil.
func (g *Group) home(j *job.Job) (*member, error) {
	for i := range j.Count() {
		d := j.At(i)
		if p, ok := d.Program.(*program); !ok || p.group != g {
			return nil, job.Foreign(d.Program)
		}
	}
	h := homing{group: g}
	err := j.Resolve(&h)
	return h.home, err
}

// homing finds the member that the objects of a job are on.
type homing struct {
	group *Group
	home  *member // nil: none yet
}

func (h *homing) Buffer(b *job.Bindable, written bool) error {
	switch of := (*b).(type) {
	case *placed:
		return h.on(of.m)
	case *Replica:
		if of.group == h.group && written {
			return fmt.Errorf("%w: it is a replica, and written: bind its Copy of one device, or mark it ReadOnly", job.ErrInvalid)
		}
		if of.group == h.group {
			return nil
		}
	case *Split:
		return fmt.Errorf("it is split: bind its parts: %w", ErrOtherMember)
	}
	return job.ErrInvalid
}

func (h *homing) Texture(t *job.Texture) error {
	of, ok := (*t).(*placedTexture)
	if !ok {
		return job.ErrInvalid
	}
	return h.on(of.m)
}

// on returns an error where an object on m cannot be bound beside those before.
func (h *homing) on(m *member) error {
	switch {
	case h.group.members[m.rank%len(h.group.members)] != m:
		return job.ErrInvalid
	case h.home != nil && h.home != m:
		return fmt.Errorf("it is on device %d, and others on %d: %w", m.rank, h.home.rank, ErrOtherMember)
	}
	h.home = m
	return nil
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

// onMember returns a job with the programs, buffers and textures of a member.
func (g *Group) onMember(ctx context.Context, j *job.Job, m *member) (*job.Job, error) {
	to := j.Clone()
	for i := range to.Count() {
		d := to.At(i)
		var err error
		if d.Program, err = d.Program.(*program).on(ctx, m.rank); err != nil {
			return nil, err
		}
	}
	if err := to.Resolve((*residing)(m)); err != nil {
		return nil, m.error(err)
	}
	return to, nil
}

// residing replaces the objects of a group by those of a member.
type residing member

func (m *residing) Buffer(b *job.Bindable, _ bool) error {
	switch of := (*b).(type) {
	case *placed:
		*b = of.Buffer
	case *Replica:
		there := of.on((*member)(m))
		if there == nil {
			return fmt.Errorf("%w: the replica has no copy there", job.ErrInvalid)
		}
		*b = there.Buffer
	}
	return nil
}

func (m *residing) Texture(t *job.Texture) error {
	*t = (*t).(*placedTexture).Texture
	return nil
}

// cloneJob returns a job that is independent of what the caller may reuse after Submit. It has no
// texture, which is on one member.
func cloneJob(j *job.Job) *job.Job {
	to := j.Clone()
	to.Inputs, to.Outputs = slices.Clone(j.Inputs), slices.Clone(j.Outputs)
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
	for i := range to.Counters {
		to.Counters[i].Start = slices.Clone(to.Counters[i].Start)
	}
	for i := range to.Count() {
		d := to.At(i)
		d.Uniforms, d.Params = slices.Clone(d.Uniforms), slices.Clone(d.Params)
		for k := range d.Uniforms {
			d.Uniforms[k] = d.Uniforms[k].Clone()
		}
		for k := range d.Blocks {
			d.Blocks[k].Data = slices.Clone(d.Blocks[k].Data)
		}
	}
	return to
}
