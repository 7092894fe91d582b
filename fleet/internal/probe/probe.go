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

// Store are the methods of a store that a probe calls. Put sends the conditions of its
// options in any case.
type Store struct {
	Put    func(ctx context.Context, name string, data io.ReadSeeker, o fleet.PutOptions) (string, error)
	List   func(ctx context.Context, folder string) ([]fleet.Info, error)
	Delete func(ctx context.Context, name string) error
}

// Folder has the objects that probes write and delete.
const Folder = "v1/probe/"

// Once asks a store until it has answered once. Its zero value is ready.
type Once struct {
	mu    sync.Mutex
	known *fleet.Abilities
}

// Abilities returns what the store can do, from an earlier answer where there is one. It
// waits for a probe that is under way.
func (o *Once) Abilities(ctx context.Context, s Store) (fleet.Abilities, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known != nil {
		return *o.known, nil
	}
	found, err := ask(ctx, s)
	if err != nil {
		return fleet.Abilities{}, fmt.Errorf("find out what the store can do: %w", err)
	}
	o.known = &found
	return found, nil
}

// Put writes an object. A condition is sent to a store that honours conditions; the first one
// finds out whether it does.
func (o *Once) Put(ctx context.Context, s Store, name string, data io.ReadSeeker, po fleet.PutOptions) (string, error) {
	if po.IfAbsent || po.IfTag != "" {
		can, err := o.Abilities(ctx, s)
		if err != nil {
			return "", err
		}
		if !can.CompareAndSwap {
			po.IfAbsent, po.IfTag = false, ""
		}
	}
	return s.Put(ctx, name, data, po)
}

// ask writes an object of its own, and deletes it. A store that cannot do so now, such as a
// registry that deletes for another writer, keeps a few bytes: no push fails for that.
func ask(ctx context.Context, s Store) (fleet.Abilities, error) {
	var can fleet.Abilities
	name := Folder + rand.Text()
	swaps, err := comparesAndSwaps(ctx, s, name)
	if err != nil {
		return can, err
	}
	can.CompareAndSwap = swaps
	found, err := s.List(ctx, Folder)
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
	if conditionRefused(err) { // such as a weak tag, which matches nothing
		return false, nil
	}
	return err == nil, err
}

func conditionRefused(err error) bool {
	return errors.Is(err, fleet.ErrChanged) || errors.Is(err, errors.ErrUnsupported)
}

func put(ctx context.Context, s Store, name string, o fleet.PutOptions) (string, error) {
	data := bytes.NewReader([]byte("shadercache asks what this store can do\n"))
	o.Size = data.Size()
	return s.Put(ctx, name, data, o)
}
