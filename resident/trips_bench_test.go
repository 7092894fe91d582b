//go:build linux

package resident

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// tripsText does, in the leader of a group, what ticks consist of: N times the part PART.
// All words are zero, so that each load of a chain depends on the one before.
const tripsText = `#version 450 core
layout(local_size_x = 32) in;
layout(std430, binding = 0) coherent volatile buffer Mapped { uvec4 mapped[64]; };
layout(std430, binding = 1) coherent volatile buffer Device { uvec4 device[64]; };
shared uvec4 here[8];
void main() {
    uint lane = gl_LocalInvocationIndex;
    uint x = 0u;
#if PART == 6
    if (lane < uint(N)) {
        here[lane] = mapped[lane];
    }
    barrier();
    x = here[0].x + here[N - 1].y;
#elif PART == 7
    if (lane < uint(N)) {
        here[lane] = mapped[lane];
    }
    if (lane < uint(N)) {
        here[4u + lane] = device[lane];
    }
    barrier();
    x = here[0].x + here[4 + N - 1].y;
#endif
    if (lane == 0u) {
#if PART == 0
        for (int i = 0; i < N; ++i) { x = mapped[x].x; }
#elif PART == 1
        for (int i = 0; i < N; ++i) { x = device[x].x; }
#elif PART == 2
        for (int i = 0; i < N; ++i) { here[i] = mapped[i]; }
        x = here[0].x + here[N - 1].y;
#elif PART == 3
        for (int i = 0; i < N; ++i) { mapped[40 + i].x = uint(i); memoryBarrierBuffer(); }
#elif PART == 4
        for (int i = 0; i < N; ++i) { device[40 + i].x = uint(i); memoryBarrierBuffer(); }
#elif PART == 5
        uint y[N];
        for (int i = 0; i < N; ++i) { y[i] = atomicAdd(device[0][i], 0u); }
        for (int i = 0; i < N; ++i) { x += y[i]; }
#elif PART == 9
        for (int i = 0; i < N; ++i) { mapped[40 + i].yz = uvec2(i, 1); }
#elif PART == 10
        for (int i = 0; i < N; ++i) { mapped[40 + i] = uvec4(i, 1, 2, 3); }
#elif PART == 8
        for (int i = 0; i < N; ++i) { mapped[40 + i].x = device[i].x; }
#endif
        mapped[32].x = mapped_number + x;
    }
}
`

