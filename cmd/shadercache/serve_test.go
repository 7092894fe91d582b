//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	programs "github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/shader"
)

var twice = shader.MustSource("twice", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict readonly buffer In { uint x[]; };
layout(std430, binding = 1) restrict writeonly buffer Out { uint y[]; };
void main() { uint i = gl_GlobalInvocationID.x; y[i] = 2u * x[i] + 1u; }`, nil)

// again is another program that computes the same.
var again = shader.MustSource("again", twice.Text()+"\n// again", nil)

// served is a running shadercache serve.
type served struct {
	t        *testing.T
	cmd      *exec.Cmd
	path     string
	result   serveResult
	messages *bytes.Buffer // read it after the end
	ended    chan error
	gone     chan struct{} // closed with ended
}

// serveProcess starts shadercache serve and waits until it serves. The test ends it.
func serveProcess(t *testing.T, environment []string, args ...string) *served {
	t.Helper()
	gltest.Open(t) // skips or fails where there is no driver
	s := &served{t: t, path: filepath.Join(shortDir(t), "socket"), messages: &bytes.Buffer{}, ended: make(chan error, 2)}
	s.start(environment, args...)
	return s
}

func (s *served) start(environment []string, args ...string) {
	s.t.Helper()
	dir := s.t.TempDir()
	cmd := clitest.SelfAs(s.t, "shadercache", append([]string{"serve", "--json", "--dir", dir, "--socket", s.path}, args...)...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stderr = s.messages
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = cmd
	s.t.Cleanup(func() { // waits for the worker, which uses dir
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-s.gone
	})
	gone := make(chan struct{})
	s.gone = gone
	if err := json.NewDecoder(out).Decode(&s.result); err != nil {
		_ = cmd.Wait()
		close(gone)
		s.t.Fatalf("%v\n%s", err, s.messages)
	}
	go func() {
		_, _ = io.Copy(io.Discard, out)
		s.ended <- cmd.Wait()
		close(gone)
	}()
}

// shortDir returns a private directory with a short path: a socket's has a limit.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "scs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (s *served) dial() *client.Client {
	s.t.Helper()
	c, err := client.Dial(s.t.Context(), client.Options{Path: s.path})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// runJob runs one job in a session and checks its result.
func runJob(ctx context.Context, c *client.Client) error { return jobOf(ctx, c, twice) }

func jobOf(ctx context.Context, c *client.Client, source *shader.Source) error {
	p, err := c.Get(ctx, source)
	if err != nil {
		return err
	}
	var in, want []byte
	for i := range uint32(1024) {
		in, want = binary.LittleEndian.AppendUint32(in, i), binary.LittleEndian.AppendUint32(want, 2*i+1)
	}
	got := make([]byte, len(in))
	pending, err := c.Submit(ctx, &job.Job{
		Dispatch: job.Dispatch{Program: p, Groups: [3]uint32{16, 1, 1}},
		Inputs:   []job.Input{{Binding: 0, Data: in}}, Outputs: []job.Output{{Binding: 1, To: got}},
	})
	if err != nil {
		return err
	}
	if err := pending.Wait(ctx); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return errors.New("the job computed wrong")
	}
	return nil
}

// end stops the server and returns its exit error.
func (s *served) end(sig os.Signal) error {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	return <-s.ended
}

// compilesIn returns how many compiles were recorded.
func compilesIn(t *testing.T, path string) uint64 {
	t.Helper()
	dir, err := programs.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	lifetime, err := dir.Lifetime()
	if err != nil {
		t.Fatal(err)
	}
	return lifetime.Compiles
}

// TestFlushes records what the cache of a server did while it is open, and before the process of
// one with a lost context ends.
func TestFlushes(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	g := fakeGPU(cachetest.NewDevice(), path, false)
	get := func(index int) {
		p, err := g.Cache.Get(t.Context(), fakeSource(index))
		if err != nil {
			t.Fatal(err)
		}
		p.Release()
	}
	get(0)
	ended := make(chan struct{})
	go func() {
		keepRecorded(time.Millisecond, g.Cache)
		close(ended)
	}()
	clitest.Eventually(t, "what a server did is recorded", func() bool { return compilesIn(t, path) == 1 })
	if err := g.Cache.Close(); err != nil {
		t.Error(err)
	}
	<-ended

	g = fakeGPU(cachetest.NewDevice(), path, false)
	get(1)
	if flushWithin(time.Minute, g.Cache); compilesIn(t, path) != 2 {
		t.Error("what was done last is not recorded")
	}
	if err := g.Cache.Close(); err != nil {
		t.Error(err)
	}
}

// TestServeRestartsItsWorker makes the driver fail under a job. The client gets an error
// that says so; the next client has a worker that works, and learns why.
func TestServeRestartsItsWorker(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  *faultgl.Fault
		errors []error // that the client's matches
		ended  string
	}{
		{"hangs", &faultgl.Fault{Mode: faultgl.Hang, At: "glDispatchCompute", Once: true}, []error{job.ErrLost, client.ErrServerGone}, "nothing on the GPU completed for 10s"},
		{"is lost", &faultgl.Fault{Mode: faultgl.Lost, At: "glDispatchCompute", Once: true}, []error{job.ErrLost, client.ErrServerGone}, "context lost"},
		{"crashes", &faultgl.Fault{Mode: faultgl.Crash, At: "glDispatchCompute", Once: true}, []error{client.ErrServerGone}, ""},
		{"is killed", nil, []error{client.ErrServerGone}, "signal 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var environment []string
			if c.fault != nil {
				environment = faultgl.Environment(t, *c.fault)
			}
			s := serveProcess(t, environment, "--hang-time", "10s")
			first := s.dial()
			if c.fault == nil {
				for _, worker := range clitest.ChildrenOf(t, s.cmd.Process.Pid) {
					_ = syscall.Kill(worker, syscall.SIGKILL)
				}
			}
			err := runJob(t.Context(), first)
			for _, want := range c.errors {
				if !errors.Is(err, want) {
					t.Errorf("the job: %v, not %v", err, want)
				}
			}
			second := s.dial()
			if w := second.Welcome(); w.Generation != 2 || w.Ended == "" || !strings.Contains(w.Ended, c.ended) {
				t.Errorf("generation %d, ended %q", w.Generation, w.Ended)
			}
			// Not the program under which the driver crashed, which may be in quarantine.
			if err := jobOf(t.Context(), second, again); err != nil {
				t.Error("after the restart: ", err)
			}
			second.Close()
			if err := s.end(syscall.SIGTERM); err != nil {
				t.Errorf("%v\n%s", err, s.messages)
			}
			if _, err := os.Lstat(s.path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket was left: %v", err)
			}
		})
	}
}

// TestWorkerEndsWhileJobsRun ends the worker by a signal while clients have jobs in flight: each job
// has its result or an error, and the clients that connect again go on with another worker.
func TestWorkerEndsWhileJobsRun(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) { endWorkerWhileJobsRun(t, signal) })
	}
}

func endWorkerWhileJobsRun(t *testing.T, signal syscall.Signal) {
	s := serveProcess(t, nil)
	var all sync.WaitGroup
	var done, lost atomic.Int64
	for range 3 {
		all.Go(func() {
			for generation := uint64(1); generation < 2; {
				c, err := client.Dial(t.Context(), client.Options{Path: s.path})
				if err != nil {
					t.Error(err)
					return
				}
				generation = c.Welcome().Generation
				for err = runJob(t.Context(), c); err == nil && generation < 2; err = runJob(t.Context(), c) {
					done.Add(1)
				}
				c.Close()
				if err != nil && (generation == 2 || !errors.Is(err, client.ErrServerGone)) {
					t.Errorf("generation %d: %v", generation, err)
					return
				}
				lost.Add(int64(2 - generation))
			}
		})
	}
	clitest.Eventually(t, "jobs run", func() bool { return done.Load() > 10 })
	for _, worker := range clitest.ChildrenOf(t, s.cmd.Process.Pid) {
		_ = syscall.Kill(worker, signal)
	}
	all.Wait()
	if n := lost.Load(); n != 3 {
		t.Errorf("%d sessions were lost", n)
	}
}

// TestServeWithoutDeviceMemory has a driver that is out of memory for a while.
func TestServeWithoutDeviceMemory(t *testing.T) {
	t.Parallel()
	full := filepath.Join(t.TempDir(), "full")
	s := serveProcess(t, faultgl.Environment(t, faultgl.Fault{Mode: faultgl.OutOfMemory, At: "glNamedBufferStorage", While: full}))
	c := s.dial()
	if err := runJob(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.NewBuffer(t.Context(), 4096); !errors.Is(err, shader.ErrOutOfMemory) {
		t.Error(err)
	}
	if _, err := c.NamedBuffer(t.Context(), "name", 4096); !errors.Is(err, shader.ErrOutOfMemory) {
		t.Error(err)
	}
	if err := runJob(t.Context(), c); err != nil {
		t.Error("while it is out of memory: ", err)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if b, err := c.NamedBuffer(t.Context(), "name", 4096); err != nil || !b.Created() {
		t.Error("after it: ", err)
	}
}

// TestServeGivesUpWithoutADriver has no driver: the first worker ends before it serves.
func TestServeGivesUpWithoutADriver(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	cmd := clitest.SelfAs(t, "shadercache", "serve", "--dir", t.TempDir(), "--socket", filepath.Join(shortDir(t), "socket"))
	cmd.Env = append(os.Environ(), faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Refuse, At: "eglInitialize"})...)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !bytes.Contains(out, []byte("hint:")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestServeReplacesADeadServer kills the supervisor: its worker ends, and the socket that is
// left does not keep the next server from starting.
func TestServeReplacesADeadServer(t *testing.T) {
	t.Parallel()
	s := serveProcess(t, nil)
	c := s.dial()
	if err := runJob(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	workers := clitest.ChildrenOf(t, s.cmd.Process.Pid)
	_ = s.end(syscall.SIGKILL)
	clitest.Eventually(t, "the session ended", func() bool { return c.Err() != nil })
	if !errors.Is(c.Err(), client.ErrServerGone) {
		t.Error(c.Err())
	}
	clitest.Eventually(t, "the worker ended", func() bool {
		for _, pid := range workers {
			if syscall.Kill(pid, 0) == nil {
				return false
			}
		}
		return true
	})
	if _, err := os.Lstat(s.path); err != nil {
		t.Errorf("there is no stale socket: %v", err)
	}
	if _, err := client.Dial(t.Context(), client.Options{Path: s.path}); !errors.Is(err, job.ErrNoServer) {
		t.Error(err)
	}
	s.start(nil)
	if err := runJob(t.Context(), s.dial()); err != nil {
		t.Error(err)
	}
}

// TestOfServersThatStartAtOnceOneServes starts several with one socket.
func TestOfServersThatStartAtOnceOneServes(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	path := filepath.Join(shortDir(t), "socket")
	var all sync.WaitGroup
	ready := make(chan *exec.Cmd, 4)
	refused := make(chan string, 4)
	for range 4 {
		cmd := clitest.SelfAs(t, "shadercache", "serve", "--dir", t.TempDir(), "--socket", path)
		var messages bytes.Buffer
		cmd.Stderr = &messages
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if line, err := bufio.NewReader(out).ReadString('\n'); err == nil && strings.HasPrefix(line, "serving ") {
				ready <- cmd
				return
			}
			_ = cmd.Wait()
			refused <- messages.String()
		})
	}
	all.Wait()
	close(refused)
	if len(ready) != 1 {
		t.Fatalf("%d servers serve", len(ready))
	}
	for text := range refused {
		if !strings.Contains(text, "a server runs already") || !strings.Contains(text, "hint:") {
			t.Error(text)
		}
	}
	c, err := client.Dial(t.Context(), client.Options{Path: path})
	if err == nil {
		err = runJob(t.Context(), c)
		c.Close()
	}
	if err != nil {
		t.Error(err)
	}
	winner := <-ready
	_ = winner.Process.Signal(syscall.SIGTERM)
	if err := winner.Wait(); err != nil {
		t.Error(err)
	}
}

// TestSocketActivation passes a listening socket, as systemd does: a client may connect
// before the server starts.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	path := filepath.Join(shortDir(t), "socket")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	result := make(chan error, 1)
	go func() {
		c, err := client.Dial(t.Context(), client.Options{Path: path})
		if err == nil {
			err = runJob(t.Context(), c)
			c.Close()
		}
		result <- err
	}()
	cmd := clitest.SelfAs(t, "shadercache", "serve", "--dir", t.TempDir(), "--idle-exit", "100ms")
	self := cmd.Path
	cmd = exec.Command("bash", append([]string{"-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec -a shadercache "$0" "$@"`, self}, cmd.Args[1:]...)...)
	cmd.ExtraFiles = []*os.File{file}
	var messages bytes.Buffer
	cmd.Stderr = &messages
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, &messages)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the service manager's socket was removed: %v", err)
	}
}

