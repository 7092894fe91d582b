// Package remotetest is the test that each backend of package fleet passes, against a real
// store.
package remotetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
)

// Names have the forms of package fleet. The fingerprint is any.
const (
	fingerprint = "3b1f8a0c5d2e4f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"
	head        = "v1/" + fingerprint + "/head"
	lease       = "v1/" + fingerprint + "/lease"
)

// packName returns the name of a pack with this content.
func packName(data []byte) string {
	return fmt.Sprintf("v1/%s/packs/%x", fingerprint, sha256.Sum256(data))
}

// Conform runs the properties of a backend. Each opens the store anew: it has to be empty.
// want is what the store can do.
func Conform(t *testing.T, want fleet.Abilities, open func(t *testing.T) fleet.Backend) {
	for _, property := range []struct {
		name string
		test func(t *testing.T, s store)
	}{
		{"Empty", empty},
		{"PutGet", putGet},
		{"LargePack", largePack},
		{"From", from},
		{"CompareAndSwap", compareAndSwap},
		{"Lease", leaseOnce},
		{"ListDelete", listDelete},
		{"Cancel", cancelled},
		{"ManyAtOnce", manyAtOnce},
		{"Abilities", abilities},
	} {
		t.Run(property.name, func(t *testing.T) {
			b := open(t)
			t.Cleanup(func() { b.Close() })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			property.test(t, store{b, t, ctx, want})
		})
	}
}

// store is a backend whose errors end the test.
type store struct {
	fleet.Backend
	t    *testing.T
	ctx  context.Context
	want fleet.Abilities
}

func (s store) put(name string, data []byte, o fleet.PutOptions) string {
	s.t.Helper()
	tag, err := s.try(name, data, o)
	if err != nil {
		s.t.Fatalf("put %s: %v", name, err)
	}
	return tag
}

func (s store) try(name string, data []byte, o fleet.PutOptions) (string, error) {
	o.Size = int64(len(data))
	return s.Put(s.ctx, name, bytes.NewReader(data), o)
}

func (s store) get(name string) ([]byte, string) {
	s.t.Helper()
	o, err := s.Get(s.ctx, name, 0)
	if err != nil {
		s.t.Fatalf("get %s: %v", name, err)
	}
	defer o.Body.Close()
	data, err := io.ReadAll(o.Body)
	if err != nil {
		s.t.Fatalf("read %s: %v", name, err)
	}
	if o.Size >= 0 && o.Size != int64(len(data)) {
		s.t.Fatalf("%s has %d bytes, its size is %d", name, len(data), o.Size)
	}
	return data, o.Tag
}

func (s store) holds(name string, want []byte) (tag string) {
	s.t.Helper()
	got, tag := s.get(name)
	if !bytes.Equal(got, want) {
		s.t.Fatalf("%s is %d bytes that differ from the %d that were put", name, len(got), len(want))
	}
	return tag
}

func (s store) absent(name string) {
	s.t.Helper()
	if o, err := s.Get(s.ctx, name, 0); !errors.Is(err, fleet.ErrNotFound) {
		if err == nil {
			o.Body.Close()
		}
		s.t.Fatalf("get %s: %v, not ErrNotFound", name, err)
	}
}

func empty(t *testing.T, s store) {
	s.Connect(s.ctx)
	s.absent(head)
	s.absent(packName(nil))
	if err := s.Delete(s.ctx, lease); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("delete what does not exist: %v", err)
	}
	found, err := s.List(s.ctx, "v1/")
	if s.want.List && !nothing(found, err) {
		t.Errorf("list: %v, %v", found, err)
	}
}

// nothing reports whether a listing has no objects. The folder may not exist.
func nothing(found []fleet.Info, err error) bool {
	return len(found) == 0 && (err == nil || errors.Is(err, fleet.ErrNotFound))
}

func putGet(t *testing.T, s store) {
	pack := []byte("a pack of two programs")
	s.put(packName(pack), pack, fleet.PutOptions{})
	s.put(packName(pack), pack, fleet.PutOptions{}) // it never changes, so again is no error
	s.holds(packName(pack), pack)
	options := fleet.PutOptions{Packs: packsOf(pack), Annotations: map[string]string{"driver": "Mesa 22.3.6"}}
	for _, text := range []string{"first head", "second, longer head", "third"} {
		put := s.put(head, []byte(text), options)
		if got := s.holds(head, []byte(text)); put != "" && got != put {
			t.Errorf("put returned the tag %q, get %q", put, got)
		}
	}
	s.absent(lease)
}

