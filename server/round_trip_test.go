//go:build linux

package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/trace"
)

// BenchmarkRoundTrip is one job of 4 KiB in and out at a time, each with a poisoned output
// and checked: by the executor that the server has, by the socket, and by the ring, with the
// client in this process and in one of its own. With a trace it reports the parts of a round
// trip by the ring: from Submit until the server has the request (in), the steps of package
// trace, and from the reply until Wait has returned (out).
func BenchmarkRoundTrip(b *testing.B) {
	f := serve(b, server.Options{})
	b.Run("executor", func(b *testing.B) { f.benchmarkExecutor(b) })
	b.Run("socket", func(b *testing.B) { benchmarkRoundTrip(b, f.dial(), nil) })
	b.Run("ring", func(b *testing.B) { benchmarkRoundTrip(b, f.dialWith(client.Options{Ring: 64 << 10}), nil) })
	b.Run("socket-process", func(b *testing.B) { f.benchmarkProcess(b, 0) })
	b.Run("ring-process", func(b *testing.B) { f.benchmarkProcess(b, 64<<10) })
	recorder := trace.NewRecorder(20 * int(maxSplit))
	traced := serve(b, server.Options{Tracer: recorder})
	b.Run("ring-split", func(b *testing.B) {
		benchmarkRoundTrip(b, traced.dialWith(client.Options{Ring: 64 << 10}), recorder)
	})
}

// maxSplit is the number of jobs whose parts are kept.
const maxSplit = 200_000

// roundTrips does jobs for a while and returns the time of each.
type roundTrips struct {
	begin, end []time.Time
}

// do runs a job with its output poisoned, and checks it.
func (r *roundTrips) do(got, want []byte, run func() error) error {
	for i := range got {
		got[i] = 0xA5
	}
	begin := time.Now()
	err := run()
	end := time.Now()
	if err == nil && !bytes.Equal(got, want) {
		err = errors.New("a wrong result")
	}
	r.begin, r.end = append(r.begin, begin), append(r.end, end)
	return err
}

// quantile returns the time below which that part of the round trips is.
func (r *roundTrips) quantile(q float64) time.Duration {
	took := make([]time.Duration, len(r.begin))
	for i := range took {
		took[i] = r.end[i].Sub(r.begin[i])
	}
	slices.Sort(took)
	return took[int(float64(len(took)-1)*q)]
}

func (r *roundTrips) report(b *testing.B) {
	b.ReportMetric(float64(r.quantile(0.5).Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(r.quantile(0.99).Nanoseconds()), "p99-ns")
}

func benchmarkRoundTrip(b *testing.B, c *client.Client, traced *trace.Recorder) {
	p := program(b, c, affine)
	job, got, want := affineJob(p, 1024, 3, 4)
	var trips roundTrips
	for b.Loop() {
		if err := trips.do(got, want, func() error { return submitAndWait(b.Context(), c, job) }); err != nil {
			b.Fatal(err)
		}
	}
	trips.report(b)
	if traced != nil {
		trips.reportSplit(b, traced.Recording().Events)
	}
}

func submitAndWait(ctx context.Context, c *client.Client, job *job.Job) error {
	pending, err := c.Submit(ctx, job)
	if err != nil {
		return err
	}
	return pending.Wait(ctx)
}

// benchmarkExecutor does the job without the server: what it takes beyond this is the
// server's.
func (f *fixture) benchmarkExecutor(b *testing.B) {
	p, err := f.gpu.Cache.Get(b.Context(), affine)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Release()
	_, got, want := affineJob(nil, 1024, 3, 4)
	in := words(1024, func(i uint32) uint32 { return i*2654435761 + 3 })
	job := job.Job{
		Dispatch: job.Dispatch{Program: p, Groups: [3]uint32{16, 1, 1}, Uniforms: []job.Uniform{job.Uint("a", 3), job.Uint("b", 4)}},
		Inputs:   []job.Input{{Binding: 0, Data: in}},
		Outputs:  []job.Output{{Binding: 1, To: got}},
	}
	var trips roundTrips
	for b.Loop() {
		err := trips.do(got, want, func() error {
			pending, err := f.gpu.Executor.Submit(b.Context(), job)
			if err != nil {
				return err
			}
			return pending.Wait(b.Context())
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	trips.report(b)
}

// reportSplit reports the median of each part of the round trips.
func (r *roundTrips) reportSplit(b *testing.B, events []trace.Event) {
	parts := map[string][]time.Duration{}
	trip := 0
	for _, e := range events {
		if e.Lane != trace.Server {
			continue
		}
		if e.Name != trace.Serve {
			parts[e.Name] = append(parts[e.Name], e.Took)
			continue
		}
		for trip < len(r.begin) && r.end[trip].Before(e.Begin) {
			trip++
		}
		if trip < len(r.begin) && r.begin[trip].Before(e.Begin) {
			parts["in"] = append(parts["in"], e.Begin.Sub(r.begin[trip]))
			parts["out"] = append(parts["out"], r.end[trip].Sub(e.End()))
		}
	}
	for name, took := range parts {
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), name+"-ns")
	}
}

// envTrips has this test binary run as a client of the server at that path, which does round
// trips for a second: see doRoundTrips.
const envTrips = "SHADERCACHE_SERVER_TRIPS"

// benchmarkProcess has a process of its own do round trips, by a ring of that size or, where
// it is 0, by the socket.
func (f *fixture) benchmarkProcess(b *testing.B, ring int) {
	for range b.N {
		cmd := exec.Command("/proc/self/exe", strconv.Itoa(ring))
		cmd.Env = append(cmd.Environ(), envTrips+"="+f.path)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		var p50, p99 int64
		if err == nil {
			_, err = fmt.Sscan(string(out), &p50, &p99)
		}
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(p50), "p50-ns")
		b.ReportMetric(float64(p99), "p99-ns")
	}
}

// doRoundTrips does round trips for a second and prints their median and 99th percentile, in
// nanoseconds.
func doRoundTrips(ctx context.Context, path, ring string) error {
	size, err := strconv.Atoi(ring)
	if err != nil {
		return err
	}
	c, err := client.Dial(ctx, client.Options{Path: path, Ring: size})
	if err != nil {
		return err
	}
	defer c.Close()
	p, err := c.Get(ctx, affine)
	if err != nil {
		return err
	}
	job, got, want := affineJob(p, 1024, 3, 4)
	var trips roundTrips
	for start := time.Now(); time.Since(start) < time.Second; {
		if err := trips.do(got, want, func() error { return submitAndWait(ctx, c, job) }); err != nil {
			return err
		}
	}
	fmt.Println(trips.quantile(0.5).Nanoseconds(), trips.quantile(0.99).Nanoseconds())
	return nil
}
