package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// A store that is silent, sends a byte a second, or has another head after each one would
// hold a command for ever. So a command waits for its store for Options.Patience in all.
// Each answer and each byte adds to what is left, up to that limit.
const (
	defaultPatience = 30 * time.Second
	answerTime      = 250 * time.Millisecond // for an answer: their number is bounded
	slowestTransfer = 16 << 10               // bytes a second

	maxDrivers = 1000 // in a listing: a fleet has tens
)

// patience is what is left of the time of one command. It runs while a call waits for the
// store, and not while the command works.
type patience struct {
	ctx   context.Context // of the command
	end   context.CancelCauseFunc
	limit time.Duration

	mu      sync.Mutex
	left    time.Duration
	waiting int       // calls
	since   time.Time // when left was right
	timer   *time.Timer
	answers int
	bytes   int64
}

type patienceKey struct{}

// patient returns a context for one command, which ends with the patience. Without it the
// calls of a bounded backend have the limits of their own context only.
func (r *Remote) patient(ctx context.Context) (context.Context, func()) {
	p := &patience{limit: r.options.Patience, left: r.options.Patience}
	p.ctx, p.end = context.WithCancelCause(ctx)
	return context.WithValue(p.ctx, patienceKey{}, p), func() { p.end(nil) }
}

// during calls do, which waits for the store.
func during[T any](ctx context.Context, do func() (T, error)) (T, error) {
	p, _ := ctx.Value(patienceKey{}).(*patience)
	if p == nil {
		return do()
	}
	p.begin()
	value, err := do()
	p.stop()
	Answered(ctx)
	return value, p.meaning(err)
}

func (p *patience) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting++; p.waiting == 1 {
		p.since = time.Now()
		p.timer = time.AfterFunc(p.left, p.expire)
	}
}

func (p *patience) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
	p.left -= time.Since(p.since)
	p.since = time.Now()
	if p.waiting == 0 {
		p.timer.Stop()
	}
}

// add adds time for answers and bytes that arrived, or were sent.
func (p *patience) add(more time.Duration, answers int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers += answers
	p.bytes += bytes
	if p.waiting > 0 {
		p.left -= time.Since(p.since)
		p.since = time.Now()
	}
	p.left = min(p.left+more, p.limit)
	if p.waiting > 0 {
		p.timer.Reset(p.left)
	}
}

// Answered adds the time of an answer to what a command's store has left. A backend calls it for each
// of the answers that a listing takes.
func Answered(ctx context.Context) {
	if p, ok := ctx.Value(patienceKey{}).(*patience); ok {
		p.add(answerTime, 1, 0)
	}
}

func (p *patience) transferred(n int) {
	p.add(time.Duration(n)*time.Second/slowestTransfer, 0, int64(n))
}

func (p *patience) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(fmt.Errorf("%w: too slow: it was waited for %v, for %d answers and %d bytes of objects (hint: is it the right URL?)", ErrUnreachable, p.limit, p.answers, p.bytes))
}

// meaning returns the error of a call that the end of the patience ended.
func (p *patience) meaning(err error) error {
	if cause := context.Cause(p.ctx); err != nil && err != io.EOF && errors.Is(cause, ErrUnreachable) {
		return cause
	}
	return err
}

// bounded is a backend whose calls end with the patience of their command.
type bounded struct{ Backend }

func (b bounded) Get(ctx context.Context, name string, first int64) (*Object, error) {
	o, err := during(ctx, func() (*Object, error) { return b.Backend.Get(ctx, name, first) })
	if p, ok := ctx.Value(patienceKey{}).(*patience); ok && err == nil {
		changed := *o
		changed.Body = &boundedBody{o.Body, p}
		return &changed, nil
	}
	return o, err
}

func (b bounded) Put(ctx context.Context, name string, data io.ReadSeeker, o PutOptions) (string, error) {
	if p, ok := ctx.Value(patienceKey{}).(*patience); ok {
		data = &boundedData{data, p}
	}
	return during(ctx, func() (string, error) { return b.Backend.Put(ctx, name, data, o) })
}

func (b bounded) Delete(ctx context.Context, name string) error {
	_, err := during(ctx, func() (struct{}, error) { return struct{}{}, b.Backend.Delete(ctx, name) })
	return err
}

func (b bounded) Abilities(ctx context.Context) (Abilities, error) {
	return during(ctx, func() (Abilities, error) { return b.Backend.Abilities(ctx) })
}

func (b bounded) List(ctx context.Context, folder string) ([]Info, error) {
	infos, err := during(ctx, func() ([]Info, error) { return b.Backend.List(ctx, folder) })
	drivers := map[shader.Digest]bool{}
	for _, info := range infos {
		if of, _, ok := parseName(info.Name); ok {
			drivers[of] = true
		}
	}
	if err == nil && len(drivers) > maxDrivers {
		return nil, fmt.Errorf("%w: a listing of %d drivers, and at most %d are possible", ErrProtocol, len(drivers), maxDrivers)
	}
	return infos, err
}

// boundedBody is a body that is read in the time of the patience.
type boundedBody struct {
	io.ReadCloser
	p *patience
}

func (b *boundedBody) Read(data []byte) (int, error) {
	b.p.begin()
	n, err := b.ReadCloser.Read(data)
	b.p.stop()
	b.p.transferred(n)
	return n, b.p.meaning(err)
}

// boundedData is what a Put sends: the store takes it.
type boundedData struct {
	io.ReadSeeker
	p *patience
}

func (d *boundedData) Read(data []byte) (int, error) {
	n, err := d.ReadSeeker.Read(data)
	d.p.transferred(n)
	return n, err
}
