//go:build linux

package actors

import (
	"errors"
	"sync"
	"testing"
)

// Goroutines spawn actors, send and request messages, and terminate them concurrently.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.world(Options{Handlers: []Handler{counter}, Slots: 8, Depth: 4, RequestTicks: 1000})
	var users sync.WaitGroup
	for u := range 4 {
		users.Go(func() {
			for i := range 5 {
				a, err := w.Spawn(t.Context(), "counter", uint32(1000*u))
				if err != nil {
					t.Error(err)
					return
				}
				want := uint32(1000 * u)
				for v := range uint32(6) {
					err := w.Send(t.Context(), a, 1, v)
					if err == nil {
						want += v
					} else if !errors.Is(err, ErrFull) {
						t.Error(err)
					}
				}
				// The request is sent after all messages, in the first tick with room.
				var reply Message
				for err = error(ErrFull); errors.Is(err, ErrFull); {
					if _, err := w.Step(t.Context(), 1); err != nil {
						t.Error(err)
						return
					}
					reply, err = w.Request(t.Context(), a, 4, uint32(i))
				}
				if err != nil || reply.From != a || reply.Words[0] != want || reply.Words[1] != uint32(i) {
					t.Errorf("reply %+v, %v, want %d", reply, err, want)
				}
				if err := w.Terminate(t.Context(), a); err != nil {
					t.Error(err)
				}
			}
		})
	}
	users.Wait()
	r := w.step(1)
	if r.Spawned != 20 || r.Ended != 20 || r.Free != 8 || r.Live != 0 {
		t.Errorf("report %+v", r)
	}
	w.balanced()
}
