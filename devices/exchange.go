package devices

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/job"
)

// Link is what one member gives another in each exchange.
type Link struct {
	From, To int // ranks, which may be equal
	Bytes    int // a multiple of 4
}

// Place is a part of a buffer of an [Exchange].
type Place struct{ Offset, Bytes int }

// Exchange is memory through which members give bytes to each other, all of them in one
// call. Each member has two buffers to write to and two to read from, one of each for odd
// and for even phases, so that the bytes of a phase are read while those of the next are
// written:
//
//	jobs of phase n     read In(rank, n), and write Out(rank, n+1)
//	Swap(ctx, n+1)      copies every Out(from, n+1) to In(to, n+1)
//	jobs of phase n+1   read In(rank, n+1), ...
//
// A member of this process uses mapped memory in place: kernels write the host's through the
// bus, and Swap copies it to that of the GPU that reads it, where the driver has such. A member
// of a server copies up and down. Release frees the memory. Swap belongs to one goroutine at a time.
type Exchange struct {
	group    *Group
	links    []Link
	out, in  []Place // of each link
	phases   [2]phaseBuffers
	released atomic.Bool
}

// phaseBuffers are the buffers of a phase, by rank; nil where a member has no link.
type phaseBuffers struct{ out, in []*exchangeBuffer }

// exchangeBuffer is a buffer of a member, and where the host has it.
type exchangeBuffer struct {
	placed
	mapping []byte
	copied  bool // mapping is a copy of the buffer
}

// linkAlign is the alignment of a link in a buffer: any device's of storage offsets.
const linkAlign = 256

// NewExchange makes the memory of links, once the members are open.
func (g *Group) NewExchange(ctx context.Context, links ...Link) (*Exchange, error) {
	x := &Exchange{group: g, links: slices.Clone(links)}
	outBytes, inBytes := make([]int, g.Len()), make([]int, g.Len())
	for i, l := range links {
		if min(l.From, l.To) < 0 || max(l.From, l.To) >= g.Len() || l.Bytes <= 0 || l.Bytes%4 != 0 {
			return nil, fmt.Errorf("%w: link %d, from device %d to %d with %d bytes: there are %d devices, and bytes are a multiple of 4",
				job.ErrInvalid, i, l.From, l.To, l.Bytes, g.Len())
		}
		x.out, outBytes[l.From] = appendPlace(x.out, outBytes[l.From], l.Bytes)
		x.in, inBytes[l.To] = appendPlace(x.in, inBytes[l.To], l.Bytes)
	}
	for i := range x.phases {
		p := &x.phases[i]
		p.out, p.in = make([]*exchangeBuffer, g.Len()), make([]*exchangeBuffer, g.Len())
		for rank, m := range g.members {
			err := x.newBuffer(ctx, m, &p.out[rank], outBytes[rank], false)
			if err == nil {
				err = x.newBuffer(ctx, m, &p.in[rank], inBytes[rank], true)
			}
			if err != nil {
				x.Release()
				return nil, err
			}
		}
	}
	return x, nil
}

// appendPlace appends the place of a link behind used bytes.
func appendPlace(list []Place, used, n int) ([]Place, int) {
	return append(list, Place{used, n}), (used + n + linkAlign - 1) / linkAlign * linkAlign
}

// newBuffer makes a buffer of size bytes, or none for 0. written reports whether the host
// writes it, else kernels do.
func (x *Exchange) newBuffer(ctx context.Context, m *member, to **exchangeBuffer, size int, written bool) error {
	if size == 0 {
		return nil
	}
	device, err := m.await(ctx)
	if err != nil {
		return err
	}
	b := &exchangeBuffer{placed: placed{m: m, held: int64(size)}}
	if own, ok := device.(interface {
		NewMapped(size int, written bool) (job.Buffer, []byte, error)
	}); ok {
		b.Buffer, b.mapping, err = own.NewMapped(size, written)
	} else {
		b.Buffer, err = device.NewBuffer(ctx, size)
		b.mapping, b.copied = make([]byte, size), true
	}
	if err != nil {
		return m.error(err)
	}
	m.bytes.Add(int64(size))
	*to = b
	return nil
}

