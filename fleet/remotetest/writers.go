package remotetest

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
)

// keyPair returns options of a writer and of a reader of one URL.
func keyPair(url string) (writer, reader fleet.Options) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	writer = fleet.Options{URL: url, Mode: fleet.ReadWrite, SignKey: key, Budget: time.Minute}
	public := key.Public().(ed25519.PublicKey)
	return writer, fleet.Options{URL: url, Mode: fleet.Read, Keys: []ed25519.PublicKey{public}, Budget: time.Minute}
}

// Writers pushes from many machines at once. swaps is whether the store compares and swaps:
// then nothing is lost. Else a head may replace one that another writer had checked, and the
// store may answer with an error to one of them: what that writer pushed is there after its
// next push.
func Writers(t *testing.T, url string, swaps bool) {
	t.Helper()
	const machines = 6
	writer, reader := keyPair(url)
	dirs, errs := make([]*binary.Dir, machines), make([]error, machines)
	for n := range dirs {
		dirs[n] = machine(t, n)
	}
	atOnce(machines, func(n int) {
		_, errs[n] = on(t, dirs[n], writer).Push(t.Context(), fleet.PushOptions{})
	})
	for n, err := range errs {
		switch {
		case err != nil && swaps:
			t.Errorf("push %d: %v", n, err)
		case err != nil:
			t.Logf("push %d: %v", n, err)
		}
	}
	first, err := on(t, machine(t), reader).Pull(t.Context(), fleet.PullOptions{Current: &driver})
	if err != nil || swaps && first.Programs != machines {
		t.Errorf("after the pushes: %+v, %v", first, err)
	}
	t.Logf("%d machines pushed at once: %d programs are lost until their next push", machines, machines-first.Programs)
	for n, d := range dirs {
		if _, err := on(t, d, writer).Push(t.Context(), fleet.PushOptions{}); err != nil {
			t.Errorf("second push %d: %v", n, err)
		}
	}
	again, err := on(t, machine(t), reader).Pull(t.Context(), fleet.PullOptions{Current: &driver})
	if err != nil || again.Programs != machines {
		t.Errorf("after the second pushes: %+v, %v", again, err)
	}
}

// Prune deletes the head of an old driver from a store that can delete.
func Prune(t *testing.T, url string) {
	t.Helper()
	writer, reader := keyPair(url)
	newer := driver
	newer.Version = "4.5 (Core Profile) Mesa 25.0.7"
	dir := machine(t, 0)
	putProgram(t, dir, newer, 1)
	w := on(t, dir, writer)
	if report, err := w.Push(t.Context(), fleet.PushOptions{}); err != nil || report.Heads != 2 {
		t.Fatalf("push: %+v, %v", report, err)
	}
	if report, err := w.Prune(t.Context(), fleet.PruneOptions{Age: time.Hour}); err != nil || len(report.Names) != 0 {
		t.Errorf("prune of what is new: %+v, %v", report, err)
	}
	time.Sleep(time.Second) // the time of a head is in seconds
	o := fleet.PruneOptions{Age: time.Nanosecond, Keep: func(h *fleet.Head) bool { return h.Fingerprint == newer.Digest() }}
	if report, err := w.Prune(t.Context(), o); err != nil || len(report.Heads) != 1 || report.Heads[0].Fingerprint != driver.Digest() {
		t.Errorf("prune: %+v, %v", report, err)
	}
	if heads, err := w.Heads(t.Context()); err != nil || len(heads) != 1 || heads[0].Fingerprint != newer.Digest() {
		t.Errorf("%d heads are left: %v", len(heads), err)
	}
	if _, err := on(t, machine(t), reader).Pull(t.Context(), fleet.PullOptions{Current: &driver}); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("pull of the old driver: %v", err)
	}
	if report, err := on(t, machine(t), reader).Pull(t.Context(), fleet.PullOptions{Current: &newer}); err != nil || report.Programs != 1 {
		t.Errorf("pull of the new driver: %+v, %v", report, err)
	}
	// A driver that comes back is pushed again.
	if report, err := w.Push(t.Context(), fleet.PushOptions{}); err != nil || report.Heads != 1 {
		t.Errorf("push after the prune: %+v, %v", report, err)
	}
	if report, err := on(t, machine(t), reader).Pull(t.Context(), fleet.PullOptions{Current: &driver}); err != nil || report.Programs != 1 {
		t.Errorf("pull after the prune: %+v, %v", report, err)
	}
}
