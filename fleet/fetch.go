package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/shadercache/shadercache/shader"
)

// fetched is a head as the store has it.
type fetched struct {
	*Head
	signer  string   // the name of the key; "" = none that is known
	keys    *KeyList // that a known root key has signed; nil = there is none
	tag     string
	object  []byte        // as stored
	content shader.Digest // of the signed bytes
	clock   time.Time     // of the store; zero = unknown
}

func (f *fetched) signed() bool { return f.signer != "" }

// readHead fetches the head of a driver, which the store may have listed, for those that use its
// packs. It returns an error that matches ErrNotFound where there is none.
func (r *Remote) readHead(ctx context.Context, of shader.Digest, listed bool) (*fetched, error) {
	read := r.readSmall
	if listed {
		read = r.readListed
	}
	f, err := r.fetchHead(ctx, of, read)
	if err != nil {
		return nil, err
	}
	if err := f.checkEnd(r.now()); err != nil {
		return nil, fmt.Errorf("head of driver %s: %w", of.Short(), err)
	}
	return f, nil
}

// readOldHead is readHead for those that write the next one, or look: it may have ended.
func (r *Remote) readOldHead(ctx context.Context, of shader.Digest) (*fetched, error) {
	return r.fetchHead(ctx, of, r.readListed)
}

func (r *Remote) fetchHead(ctx context.Context, of shader.Digest, read func(context.Context, string, int64) (small, error)) (*fetched, error) {
	small, err := read(ctx, headName(of), maxHeadBytes)
	var f *fetched
	if err == nil {
		f, err = r.openHead(small, of, r.state.driver(of))
	}
	if err != nil {
		return nil, fmt.Errorf("head of driver %s: %w", of.Short(), err)
	}
	return f, nil
}

// small is an object that was read at once.
type small struct {
	data  []byte
	tag   string
	clock time.Time
}

// readSmall reads an object of at most limit bytes. With an error it returns the tag, where there
// was an answer.
func (r *Remote) readSmall(ctx context.Context, name string, limit int64) (small, error) {
	object, err := r.backend.Get(ctx, name, 0)
	if err != nil {
		return small{}, err
	}
	defer object.Body.Close()
	read := small{tag: object.Tag, clock: object.Clock}
	if object.Size > limit {
		return read, refuse(classDamaged, "%s has %d bytes, and at most %d are possible", name, object.Size, limit)
	}
	data, err := io.ReadAll(io.LimitReader(object.Body, limit+1))
	switch {
	case err != nil:
		return read, fmt.Errorf("%w: %s ended early: %w", ErrUnreachable, name, err)
	case int64(len(data)) > limit:
		return read, refuse(classDamaged, "%s has more than %d bytes", name, limit)
	case object.Size >= 0 && int64(len(data)) != object.Size:
		return read, fmt.Errorf("%w: %s ended after %d of %d bytes", ErrUnreachable, name, len(data), object.Size)
	}
	read.data = data
	return read, nil
}

// readListed is readSmall for what a store has listed, or a writer is about to replace: that it is not
// there may be the store's fault, once, and would cost all packs of the fleet.
func (r *Remote) readListed(ctx context.Context, name string, limit int64) (small, error) {
	object, err := r.readSmall(ctx, name, limit)
	if errors.Is(err, ErrNotFound) {
		object, err = r.readSmall(ctx, name, limit)
	}
	return object, err
}

// openPack opens a pack of a head.
func (r *Remote) openPack(ctx context.Context, of shader.Digest, p Pack) (io.ReadCloser, error) {
	object, err := r.backend.Get(ctx, packName(of, p.SHA256), 0)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", p.SHA256.Short(), err)
	}
	if object.Size >= 0 && object.Size != p.Size {
		_ = object.Body.Close()
		return nil, refuse(classDamaged, "pack %s has %d bytes, and %d in the head", p.SHA256.Short(), object.Size, p.Size)
	}
	return object.Body, nil
}

// parallelPacks is the most packs that are requested at once: with 40 ms a request, ten packs one
// after the other would take 400 ms. A store closes what is not read for long, such as nginx after a
// minute, so packs that have more than aheadBytes together are not.
const (
	parallelPacks = 4
	aheadBytes    = 1 << 20
)

// openedPack is the result of opening a pack.
type openedPack[Body io.Closer] struct {
	body   Body
	err    error
	weight int64 // that it has of aheadBytes
}

// openPacks opens packs ahead of their use, a few at a time, and passes them to use in
// their order, or why one did not open. use does not close the body.
func openPacks[Body io.Closer](ctx context.Context, packs []Pack, open func(context.Context, Pack) (Body, error), use func(Pack, Body, error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opened := make([]chan openedPack[Body], len(packs))
	room := semaphore.NewWeighted(aheadBytes)
	for i := range packs {
		opened[i] = make(chan openedPack[Body], 1)
	}
	go func() {
		for i, p := range packs {
			weight := min(max(p.Size, aheadBytes/parallelPacks), aheadBytes)
			if err := room.Acquire(ctx, weight); err != nil {
				opened[i] <- openedPack[Body]{err: err}
				continue
			}
			go func() {
				body, err := open(ctx, p)
				opened[i] <- openedPack[Body]{body, err, weight}
			}()
		}
	}()
	for i, p := range packs {
		o := <-opened[i]
		err := use(p, o.body, o.err)
		if err != nil {
			cancel()
		}
		if o.err == nil {
			_ = o.body.Close()
		}
		room.Release(o.weight)
		if err != nil {
			go closeRest(opened[i+1:])
			return err
		}
	}
	return nil
}

// closeRest closes the packs that are not used.
func closeRest[Body io.Closer](opened []chan openedPack[Body]) {
	for _, o := range opened {
		if p := <-o; p.err == nil {
			_ = p.body.Close()
		}
	}
}
