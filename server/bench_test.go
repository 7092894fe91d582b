//go:build linux

package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/shader"
)

// envStream has this test binary run as a client of the server at that path, which streams
// jobs: see streamForever.
const envStream = "SHADERCACHE_SERVER_STREAM"

// BenchmarkEightClients is 8 client processes with 64 jobs of 4 KiB in flight each, all
// checked, for 2 s an iteration. least-share is the least part of the jobs that a process
// got, 1 being an eighth.
func BenchmarkEightClients(b *testing.B) {
	f := serveGPU(b, server.Options{}, executor.Options{})
	const clients = 8
	var processes []*streamer
	for i := range clients {
		processes = append(processes, startStreamer(b, f.path, i, smallJobs))
	}
	jobs, least, total := 0, 1.0, time.Duration(0)
	for range b.N {
		counts, took := runStreamers(b, processes, 2*time.Second)
		total += took
		sum := 0
		for _, n := range counts {
			sum += n
		}
		jobs += sum
		least = min(least, float64(slices.Min(counts)*clients)/float64(sum))
	}
	b.ReportMetric(float64(jobs)/total.Seconds(), "jobs/s")
	b.ReportMetric(least, "least-share")
	b.ReportMetric(0, "ns/op")
}

// streamer is a client process.
type streamer struct {
	in  io.Writer
	out *bufio.Scanner
}

func startStreamer(b *testing.B, path string, seed int, kind string) *streamer {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self, fmt.Sprint(seed), kind)
	cmd.Env = append(cmd.Environ(), envStream+"="+path)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	s := &streamer{in, bufio.NewScanner(out)}
	s.run(b, 0) // it is connected, and has its program
	return s
}

// run has the process stream for a time, and returns its number of jobs.
func (s *streamer) run(b *testing.B, d time.Duration) int {
	fmt.Fprintln(s.in, d)
	if !s.out.Scan() {
		b.Error("a client ended")
		return 0
	}
	n, err := strconv.Atoi(s.out.Text())
	if err != nil {
		b.Error(err)
	}
	return n
}

// The kinds of jobs that a client process streams.
const (
	smallJobs = "small" // 4 KiB in and out
	longJobs  = "long"  // a kernel of 65,000 steps that depend on each other, 4 KiB out
)

// streamForever streams jobs for each duration that it reads, and prints their number.
func streamForever(path, seed, kind string) error {
	ctx := context.Background()
	c, err := client.Dial(ctx, client.Options{Path: path})
	if err != nil {
		return err
	}
	defer c.Close()
	first, err := strconv.Atoi(seed)
	if err != nil {
		return err
	}
	some, jobs, err := streamOf(ctx, c, uint32(first), kind)
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		d, err := time.ParseDuration(lines.Text())
		if err != nil {
			return err
		}
		n := 0
		for start := time.Now(); n == 0 || time.Since(start) < d; n += jobs {
			if err := some(); err != nil {
				return err
			}
		}
		fmt.Println(n)
	}
	return nil
}

// streamOf returns a function that runs and checks some jobs of a kind, and their number.
func streamOf(ctx context.Context, c *client.Client, seed uint32, kind string) (some func() error, jobs int, err error) {
	if kind == longJobs {
		p, err := c.Get(ctx, slow)
		return func() error { return streamLong(ctx, c, p, 16) }, 16, err
	}
	p, err := c.Get(ctx, affine)
	return func() error { return stream(ctx, c, p, 1024, 64, seed) }, 1024, err
}

const longTurns = 65000 // below the limit of a software driver

// longResults is what a long job has to compute.
var longResults = sync.OnceValue(func() []byte {
	return words(1024, func(v uint32) uint32 {
		for range longTurns {
			v = v*1664525 + 1013904223
		}
		return v
	})
})

