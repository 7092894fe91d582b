//go:build linux

package queue

import "testing"

// BenchmarkSteal measures the steal workload with 8,191 tasks.
func BenchmarkSteal(b *testing.B) {
	for _, steal := range []bool{false, true} {
		b.Run(name("steal", steal), func(b *testing.B) {
			f := newFixture(b)
			r, err := Steal(b.Context(), f.Executor, f.Cache, StealOptions{
				Options: Options{Groups: 128, Local: 32, Takes: 8, Rounds: 2, Steal: steal}, Tasks: 8191, Repeat: b.N})
			if err != nil || !r.Verified {
				b.Fatalf("%+v, %v", r, err)
			}
			b.ReportMetric(r.TasksPerSecond, "tasks/s")
		})
	}
}