// BenchmarkTrips measures what the parts of a tick take of the GPU's time, and until the
// host sees its last word.
func BenchmarkTrips(b *testing.B) {
	for part, name := range []string{"load of mapped memory", "load of device memory", "mapped vectors by one lane", "mapped store and fence",
		"device store and fence", "device atomics at once", "mapped vectors by lanes", "mapped and device vectors by lanes", "device load and mapped store", "half a mapped vector", "mapped vector"} {
		for _, n := range []int{0, 1, 2, 4} {
			if n == 0 && part > 0 || n > 2 && part == 6 {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				f := newFixture(b)
				text := tripsText
				source, err := shader.NewSource("trips", text, shader.Defines{"PART": fmt.Sprint(part), "N": fmt.Sprint(n), "mapped_number": "gl_NumWorkGroups.y"})
				if err != nil {
					b.Fatal(err)
				}
				h, err := f.cache.Get(b.Context(), source)
				if err != nil {
					b.Fatal(err)
				}
				defer h.Release()
				err = f.context.Do(func(gl *glctx.GL) error {
					mapped, err := gl.NewMapped(256, glctx.MapOptions{})
					if err != nil {
						return err
					}
					defer gl.DeleteMapped(mapped)
					device, err := gl.NewBuffer(1024, make([]byte, 1024))
					if err != nil {
						return err
					}
					defer gl.DeleteBuffer(device)
					gl.UseProgram(h.Program())
					gl.BindStorage(0, mapped.Buffer)
					gl.BindStorage(1, device)
					word := wire.Shared(mapped.Words)
					timeDispatches(b, gl, 1, func() { word.Store(128, 0) }, func() bool { return word.Load(128) != 0 })
					return gl.Err()
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkTickKernels measures the same of ticks of a step.
func BenchmarkTickKernels(b *testing.B) {
	for _, groups := range []uint32{0, 1, 16, 132} {
		k := Persistence{Groups: max(groups, 1), Local: 256, FMAs: 100}.Kernel()
		name := fmt.Sprintf("persistence of %d groups", groups)
		if groups == 0 {
			k, name = Echo(1), "echo, idle"
		}
		b.Run(name, func(b *testing.B) {
			f := newFixture(b)
			_, sc := f.stopped(k, quick)
			sc.words.WriteCommand(wire.Command{Epoch: 1, Target: 1 << 29, Budget: 1, Poll: 1, Flags: wire.FlagHostVisible, Phases: 1})
			err := sc.context.Do(func(gl *glctx.GL) error {
				sc.gl.clearRun(gl)
				sc.gl.bind(gl)
				sc.gl.setPhases(gl, 0, 1)
				seen := uint32(0)
				timeDispatches(b, gl, k.Groups, func() { seen = sc.words.Load(wire.AtTicks) }, func() bool { return sc.words.Load(wire.AtTicks) != seen })
				return gl.Err()
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// timeDispatches reports the time of a dispatch in a row of them, by the GPU's clock, and
// the median until ended reports the end of one that is flushed by itself.
func timeDispatches(b *testing.B, gl *glctx.GL, groups uint32, before func(), ended func() bool) {
	const row = 50
	begin, end := gl.NewQuery(), gl.NewQuery()
	defer gl.DeleteQuery(begin)
	defer gl.DeleteQuery(end)
	var rows, trips []time.Duration
	for b.Loop() {
		gl.Finish()
		gl.WriteTimestamp(begin)
		for range row {
			gl.Dispatch(groups, 1, 1)
			gl.MemoryBarrier(glctx.BarrierStorage)
		}
		gl.WriteTimestamp(end)
		gl.Finish()
		rows = append(rows, (gl.Timestamp(end)-gl.Timestamp(begin))/row)
		for range row {
			before()
			began := time.Now()
			gl.Dispatch(groups, 1, 1)
			gl.Flush()
			for !ended() && time.Since(began) < time.Second {
			}
			trips = append(trips, time.Since(began))
			gl.MemoryBarrier(glctx.BarrierAllKinds)
		}
	}
	b.ReportMetric(float64(median(rows).Nanoseconds())/1e3, "us-in-a-row")
	b.ReportMetric(float64(median(trips).Nanoseconds())/1e3, "us-seen")
	b.ReportMetric(0, "ns/op")
}

// median returns the median of durations.
func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkPacedSteps measures single steps at 1,000 a second, by re-dispatched ticks: their
// time, and the CPU time of the threads of the process, with the times that they slept. The
// first row has the pauses without steps.
func BenchmarkPacedSteps(b *testing.B) {
	for _, steps := range []bool{false, true} {
		b.Run(fmt.Sprintf("steps %t", steps), func(b *testing.B) {
			s := newFixture(b).tickSession(b)
			run(b, s, 100)
			var times []time.Duration
			before, began := threadTimes(b), time.Now()
			for next := time.Now(); b.Loop(); next = next.Add(time.Millisecond) {
				time.Sleep(time.Until(next))
				start := time.Now()
				if steps {
					run(b, s, 1)
				}
				times = append(times, time.Since(start))
			}
			wall, sum, text := time.Since(began), time.Duration(0), ""
			for thread, t := range threadTimes(b) {
				if d := t.spent - before[thread].spent; d > wall/1000 {
					sum += d
					text += fmt.Sprintf("  %.2f%% %.2f sleeps a step", 100*d.Seconds()/wall.Seconds(), float64(t.slept-before[thread].slept)/float64(len(times)))
				}
			}
			b.Log(text)
			b.ReportMetric(float64(median(times).Nanoseconds())/1e3, "us-step")
			b.ReportMetric(100*sum.Seconds()/wall.Seconds(), "cpu-%")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// tickSession returns a session of ticks of a millisecond, on a driver that was probed.
func (f *fixture) tickSession(b *testing.B) *Session {
	caps, err := Probe(b.Context(), f.context, f.cache, nil)
	if err != nil {
		b.Fatal(err)
	}
	k := Persistence{Groups: 16, Local: 256, FMAs: 100}.Kernel()
	return f.session(k, Options{TickTime: time.Millisecond, Poll: 4, Capabilities: caps})
}

// BenchmarkTickGaps measures ticks of a millisecond: how many steps they have, and how often
// the host slept, polled a fence and overslept.
func BenchmarkTickGaps(b *testing.B) {
	s := newFixture(b).tickSession(b)
	if err := s.Start(0); err != nil {
		b.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	before, began := s.Stats(), time.Now()
	var stalls []time.Duration // between two changes of the progress
	last, changed := s.Progress(), time.Now()
	for b.Loop() {
		for i := 0; i < 1<<14; i++ {
			if p := s.Progress(); p != last {
				now := time.Now()
				stalls, last, changed = append(stalls, now.Sub(changed)), p, now
			}
		}
	}
	after, wall := s.Stats(), time.Since(began)
	slices.Sort(stalls)
	ticks := float64(after.Ticks - before.Ticks)
	b.ReportMetric(wall.Seconds()*1e6/ticks, "us-tick")
	b.ReportMetric(float64(after.Sleeps-before.Sleeps)/ticks, "sleeps/tick")
	b.ReportMetric(float64(after.Polls-before.Polls)/ticks, "polls/tick")
	for _, q := range []int{50, 90, 97, 99} {
		b.ReportMetric(float64(stalls[(len(stalls)-1)*q/100].Nanoseconds())/1e3, fmt.Sprintf("us-stall-%d%%", q))
	}
	b.ReportMetric(float64(len(stalls))/ticks, "changes/tick")
	b.ReportMetric(0, "ns/op")
	if _, err := s.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// threadTime is the CPU time of a thread, and how often it slept.
type threadTime struct {
	spent time.Duration
	slept int
}

// threadTimes returns the times of each thread.
func threadTimes(b *testing.B) map[string]threadTime {
	folders, _ := filepath.Glob("/proc/self/task/*")
	times := map[string]threadTime{}
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "schedstat"))
		status, failed := os.ReadFile(filepath.Join(folder, "status"))
		if err != nil || failed != nil {
			continue // it ended
		}
		var spent int64
		if _, err := fmt.Sscan(string(text), &spent); err != nil {
			b.Fatal(err)
		}
		t := threadTime{spent: time.Duration(spent)}
		if _, after, ok := strings.Cut(string(status), "\nvoluntary_ctxt_switches:"); ok {
			_, _ = fmt.Sscan(after, &t.slept) // 0 where there is no such line
		}
		times[folder] = t
	}
	return times
}
