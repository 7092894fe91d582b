// Package probe finds out what a store can do, by asking it. Stores that speak the same
// protocol differ: nginx ignores If-Match where another server honours it, and a lost head
// would be the price of an assumption.
package probe

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/shadercache/shadercache/fleet"
)

// Store is a fleet.Backend that does not know what it can do. Put sends the conditions of its
// options in any case.
type Store interface {
	Connect(ctx context.Context) error
	Get(ctx context.Context, name string, first int64) (*fleet.Object, error)
	Put(ctx context.Context, name string, data io.ReadSeeker, o fleet.PutOptions) (tag string, err error)
	Delete(ctx context.Context, name string) error
	List(ctx context.Context, folder string) ([]fleet.Info, error)
	Close() error
}

// backend asks its store until that has answered once.
type backend struct {
	Store
	mu    sync.Mutex
	known *fleet.Abilities
}

// Backend makes a backend of a store.
func Backend(s Store) fleet.Backend { return &backend{Store: s} }

// Abilities returns what the store can do, from an earlier answer where there is one. It
// waits for a probe that is under way.
func (b *backend) Abilities(ctx context.Context) (fleet.Abilities, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known != nil {
		return *b.known, nil
	}
	found, err := ask(ctx, b.Store)
	if err != nil {
		return fleet.Abilities{}, fmt.Errorf("find out what the store can do: %w", err)
	}
	b.known = &found
	return found, nil
}

// Put writes an object. A condition is sent to a store that honours conditions; the first one
// finds out whether it does.
func (b *backend) Put(ctx context.Context, name string, data io.ReadSeeker, o fleet.PutOptions) (string, error) {
	if o.IfAbsent || o.IfTag != "" {
		can, err := b.Abilities(ctx)
		if err != nil {
			return "", err
		}
		if !can.CompareAndSwap {
			o.IfAbsent, o.IfTag = false, ""
		}
	}
	return b.Store.Put(ctx, name, data, o)
}

// ask writes an object of its own, and deletes it. A store that cannot do so now, such as a
// registry that deletes for another writer, keeps a few bytes: no push fails for that.
func ask(ctx context.Context, s Store) (fleet.Abilities, error) {
	var can fleet.Abilities
	name := fleet.ProbeFolder + rand.Text()
	swaps, err := comparesAndSwaps(ctx, s, name)
	if err != nil {
		return can, err
	}
	can.CompareAndSwap = swaps
	found, err := s.List(ctx, fleet.ProbeFolder)
	if can.List, err = able(err); err != nil {
		return can, err
	}
	can.List = slices.ContainsFunc(found, func(o fleet.Info) bool { return o.Name == name })
	can.Delete = s.Delete(ctx, name) == nil
	return can, nil
}

// able reports whether an operation worked; that it cannot work is no error.
func able(err error) (bool, error) {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fleet.ErrDenied) || errors.Is(err, fleet.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// comparesAndSwaps reports whether the store refuses each write whose condition does not
// hold, and accepts the one whose condition holds. Afterwards the object exists.
func comparesAndSwaps(ctx context.Context, s Store, name string) (bool, error) {
	tag, err := put(ctx, s, name, fleet.PutOptions{IfAbsent: true})
	if written := tagOf(ctx, s, name, err); written != "" {
		tag, err = written, nil
	}
	if err != nil {
		if !conditionRefused(err) {
			return false, err
		}
		_, err := put(ctx, s, name, fleet.PutOptions{}) // the store has no conditions at all
		return false, err
	}
	for _, wrong := range []fleet.PutOptions{{IfAbsent: true}, {IfTag: `"another"`}} {
		_, err := put(ctx, s, name, wrong)
		switch {
		case err == nil || errors.Is(err, errors.ErrUnsupported):
			return false, nil
		case !errors.Is(err, fleet.ErrChanged):
			return false, err
		}
	}
	if tag == "" { // the next writer would not see the version of this one
		return false, nil
	}
	_, err = put(ctx, s, name, fleet.PutOptions{IfTag: tag})
	if written := tagOf(ctx, s, name, err); written != "" && written != tag {
		_, err = put(ctx, s, name, fleet.PutOptions{IfTag: written})
	}
	if conditionRefused(err) { // such as a weak tag, which matches nothing
		return false, nil
	}
	return err == nil, err
}

// tagOf returns the tag of what a write left that was refused, and "" after others: where the answer of the
// first was lost, and the store was asked twice, that is what was written. Nobody else knows the name.
func tagOf(ctx context.Context, s Store, name string, refused error) string {
	if !errors.Is(refused, fleet.ErrChanged) {
		return ""
	}
	o, err := s.Get(ctx, name, 0)
	if err != nil {
		return ""
	}
	_ = o.Body.Close()
	return o.Tag
}

func conditionRefused(err error) bool {
	return errors.Is(err, fleet.ErrChanged) || errors.Is(err, errors.ErrUnsupported)
}

func put(ctx context.Context, s Store, name string, o fleet.PutOptions) (string, error) {
	data := bytes.NewReader([]byte("shadercache asks what this store can do\n"))
	o.Size = data.Size()
	return s.Put(ctx, name, data, o)
}