// streamLong runs long jobs, 16 in flight, and checks them.
func streamLong(ctx context.Context, c *client.Client, p job.Program, jobs int) error {
	const depth = 16
	var pending [depth]job.Pending
	var got [depth][]byte
	for i := range jobs + depth {
		slot := i % depth
		if waiting := pending[slot]; waiting != nil {
			if err := waiting.Wait(ctx); err != nil {
				return err
			}
			if !bytes.Equal(got[slot], longResults()) {
				return errors.New("a long job computed wrong")
			}
			pending[slot] = nil
		}
		if i >= jobs {
			continue
		}
		got[slot] = bytes.Repeat([]byte{0xA5}, 4096)
		var err error
		pending[slot], err = c.Submit(ctx, &job.Job{
			Dispatch: job.Dispatch{Program: p, Groups: [3]uint32{16, 1, 1}, Uniforms: []job.Uniform{job.Uint("turns", longTurns)}},
			Outputs:  []job.Output{{Binding: 0, To: got[slot]}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// envServers has BenchmarkServers use servers that run, as "one=SOCKET both=SOCKET": shadercache
// serve with one device and with all.
const envServers = "SHADERCACHE_BENCH_SERVERS"

// BenchmarkServers is 8 client processes at each of some servers, which take turns of 0.7 s, so
// that each server finds the same machine: jobs a second of each, and the least part that a
// process got, 1 being an eighth.
func BenchmarkServers(b *testing.B) {
	list := strings.Fields(os.Getenv(envServers))
	if len(list) == 0 {
		b.Skip("no servers in " + envServers)
	}
	for _, kind := range []string{smallJobs, longJobs} {
		b.Run(kind, func(b *testing.B) { benchmarkServers(b, list, kind) })
	}
}

func benchmarkServers(b *testing.B, list []string, kind string) {
	const clients = 8
	processes := make([][]*streamer, len(list))
	for i, server := range list {
		_, path, _ := strings.Cut(server, "=")
		for seed := range clients {
			processes[i] = append(processes[i], startStreamer(b, path, seed, kind))
		}
	}
	jobs, took, least := make([]int, len(list)), make([]time.Duration, len(list)), slices.Repeat([]float64{1}, len(list))
	for range b.N {
		for i := range list {
			counts, elapsed := runStreamers(b, processes[i], 700*time.Millisecond)
			sum := 0
			for _, n := range counts {
				sum += n
			}
			jobs[i] += sum
			took[i] += elapsed
			least[i] = min(least[i], float64(slices.Min(counts)*clients)/float64(sum))
		}
	}
	for i, server := range list {
		name, _, _ := strings.Cut(server, "=")
		b.ReportMetric(float64(jobs[i])/took[i].Seconds(), name+"-jobs/s")
		b.ReportMetric(least[i], name+"-least-share")
	}
	b.ReportMetric(0, "ns/op")
}

// runStreamers has processes stream for a time, and returns the jobs of each.
func runStreamers(b *testing.B, processes []*streamer, d time.Duration) (counts []int, took time.Duration) {
	counts = make([]int, len(processes))
	var all sync.WaitGroup
	start := time.Now()
	for i, p := range processes {
		all.Go(func() { counts[i] = p.run(b, d) })
	}
	all.Wait()
	return counts, time.Since(start)
}

// BenchmarkBytes copies 64 MiB of shared memory to a buffer, and back, and compares them.
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
	want := words(size/4, func(i uint32) uint32 { return i * 2654435761 })
	copy(m.Bytes(), want)
	copied := func(b *testing.B, copies func() error) {
		b.SetBytes(size)
		for b.Loop() {
			if err := copies(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("in", func(b *testing.B) {
		copied(b, func() error {
			_, err := buffer.Write(b.Context(), 0, m.Bytes()[:size])
			return err
		})
	})
	clear(m.Bytes())
	b.Run("out", func(b *testing.B) {
		copied(b, func() error {
			_, err := buffer.Read(b.Context(), 0, m.Bytes()[:size])
			return err
		})
	})
	if !bytes.Equal(m.Bytes(), want) {
		b.Error("other bytes came back")
	}
}

// BenchmarkLargeJob is a job with 64 MiB of shared memory in and 64 MiB out, checked once.
func BenchmarkLargeJob(b *testing.B) {
	f := serve(b, server.Options{})
	c := f.dial()
	const size = 64 << 20
	m := newMemory(b, c, 2*size)
	job := wideJob(program(b, c, wide), m, size)
	run := func() {
		pending, err := c.Submit(b.Context(), job)
		if err == nil {
			err = pending.Wait(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	run()
	checkWide(b, m, size)
	before := f.Status().Counters.BytesCopied
	b.SetBytes(2 * size)
	n := 0
	for b.Loop() {
		run()
		n++
	}
	b.ReportMetric(float64(f.Status().Counters.BytesCopied-before)/float64(n), "copied-B/op")
}

// BenchmarkFirstResult is the time from the exec of a client to its end, with its first
// verified result: a Go program without cgo, the program resident.
func BenchmarkFirstResult(b *testing.B) {
	f := serve(b, server.Options{})
	path := os.Getenv("SHADERCACHE_TEST_FIRSTRESULT") // for machines without Go
	if path == "" {
		path = filepath.Join(b.TempDir(), "firstresult")
		build := exec.Command("go", "build", "-o", path, "../lab/bench/firstresult")
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

// envIdle has this test binary run as a process that has a context, and is idle: "context"
// has no more, "program" has run a program, which has the driver load its compiler; else it
// is the socket of a server that it runs.
const envIdle = "SHADERCACHE_SERVER_IDLE"

// BenchmarkIdle measures processes with a context: one with nothing else, one that has run a
// program, and one with a server that has run a job of it. It reports memory of the host, and
// the CPU time of each in 10 s without work, that of the server by thread as well. What the
// server takes beyond the driver is its memory and its time less those of the second.
func BenchmarkIdle(b *testing.B) {
	path := filepath.Join(privateDir(b), "socket")
	roles := map[string]string{"context": "context", "program": "program", "server": path}
	pids, memory, before := map[string]string{}, map[string]int{}, map[string]map[string]time.Duration{}
	for name, role := range roles {
		pids[name] = startIdle(b, role)
	}
	if err := shortClient(b.Context(), path, 5); err != nil {
		b.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	for name, pid := range pids {
		before[name] = threadTimes(b, pid)
	}
	time.Sleep(10 * time.Second)
	for name, pid := range pids {
		total := time.Duration(0)
		for thread, now := range threadTimes(b, pid) {
			used := now - before[name][thread]
			if total += used; name == "server" && used > 0 {
				b.Logf("thread %s of the server: %v", thread, used)
			}
		}
		b.ReportMetric(float64(total.Microseconds()), name+"-cpu-us")
		for _, kind := range []string{"RssAnon", "RssFile", "RssShmem"} {
			kib := statusOf(b, pid, kind)
			memory[name] += kib
			b.ReportMetric(float64(kib)/1024, name+"-"+kind+"-MiB")
		}
	}
	b.ReportMetric(float64(memory["server"]-memory["program"])/1024, "beyond-driver-MiB")
	b.ReportMetric(0, "ns/op")
}

// startIdle starts a process and returns its id.
func startIdle(b *testing.B, role string) string {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(cmd.Environ(), envIdle+"="+role)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	if lines := bufio.NewScanner(out); !lines.Scan() {
		b.Fatal("the process ended")
	}
	return strconv.Itoa(cmd.Process.Pid)
}

// beIdle has the role until its standard input ends.
func beIdle(role string) error {
	wait := func() {
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	// As a server's worker. The role "program" shows what the driver's threads take.
	c, err := glctx.Open(glctx.Options{NoCompilerThreads: role != "context" && role != "program"})
	if err != nil {
		return err
	}
	if role == "context" {
		wait()
		return c.Close()
	}
	if role == "program" {
		if err := runProgram(c); err != nil {
			return err
		}
		wait()
		return c.Close()
	}
	gpu, err := shadercache.New(c, shadercache.Options{Cache: cache.Options{MemoryOnly: true}})
	if err != nil {
		return err
	}
	l, err := socket.Listen(role)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.New(gpu.Context, gpu.Cache, gpu.Executor, server.Options{}).Serve(ctx, l) }()
	wait()
	stop()
	return errors.Join(<-done, gpu.Close())
}

// runProgram compiles affine and runs it once.
func runProgram(c *glctx.Context) error {
	var p shader.Program
	var failed error
	c.Compile(context.Background(), []*shader.Source{affine}, func(_ int, compiled shader.Program, err error) { p, failed = compiled, err })
	if failed != nil {
		return failed
	}
	return c.Do(func(gl *glctx.GL) error {
		for binding := range uint32(2) {
			b, err := gl.NewBuffer(4096, make([]byte, 4096))
			if err != nil {
				return err
			}
			gl.BindStorage(binding, b)
		}
		gl.UseProgram(p.ID)
		gl.Dispatch(16, 1, 1)
		gl.Finish()
		return gl.Err()
	})
}

// threadTimes returns the CPU time of each thread of a process, by its id and name: the first
// field of /proc/PID/task/TID/schedstat, in nanoseconds.
func threadTimes(b *testing.B, pid string) map[string]time.Duration {
	dirs, err := filepath.Glob("/proc/" + pid + "/task/*")
	if err != nil || len(dirs) == 0 {
		b.Fatal("no threads: ", err)
	}
	times := map[string]time.Duration{}
	for _, dir := range dirs {
		name, err1 := os.ReadFile(filepath.Join(dir, "comm"))
		text, err2 := os.ReadFile(filepath.Join(dir, "schedstat"))
		if err1 != nil || err2 != nil {
			continue // it has ended
		}
		var ns int64
		if _, err := fmt.Sscan(string(text), &ns); err != nil {
			b.Fatal(err)
		}
		times[filepath.Base(dir)+" "+strings.TrimSpace(string(name))] = time.Duration(ns)
	}
	return times
}
