package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// fake is a store that honours what its fields say.
type fake struct {
	Store // the methods that a probe does not call

	ifAbsent, ifTag, neverIfTag bool
	noTags, noIndex, noDelete   bool
	deleteFails                 bool // with an error that another time has not
	noConditions                bool // refuses any
	fails                       error
	twice                       int // number of the put that is done twice: its first answer is lost

	objects map[string]int
	puts    int
}

func (f *fake) Put(_ context.Context, name string, _ io.ReadSeeker, o fleet.PutOptions) (string, error) {
	version, exists := f.objects[name]
	f.puts++
	switch {
	case f.fails != nil:
		return "", f.fails
	case f.noConditions && (o.IfAbsent || o.IfTag != ""):
		return "", fmt.Errorf("%w: %w", fleet.ErrProtocol, errors.ErrUnsupported)
	case f.ifAbsent && o.IfAbsent && exists,
		f.ifTag && o.IfTag != "" && (f.neverIfTag || o.IfTag != fmt.Sprint(version)):
		return "", fleet.ErrChanged
	}
	f.objects[name] = version + 1
	if f.puts == f.twice {
		return "", fleet.ErrChanged
	}
	if f.noTags {
		return "", nil
	}
	return fmt.Sprint(version + 1), nil
}

func (f *fake) Get(_ context.Context, name string, _ int64) (*fleet.Object, error) {
	version, exists := f.objects[name]
	if !exists {
		return nil, fleet.ErrNotFound
	}
	return &fleet.Object{Body: io.NopCloser(strings.NewReader("")), Tag: fmt.Sprint(version)}, nil
}

func (f *fake) List(_ context.Context, folder string) (found []fleet.Info, err error) {
	if f.noIndex { // an empty page is not an index
		return nil, nil
	}
	for name := range f.objects {
		found = append(found, fleet.Info{Name: name})
	}
	return found, nil
}

func (f *fake) Delete(_ context.Context, name string) error {
	switch {
	case f.noDelete:
		return errors.ErrUnsupported
	case f.deleteFails:
		return fleet.ErrUnreachable
	}
	delete(f.objects, name)
	return nil
}

func TestAbilitiesAreNotAssumed(t *testing.T) {
	all := fleet.Abilities{CompareAndSwap: true, List: true, Delete: true}
	noSwap := fleet.Abilities{List: true, Delete: true}
	for _, c := range []struct {
		name  string
		store fake
		want  fleet.Abilities
	}{
		{"all", fake{ifAbsent: true, ifTag: true}, all},
		{"all, the first write twice", fake{ifAbsent: true, ifTag: true, twice: 1}, all},
		{"all, the last write twice", fake{ifAbsent: true, ifTag: true, twice: 4}, all},
		{"ignores both conditions, with tags", fake{}, noSwap},
		{"only If-None-Match", fake{ifAbsent: true}, noSwap},
		{"only If-Match", fake{ifTag: true}, noSwap},
		{"tags that match nothing", fake{ifAbsent: true, ifTag: true, neverIfTag: true}, noSwap},
		{"no tags", fake{ifAbsent: true, ifTag: true, noTags: true}, noSwap},
		{"refuses conditions", fake{noConditions: true}, noSwap},
		{"no index", fake{ifAbsent: true, ifTag: true, noIndex: true}, fleet.Abilities{CompareAndSwap: true, Delete: true}},
		{"a delete that fails", fake{ifAbsent: true, ifTag: true, deleteFails: true}, fleet.Abilities{CompareAndSwap: true, List: true}},
		{"no delete", fake{ifAbsent: true, ifTag: true, noDelete: true}, fleet.Abilities{CompareAndSwap: true, List: true}},
	} {
		c.store.objects = map[string]int{}
		b := Backend(&c.store)
		for range 2 {
			if got, err := b.Abilities(t.Context()); err != nil || got != c.want {
				t.Errorf("%s: %+v, %v, not %+v", c.name, got, err, c.want)
			}
		}
		if c.store.puts > 5 {
			t.Errorf("%s: %d writes, so it was asked twice", c.name, c.store.puts)
		}
		if !c.store.noDelete && !c.store.deleteFails && len(c.store.objects) != 0 {
			t.Errorf("%s: left behind: %v", c.name, c.store.objects)
		}
	}
}

func TestFailedProbeIsAskedAgain(t *testing.T) {
	store := fake{fails: fleet.ErrUnreachable, ifAbsent: true, ifTag: true, objects: map[string]int{}}
	b := Backend(&store)
	if _, err := b.Abilities(t.Context()); !errors.Is(err, fleet.ErrUnreachable) {
		t.Errorf("%v, not ErrUnreachable", err)
	}
	store.fails = nil
	if got, err := b.Abilities(t.Context()); err != nil || !got.CompareAndSwap {
		t.Errorf("%+v, %v", got, err)
	}
}
