//go:build linux

package queue

import "testing"

// BenchmarkSteal measures stealText with 8,191 tasks.
func BenchmarkSteal(b *testing.B) {
	for _, steal := range []bool{false, true} {
		b.Run(name("steal", steal), func(b *testing.B) {
			const tasks = 8191
			f := newFixture(b)
			results := f.results(tasks)
			q := f.queue(Options{Capacity: tasks, Groups: 128, Local: 32, Takes: 8, Rounds: 2, Steal: steal}, stealText, nil, results)
			runs := uint32(0)
			for b.Loop() {
				f.push(q, 0, sequence(0, tasks)...)
				f.run(q)
				runs++
			}
			wantAll(b, f.download(results), func(task int) uint32 { return poison + runs*stealResult(task) })
			b.ReportMetric(float64(tasks*runs)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}