// TestStatusPages reads the pages of serve --status.
func TestStatusPages(t *testing.T) {
	t.Parallel()
	s := serveProcess(t, nil, "--status", "127.0.0.1:0")
	if err := runJob(t.Context(), s.dial()); err != nil {
		t.Fatal(err)
	}
	page := func(name string) string {
		t.Helper()
		r, err := http.Get(s.result.Pages + name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, %v", name, r.Status, err)
		}
		return string(body)
	}
	var report struct{ Devices []server.Status }
	err := json.Unmarshal([]byte(page("/status")), &report)
	if own := report.Devices[0]; err != nil || own.Counters.Jobs != 1 || len(own.Sessions) != 1 || own.GPU != s.result.GPU {
		t.Errorf("%v, %+v", err, report)
	}
	metrics := page("/metrics")
	for _, line := range []string{"shadercache_server_jobs_total{device=\"0\"} 1", "shadercache_server_sessions{device=\"0\"} 1", "process_resident_memory_bytes ", "go_goroutines "} {
		if !strings.Contains(metrics, "\n"+line) {
			t.Errorf("no %q in the metrics", line)
		}
	}
	if page("/healthz") != "ok\n" || !strings.Contains(page("/debug/pprof/goroutine?debug=1"), "goroutine profile") {
		t.Error("no health or no profile")
	}
}

