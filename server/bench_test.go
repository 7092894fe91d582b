//go:build linux

package server_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
)

// BenchmarkRoundTrip is one job of 4 KiB in and out at a time, each checked.
func BenchmarkRoundTrip(b *testing.B) {
	f := serve(b, server.Options{})
	b.Run("socket", func(b *testing.B) { benchmarkRoundTrip(b, f.dial()) })
	b.Run("ring", func(b *testing.B) { benchmarkRoundTrip(b, f.dialWith(client.Options{Ring: 64 << 10})) })
}

func benchmarkRoundTrip(b *testing.B, c *client.Client) {
	p := program(b, c, affine)
	job, got, want := affineJob(p, 1024, 3, 4)
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		pending, err := c.Submit(b.Context(), job)
		if err == nil {
			err = pending.Wait(b.Context())
		}
		if err != nil || !bytes.Equal(got, want) {
			b.Fatal(err, "or a wrong result")
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

// BenchmarkEightClients is 8 sessions with 64 jobs of 4 KiB in flight each, all checked.
func BenchmarkEightClients(b *testing.B) {
	f := serveGPU(b, server.Options{}, executor.Options{})
	const clients = 8
	var all sync.WaitGroup
	var done [clients]time.Duration
	b.ResetTimer()
	start := time.Now()
	for i := range clients {
		all.Go(func() {
			c, err := client.Dial(b.Context(), client.Options{Path: f.path})
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			p, err := c.Program(b.Context(), affine)
			if err == nil {
				err = stream(b.Context(), c, p, max(1, b.N/clients), 64, uint32(i))
			}
			if err != nil {
				b.Error(err)
			}
			done[i] = time.Since(start)
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "jobs/s")
	b.ReportMetric(float64(slices.Min(done[:]))/float64(slices.Max(done[:])), "first/last")
}

// BenchmarkBytes copies 64 MiB of shared memory to a buffer, and back.
func BenchmarkBytes(b *testing.B) {
	f := serve(b, server.Options{})
	c := f.dial()
	const size = 64 << 20
	m, err := c.NewMemory(b.Context(), size)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Release()
	buffer, err := c.NewBuffer(b.Context(), size)
	if err != nil {
		b.Fatal(err)
	}
	for i := range m.Bytes() {
		m.Bytes()[i] = byte(i * 7)
	}
	for name, copies := range map[string]func() error{
		"in": func() error {
			_, err := buffer.UploadFrom(b.Context(), 0, m, 0, size)
			return err
		},
		"out": func() error {
			_, err := buffer.DownloadTo(b.Context(), 0, m, 0, size)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				if err := copies(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFirstResult is the time from the exec of a client to its end, with its first
// verified result: a Go program without cgo, the program resident.
func BenchmarkFirstResult(b *testing.B) {
	f := serve(b, server.Options{})
	path := os.Getenv("SHADERCACHE_TEST_FIRSTRESULT") // for machines without Go
	if path == "" {
		path = filepath.Join(b.TempDir(), "firstresult")
		build := exec.Command("go", "build", "-o", path, "../internal/bench/firstresult")
		build.Env = append(build.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	run := func() {
		if out, err := exec.Command(path, f.path).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	run() // compiles
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		run()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1000, "p90-ms")
}
