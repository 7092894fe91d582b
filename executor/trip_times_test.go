//go:build linux

package executor

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// BenchmarkTripTimes measures Submit and Wait, one job at a time: how the times are spread,
// what those beyond a bound contribute to the mean, and which part of these was late.
func BenchmarkTripTimes(b *testing.B) {
	g := &tripClock{start: time.Now()}
	f := newFixture(b, Options{Depth: 1, test: testOptions{pollFence: g.pollFence, spin: true}})
	r := newRoundTrip(f)
	var p Pending
	job := r.job()
	trips := make([]trip, 0, b.N)
	one := func() {
		submitted := g.now()
		g.trip = trip{submitted: submitted}
		if err := f.SubmitInto(b.Context(), &job, &p); err != nil {
			b.Fatal(err)
		}
		g.trip.queued = g.now() - submitted
		f.wait(&p)
		r.calls++
		g.trip.total = g.now() - submitted
	}
	for range 200 {
		one()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	usage := processUsage(b)
	b.ResetTimer()
	for range b.N {
		one()
		trips = append(trips, g.trip)
	}
	b.StopTimer()
	used := processUsage(b)
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(used.Nvcsw-usage.Nvcsw), "switches")
	b.ReportMetric(float64(used.Nivcsw-usage.Nivcsw), "preemptions")
	b.ReportMetric(float64(after.NumGC-before.NumGC), "collections")
	reportTrips(b, trips)
	r.verify(b)
}

// trip is the time of one job, and its parts: until Submit returned, until the first poll,
// between the two polls with the longest time between them, from the first to the last poll,
// and from there to the end.
type trip struct {
	submitted, queued, first, gap, polled, total time.Duration
	polls                                        int
	last                                         time.Duration
}

// tripClock takes the times at the polls.
type tripClock struct {
	start time.Time
	trip  trip
}

func (g *tripClock) now() time.Duration { return time.Since(g.start) }

func (g *tripClock) pollFence(gl *glctx.GL, f glctx.Fence) (bool, error) {
	t := &g.trip
	now := g.now() - t.submitted
	if t.polls == 0 {
		t.first = now
	} else {
		t.gap = max(t.gap, now-t.last)
	}
	done, err := gl.WaitFence(f, 0)
	t.last, t.polls = now, t.polls+1
	if done {
		t.last = g.now() - t.submitted
		t.polled = t.last - t.first
	}
	return done, err
}

// reportTrips reports the quantiles, and logs the spread.
func reportTrips(b *testing.B, trips []trip) {
	slices.SortFunc(trips, func(x, y trip) int { return int(x.total - y.total) })
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	for name, q := range map[string]float64{"p50-us": 0.5, "p90-us": 0.9, "p99-us": 0.99, "p999-us": 0.999} {
		b.ReportMetric(us(trips[int(q*float64(len(trips)-1))].total), name)
	}
	median := trips[len(trips)/2].total
	for _, bound := range []float64{1, 1.2, 1.5, 2, 4, 10, 1e9} {
		end, _ := slices.BinarySearchFunc(trips, time.Duration(bound*float64(median)), func(t trip, d time.Duration) int { return int(t.total - d) })
		part := trips[:end]
		trips = trips[end:]
		if len(part) == 0 {
			continue
		}
		var sum trip
		var beyond time.Duration
		for _, t := range part {
			sum.queued, sum.first, sum.gap, sum.polled, sum.total = sum.queued+t.queued, sum.first+t.first, sum.gap+t.gap, sum.polled+t.polled, sum.total+t.total
			sum.last += t.total - t.last
			beyond += t.total - median
		}
		n := time.Duration(len(part))
		b.Logf("up to %4.4g of the median: %6d jobs, %6.2f us of the mean; means: %5.1f us, submit %4.1f, first poll at %5.1f, longest gap %5.1f, polled for %5.1f, then %5.1f",
			bound, n, us(beyond)/float64(b.N), us(sum.total/n), us(sum.queued/n), us(sum.first/n), us(sum.gap/n), us(sum.polled/n), us(sum.last/n))
	}
}