// TestRunUsesAServer runs the command with a server, twice, and without one.
func TestRunUsesAServer(t *testing.T) {
	t.Parallel()
	s := serveProcess(t, nil)
	picture := filepath.Join(t.TempDir(), "small.png")
	if err := imaging.WritePNG(picture, clitest.SmallPicture()); err != nil {
		t.Fatal(err)
	}
	type result struct {
		Server, Verified bool
		Compiles         uint64
		DiskHits         uint64 `json:"disk_hits"`
		Programs         []struct{ Origin string }
	}
	run := func(server string) (r result) {
		t.Helper()
		cmd := clitest.SelfAs(t, "shadercache", "run", "--json", "--dir", t.TempDir(), "--server", server, "--image", picture, "--out", filepath.Join(t.TempDir(), "out.png"))
		cmd.Env = append(os.Environ(), "SHADERCACHE_SERVER=", "XDG_RUNTIME_DIR="+t.TempDir())
		out, err := cmd.Output()
		if err = errors.Join(err, json.Unmarshal(out, &r)); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return r
	}
	if r := run(s.path); !r.Server || !r.Verified || r.Compiles != 1 {
		t.Errorf("the first run: %+v", r)
	}
	if r := run(s.path); !r.Server || !r.Verified || r.Compiles != 0 || r.DiskHits != 0 || r.Programs[0].Origin != "resident" {
		t.Errorf("the second run: %+v", r)
	}
	if r := run("auto"); r.Server || !r.Verified {
		t.Errorf("where no server runs: %+v", r)
	}
	out, err := clitest.SelfAs(t, "shadercache", "run", "--server", filepath.Join(shortDir(t), "none")).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("no shadercache server listens")) || !bytes.Contains(out, []byte("hint:")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestKilledClients kills processes that stream jobs, each after another time. Nothing of
// them is left, and the others are served right.
func TestKilledClients(t *testing.T) {
	t.Parallel()
	s := serveProcess(t, nil)
	good := s.dial()
	kills := 12
	if os.Getenv("SHADERCACHE_SOAK") == "1" {
		kills = 200
	}
	for i := range kills {
		cmd := clitest.SelfAs(t, streamName, s.path)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it has a session
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i%100) * 300 * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if err := runJob(t.Context(), good); err != nil {
			t.Fatalf("after kill %d: %v", i, err)
		}
	}
	clitest.Eventually(t, "nothing left", func() bool {
		data, err := good.Status(t.Context())
		var status server.Status
		if err = errors.Join(err, json.Unmarshal(data, &status)); err != nil {
			t.Fatal(err)
		}
		return len(status.Sessions) == 1
	})
}

// streamName is a client that streams jobs until it is killed: SOCKET.
const streamName = "stream-client"

func streamMain() {
	ctx := context.Background()
	c, err := client.Dial(ctx, client.Options{Path: os.Args[1]})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("connected")
	m, err := c.NewMemory(ctx, 1<<20)
	b, err2 := c.NewBuffer(ctx, 1<<20)
	p, err3 := c.Get(ctx, twice)
	if err := errors.Join(err, err2, err3); err != nil {
		os.Exit(1)
	}
	for {
		if _, err := b.Write(ctx, 0, m.Bytes()[:1<<20]); err != nil {
			os.Exit(1)
		}
		var pending []job.Pending
		for range 32 {
			each, err := c.Submit(ctx, &job.Job{
				Dispatch: job.Dispatch{Program: p, Groups: [3]uint32{4096, 1, 1}, Buffers: []job.Bound{{Binding: 0, Buffer: b, ReadOnly: true}}},
				Outputs:  []job.Output{{Binding: 1, To: m.Bytes()[:1<<20]}},
			})
			if err != nil {
				os.Exit(1)
			}
			pending = append(pending, each)
		}
		for _, each := range pending {
			if each.Wait(ctx) != nil {
				os.Exit(1)
			}
		}
	}
}