func packsOf(packs ...[]byte) []fleet.Pack {
	var list []fleet.Pack
	for _, data := range packs {
		list = append(list, fleet.Pack{SHA256: sha256.Sum256(data), Size: int64(len(data))})
	}
	return list
}

// noise returns bytes that no store can compress.
func noise(n int) []byte {
	data := make([]byte, n)
	source := rand.NewChaCha8([32]byte{1})
	source.Read(data)
	return data
}

func largePack(t *testing.T, s store) {
	pack := noise(20 << 20)
	s.put(packName(pack), pack, fleet.PutOptions{})
	s.holds(packName(pack), pack)
}

// from reads a pack from a byte on.
func from(t *testing.T, s store) {
	pack := noise(300_001)
	s.put(packName(pack), pack, fleet.PutOptions{})
	for _, first := range []int64{0, 1, 100_000, 300_000} {
		o, err := s.Get(s.ctx, packName(pack), first)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("the server sends whole objects only") // Resume tests those that do not
		}
		if err != nil {
			t.Fatalf("from %d: %v", first, err)
		}
		got, err := io.ReadAll(o.Body)
		o.Body.Close()
		if err != nil || !bytes.Equal(got, pack[first:]) || o.Size != int64(len(pack)) {
			t.Errorf("from %d: %d bytes of %d, %v", first, len(got), o.Size, err)
		}
	}
	if _, err := s.Get(s.ctx, packName(pack[1:]), 1); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("from 1 of what does not exist: %v, not ErrNotFound", err)
	}
	if o, err := s.Get(s.ctx, packName(pack), 300_002); err == nil {
		if got, _ := io.ReadAll(o.Body); len(got) > 0 {
			t.Errorf("%d bytes after the end", len(got))
		}
		o.Body.Close()
	}
}

func compareAndSwap(t *testing.T, s store) {
	if !s.want.CompareAndSwap {
		s.put(head, []byte("one"), fleet.PutOptions{IfAbsent: true})
		s.put(head, []byte("two"), fleet.PutOptions{IfTag: `"none"`}) // ignored
		s.holds(head, []byte("two"))
		return
	}
	s.put(head, []byte("one"), fleet.PutOptions{IfAbsent: true})
	first := s.holds(head, []byte("one"))
	if _, err := s.try(head, []byte("two"), fleet.PutOptions{IfAbsent: true}); !errors.Is(err, fleet.ErrChanged) {
		t.Errorf("put what exists, if absent: %v, not ErrChanged", err)
	}
	s.put(head, []byte("two"), fleet.PutOptions{IfTag: first})
	if _, err := s.try(head, []byte("three"), fleet.PutOptions{IfTag: first}); !errors.Is(err, fleet.ErrChanged) {
		t.Errorf("put with an old tag: %v, not ErrChanged", err)
	}
	if _, err := s.try(lease, []byte("three"), fleet.PutOptions{IfTag: first}); !errors.Is(err, fleet.ErrChanged) {
		t.Errorf("put what does not exist, with a tag: %v, not ErrChanged", err)
	}
	s.holds(head, []byte("two"))
	s.absent(lease)
}

// leaseOnce has many writers create one object.
func leaseOnce(t *testing.T, s store) {
	if !s.want.CompareAndSwap {
		t.Skip("the store does not compare and swap")
	}
	const writers = 8
	errs := make([]error, writers)
	s.Abilities(s.ctx)
	atOnce(writers, func(i int) {
		_, errs[i] = s.try(lease, fmt.Appendf(nil, "held by %d", i), fleet.PutOptions{IfAbsent: true})
	})
	var winners []int
	for i, err := range errs {
		switch {
		case err == nil:
			winners = append(winners, i)
		case !errors.Is(err, fleet.ErrChanged):
			t.Errorf("writer %d: %v, not ErrChanged", i, err)
		}
	}
	if len(winners) != 1 {
		t.Fatalf("%d writers hold the lease: %v", len(winners), winners)
	}
	s.holds(lease, fmt.Appendf(nil, "held by %d", winners[0]))
}

func atOnce(n int, do func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { do(i) })
	}
	group.Wait()
}

