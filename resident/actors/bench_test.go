//go:build linux

package actors

import (
	"fmt"
	"testing"

	"github.com/shadercache/shadercache/job"
)

// BenchmarkTick measures a tick in which each actor sends two messages and receives
// about two.
func BenchmarkTick(b *testing.B) {
	for _, n := range []int{1000, 65_521} { // 65,521 is prime
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFixture(b)
			peers := f.peers(n)
			w := f.world(Options{
				Handlers: []Handler{{Name: "storm", Text: "#define LAST_TICK 1000000000\n#define SPREAD 5\n" + stormText}},
				Slots:    n, Memory: []job.Bound{peers.BindReadOnly(5)},
			})
			w.spawnPeers("storm", n, peers)
			w.step(maxTicks)
			before := w.Report().Handled
			b.ResetTimer()
			r := w.step(b.N)
			b.StopTimer()
			b.ReportMetric(float64(r.Handled-before)/b.Elapsed().Seconds(), "messages/s")
			w.balanced()
		})
	}
}

// BenchmarkSend measures a message of the host until it is in the mailbox, and a request
// until its reply arrives.
func BenchmarkSend(b *testing.B) {
	f := newFixture(b)
	w := f.world(Options{Handlers: []Handler{counter}, Slots: 8})
	a := w.spawn("counter")
	b.Run("send", func(b *testing.B) {
		for i := range b.N {
			if i%8 == 7 {
				b.StopTimer()
				w.step(1)
				b.StartTimer()
			}
			w.send(a, 1, 1)
		}
	})
	w.step(1)
	b.Run("request", func(b *testing.B) {
		for b.Loop() {
			if _, err := w.Request(b.Context(), a, 4, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRouter measures a message from an actor of one world to one of another, and
// back, and the two ticks of both worlds without a message. Both contexts are on one device.
func BenchmarkRouter(b *testing.B) {
	f, g := newFixture(b), newFixture(b)
	handlers := []Handler{{Name: "ping", Text: pingText}}
	here := f.world(Options{Device: 1, Handlers: handlers, Slots: 64})
	there := g.world(Options{Device: 2, Handlers: handlers, Slots: 64})
	router, err := NewRouter(here.World, there.World)
	if err != nil {
		b.Fatal(err)
	}
	a, peer := here.spawn("ping"), there.spawn("ping")
	roundTrips := func(b *testing.B) Routes {
		b.Helper()
		routes, err := router.Step(b.Context(), 2*b.N)
		if err != nil {
			b.Fatal(err)
		}
		return routes
	}
	b.Run("one world", func(b *testing.B) {
		for b.Loop() {
			here.step(1)
			here.step(1)
		}
	})
	b.Run("no message", func(b *testing.B) { roundTrips(b) })
	x, y := peer.Words()
	here.send(a, 8, x, y, 0)
	b.Run("message", func(b *testing.B) {
		before := router.routes.Delivered
		if n := roundTrips(b).Delivered - before; n+1 < uint64(2*b.N) {
			b.Fatalf("%d messages in %d steps", n, 2*b.N)
		}
	})
}
