package fleet

import (
	"context"
	"fmt"
	"io"
	"time"

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

// readHead fetches the head of a driver, for those that use its packs. It returns an error
// that matches ErrNotFound where there is none.
func (r *Remote) readHead(ctx context.Context, of shader.Digest) (*fetched, error) {
	f, err := r.readOldHead(ctx, of)
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
	small, err := r.readSmall(ctx, headName(of), maxHeadBytes)
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

// readSmall reads an object of at most limit bytes. Of one that it refuses it returns the tag.
func (r *Remote) readSmall(ctx context.Context, name string, limit int64) (small, error) {
	object, err := r.backend.Get(ctx, name, 0)
	if err != nil {
		return small{}, err
	}
	defer object.Body.Close()
	if object.Size > limit {
		return small{tag: object.Tag, clock: object.Clock}, refuse(classDamaged, "%s has %d bytes, and at most %d are possible", name, object.Size, limit)
	}
	data, err := io.ReadAll(io.LimitReader(object.Body, limit+1))
	switch {
	case err != nil:
		return small{}, fmt.Errorf("%w: %s ended early: %w", ErrUnreachable, name, err)
	case int64(len(data)) > limit:
		return small{tag: object.Tag, clock: object.Clock}, refuse(classDamaged, "%s has more than %d bytes", name, limit)
	case object.Size >= 0 && int64(len(data)) != object.Size:
		return small{}, fmt.Errorf("%w: %s ended after %d of %d bytes", ErrUnreachable, name, len(data), object.Size)
	}
	return small{data, object.Tag, object.Clock}, nil
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

// parallelPacks is the number of packs that a pull requests at once: with 40 ms a request,
// ten packs one after the other would take 400 ms.
const parallelPacks = 4

// openedPack is the result of opening a pack.
type openedPack[Body io.Closer] struct {
	body Body
	err  error
}

// openPacks opens packs ahead of their use, a few at a time, and passes them to use in
// their order, or why one did not open. use does not close the body.
func openPacks[Body io.Closer](ctx context.Context, packs []Pack, open func(context.Context, Pack) (Body, error), use func(Pack, Body, error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opened := make([]chan openedPack[Body], len(packs))
	free := make(chan struct{}, parallelPacks)
	for i := range packs {
		opened[i] = make(chan openedPack[Body], 1)
	}
	go func() {
		for i, p := range packs {
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
				opened[i] <- openedPack[Body]{err: ctx.Err()}
				continue
			}
			go func() {
				body, err := open(ctx, p)
				opened[i] <- openedPack[Body]{body, err}
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
		select {
		case <-free:
		default:
		}
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