func listDelete(t *testing.T, s store) {
	pack := []byte("a pack")
	began := time.Now()
	s.put(packName(pack), pack, fleet.PutOptions{})
	s.put(head, []byte("a head"), fleet.PutOptions{Packs: packsOf(pack)})
	if s.want.List {
		s.lists(began, map[string]int64{head: 6}, packName(pack))
	} else if _, err := s.List(s.ctx, "v1/"); !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("list: %v, neither ErrUnsupported nor ErrNotFound", err)
	}
	if !s.want.Delete {
		if err := s.Delete(s.ctx, head); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("delete: %v, not ErrUnsupported", err)
		}
		return
	}
	for range 2 {
		if err := s.Delete(s.ctx, head); err != nil {
			t.Fatal(err)
		}
	}
	s.absent(head)
	if s.want.List {
		s.lists(began, nil, packName(pack))
	}
}

// lists compares a listing. Packs are listed by stores that have them as objects.
func (s store) lists(began time.Time, want map[string]int64, pack string) {
	s.t.Helper()
	found, err := s.List(s.ctx, "v1/")
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, o := range found {
		if o.Name == pack {
			continue
		}
		names = append(names, o.Name)
		if size, ok := want[o.Name]; !ok || o.Size != size && o.Size >= 0 {
			s.t.Errorf("listed %+v, want the sizes %v", o, want)
		}
		if !o.Changed.IsZero() && (o.Changed.Before(began.Add(-time.Hour)) || o.Changed.After(time.Now().Add(time.Hour))) {
			s.t.Errorf("%s changed at %v", o.Name, o.Changed)
		}
	}
	for name := range want {
		if !slices.Contains(names, name) {
			s.t.Errorf("%s is not listed: %v", name, names)
		}
	}
}

// cancelled ends calls in the middle: they return soon, and leave nothing.
func cancelled(t *testing.T, s store) {
	pack := noise(4 << 20)
	s.put(packName(pack), pack, fleet.PutOptions{})
	ctx, cancel := context.WithCancel(s.ctx)
	o, err := s.Get(ctx, packName(pack), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(o.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	cancel()
	o.Body.Close()
	for _, call := range []func() error{
		func() error { _, err := s.Get(ctx, packName(pack), 0); return err },
		func() error { _, err := s.List(ctx, "v1/"); return err },
		func() error { return s.Delete(ctx, packName(pack)) },
	} {
		if err := call(); err == nil {
			t.Error("a call with an ended context has no error")
		}
	}
	s.stopsPut(noise(4<<20 + 1))
	s.holds(packName(pack), pack)
}

// stopsPut cancels a Put when half of the data was read.
func (s store) stopsPut(pack []byte) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	half := &reader{Reader: bytes.NewReader(pack), after: len(pack) / 2, do: cancel}
	_, err := s.Put(ctx, packName(pack), half, fleet.PutOptions{Size: int64(len(pack))})
	if err == nil {
		s.t.Error("a Put that was cancelled has no error")
	}
	half.returned(s.t)
	s.absent(packName(pack))
}

// reader calls a function once so many bytes were read, and fails the test where it is used
// after its Put returned.
type reader struct {
	*bytes.Reader
	mu    sync.Mutex
	after int
	do    func()
	t     *testing.T // set when the Put has returned
}

func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.t != nil {
		r.t.Error("Put uses the data after it returned")
	}
	if r.after < 0 { // so slow that no store has all before it sees the end
		time.Sleep(time.Millisecond)
		p = p[:1]
	}
	n, err := r.Reader.Read(p)
	if r.after -= n; r.after < 0 {
		r.do()
	}
	return n, err
}

func (r *reader) returned(t *testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t = t
}

func manyAtOnce(t *testing.T, s store) {
	errs := make([]error, 16)
	atOnce(len(errs), func(i int) {
		pack := noise(10_000 + i)
		if _, err := s.try(packName(pack), pack, fleet.PutOptions{}); err != nil {
			errs[i] = err
			return
		}
		o, err := s.Get(s.ctx, packName(pack), 0)
		if err != nil {
			errs[i] = err
			return
		}
		defer o.Body.Close()
		got, err := io.ReadAll(o.Body)
		if errs[i] = err; err == nil && !bytes.Equal(got, pack) {
			errs[i] = errors.New("another pack")
		}
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

func abilities(t *testing.T, s store) {
	for range 2 {
		got, err := s.Abilities(s.ctx)
		if err != nil || got.CompareAndSwap != s.want.CompareAndSwap || s.want.List && !got.List || s.want.Delete && !got.Delete {
			t.Fatalf("abilities %+v, %v, not %+v", got, err, s.want)
		}
	}
	if s.want.List && s.want.Delete {
		if found, err := s.List(s.ctx, "v1/"); !nothing(found, err) {
			t.Errorf("left behind: %v, %v", found, err)
		}
	}
}
