//go:build linux

package queue

import (
	"testing"
)

// BenchmarkSteal is the workload steal: 8,191 tasks of unequal cost, each worked
// on exactly once, by groups of which each does something.
func BenchmarkSteal(b *testing.B) {
	for _, steal := range []bool{false, true} {
		b.Run(name("steal", steal), func(b *testing.B) {
			const tasks = 8191
			f := newFixture(b)
			results := f.results(tasks)
			q := f.queue(Options{Capacity: tasks, Groups: 128, Local: 32, Takes: 8, Steal: steal, Rounds: 2}, stealText, nil, results)
			for b.Loop() {
				f.push(q, 0, sequence(0, tasks)...)
				if r := f.run(q); r.Finished%tasks != 0 {
					b.Fatalf("report %+v", r)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(tasks)*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
			for i, got := range f.download(results) {
				if want := stealResult(i) - poison; got != poison+uint32(q.last.Finished/tasks)*want {
					b.Fatalf("task %d: %#x", i, got)
				}
			}
			if groups, err := q.Groups(b.Context()); err != nil || steal && groups[127].Taken+groups[127].Stolen == 0 {
				b.Fatalf("groups %+v, %v", groups, err)
			}
		})
	}
}