// Out returns the buffer that jobs of a member write for a phase, or nil where the member
// has no link to another. OutPlace has the place of each link.
func (x *Exchange) Out(rank, phase int) job.Buffer {
	return asBuffer(x.phases[phase&1].out[rank])
}

// In returns the buffer that jobs of a member read in a phase, or nil where there is no
// link to it.
func (x *Exchange) In(rank, phase int) job.Buffer {
	return asBuffer(x.phases[phase&1].in[rank])
}

func asBuffer(b *exchangeBuffer) job.Buffer {
	if b == nil {
		return nil
	}
	return &b.placed
}

// OutPlace and InPlace return where a link is in the buffers of its ends.
func (x *Exchange) OutPlace(link int) Place { return x.out[link] }

// InPlace returns where a link is in the buffer of the member that reads it.
func (x *Exchange) InPlace(link int) Place { return x.in[link] }

// Swap gives every member what its neighbours wrote for a phase, all links side by side.
// The jobs that write it must have been waited for, and those that read the phase before
// the last; jobs that read it are submitted afterwards. It returns the error of a member
// that is lost; what the others got is undefined then.
func (x *Exchange) Swap(ctx context.Context, phase int) error {
	if x.released.Load() {
		return job.ErrReleased
	}
	for _, m := range x.group.members {
		if m.isReady() && m.err() != nil && x.uses(m) {
			return m.err()
		}
	}
	p := &x.phases[phase&1]
	if err := x.forCopied(p.out, func(b *exchangeBuffer) error {
		_, err := b.Read(ctx, 0, b.mapping)
		return err
	}); err != nil {
		return err
	}
	x.copyLinks(p)
	return x.forCopied(p.in, func(b *exchangeBuffer) error {
		_, err := b.Write(ctx, 0, b.mapping)
		return err
	})
}

// uses reports whether a member has a link.
func (x *Exchange) uses(m *member) bool {
	return slices.ContainsFunc(x.links, func(l Link) bool { return l.From == m.rank || l.To == m.rank })
}

// forCopied calls fn, side by side, for the buffers that the host has a copy of.
func (x *Exchange) forCopied(list []*exchangeBuffer, fn func(*exchangeBuffer) error) (err error) {
	var group errgroup.Group
	for _, b := range list {
		if b != nil && b.copied {
			group.Go(func() error { return fn(b) })
		}
	}
	x.group.PollWhile(func() { err = group.Wait() })
	return err
}

// pieceBytes is the part of a link that one goroutine copies: about 20 us, some times what
// it takes to start one.
const pieceBytes = 256 << 10

// copyLinks copies all links. Large ones are copied in pieces, side by side.
func (x *Exchange) copyLinks(p *phaseBuffers) {
	type piece struct{ to, from []byte }
	var pieces []piece
	for i, l := range x.links {
		from, to := x.out[i], x.in[i]
		for at := 0; at < l.Bytes; at += pieceBytes {
			n := min(pieceBytes, l.Bytes-at)
			pieces = append(pieces, piece{
				p.in[l.To].mapping[to.Offset+at:][:n],
				p.out[l.From].mapping[from.Offset+at:][:n],
			})
		}
	}
	if len(pieces) == 0 {
		return
	}
	var others sync.WaitGroup
	for _, each := range pieces[1:] {
		others.Go(func() { copy(each.to, each.from) })
	}
	copy(pieces[0].to, pieces[0].from)
	others.Wait()
}

// Release frees the memory once no job uses it. It may be called again.
func (x *Exchange) Release() {
	if x.released.Swap(true) {
		return
	}
	for i := range x.phases {
		for _, list := range [][]*exchangeBuffer{x.phases[i].out, x.phases[i].in} {
			for _, b := range list {
				if b != nil {
					b.placed.Release()
				}
			}
		}
	}
}
