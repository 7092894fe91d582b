//go:build linux

package server_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/shader"
)

func TestMain(m *testing.M) {
	runAsClient()
	gltest.Main(m)
}

// runAsClient runs the client that the environment names, if it does, and ends the process.
func runAsClient() {
	var err error
	switch stream, die, short, idle := os.Getenv(envStream), os.Getenv(envDie), os.Getenv(envShort), os.Getenv(envIdle); {
	case os.Getenv(envStopped) != "":
		err = beStopped(os.Getenv(envStopped))
	case idle != "":
		err = beIdle(idle)
	case os.Getenv(envTrips) != "":
		err = doRoundTrips(context.Background(), os.Getenv(envTrips), os.Args[1])
	case short != "":
		err = shortClient(context.Background(), short, 5)
	case stream != "":
		err = streamForever(stream, os.Args[1], os.Args[2])
	case die != "":
		var step int
		_, scanned := fmt.Sscan(os.Args[1], &step)
		delay, parsed := time.ParseDuration(os.Args[2])
		if err = errors.Join(scanned, parsed); err == nil {
			err = dyingClient(die, step, delay)
		}
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// affine computes a*x + b of every word.
var affine = shader.MustSource("affine", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict readonly buffer In { uint x[]; };
layout(std430, binding = 1) restrict writeonly buffer Out { uint y[]; };
uniform uint a;
uniform uint b;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < x.length()) y[i] = a * x[i] + b;
}`, nil)

// fixture is a server with a GPU of its own. When the test ends it stops the server and
// fails the test for anything that a client left.
type fixture struct {
	*server.Server
	t    testing.TB
	gpu  *shadercache.GPU
	path string
	stop context.CancelFunc
	done chan error
}

func serve(t testing.TB, o server.Options) *fixture {
	t.Helper()
	return serveGPU(t, o, executor.Options{SlotBytes: 256 << 10, SlotJobs: 64})
}

func serveGPU(t testing.TB, o server.Options, e executor.Options) *fixture {
	t.Helper()
	return serveOptions(t, o, shadercache.Options{Cache: cache.Options{MemoryOnly: true}, Executor: e})
}

func serveOptions(t testing.TB, o server.Options, all shadercache.Options) *fixture {
	t.Helper()
	all.Executor.ErrorOfJob = true // as in a server
	gpu, err := shadercache.New(gltest.Open(t), all)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, gpu: gpu, path: filepath.Join(privateDir(t), "socket"), done: make(chan error, 1)}
	l, err := socket.Listen(f.path)
	if err != nil {
		t.Fatal(err)
	}
	f.Server = server.New(gpu.Context, gpu.Cache, gpu.Executor, o)
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	files := openFiles(t)
	go func() { f.done <- f.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-f.done; err != nil && !errors.Is(err, server.ErrIdle) {
			t.Errorf("serve: %v", err)
		}
		if n := gpu.Executor.Stats(); n.Timeouts != 0 {
			t.Errorf("%d timeouts", n.Timeouts)
		}
		if err := gpu.Close(); err != nil {
			t.Errorf("programs were left: %v", err)
		}
		if left := openFiles(t); left > files {
			t.Errorf("%d files are open, %d were before", left, files)
		}
	})
	return f
}

// privateDir returns a directory of mode 0700 with a short path: a socket's has a limit.
func privateDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "scs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func openFiles(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// dial connects a client that the test closes.
func (f *fixture) dial() *client.Client { return f.dialWith(client.Options{}) }

func (f *fixture) dialWith(o client.Options) *client.Client {
	f.t.Helper()
	o.Path, o.Name = f.path, f.t.Name()
	c, err := client.Dial(f.t.Context(), o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { c.Close() })
	return c
}

// program gets a program.
func program(t testing.TB, c *client.Client, source *shader.Source) job.Program {
	t.Helper()
	p, err := c.Get(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// words returns n words, each from its index.
func words(n int, of func(i uint32) uint32) []byte {
	b := make([]byte, 0, 4*n)
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, of(uint32(i)))
	}
	return b
}

// affineJob returns a job over n words, its output, and what the output has to be.
func affineJob(p job.Program, n int, a, b uint32) (j *job.Job, got, want []byte) {
	in := words(n, func(i uint32) uint32 { return i*2654435761 + a })
	want = words(n, func(i uint32) uint32 { return a*(i*2654435761+a) + b })
	got = make([]byte, 4*n)
	for i := range got {
		got[i] = 0xA5
	}
	return &job.Job{
		Dispatch: job.Dispatch{
			Program: p, Groups: [3]uint32{uint32(n+63) / 64, 1, 1}, Uniforms: []job.Uniform{job.Uint("a", a), job.Uint("b", b)},
		},
		Inputs:  []job.Input{{Binding: 0, Data: in}},
		Outputs: []job.Output{{Binding: 1, To: got}},
	}, got, want
}

// run runs one job and checks its output.
func run(ctx context.Context, c *client.Client, p job.Program, n int, a, b uint32) error {
	j, got, want := affineJob(p, n, a, b)
	pending, err := c.Submit(ctx, j)
	if err != nil {
		return err
	}
	defer pending.Release()
	if err := pending.Wait(ctx); err != nil {
		return err
	}
	if string(got) != string(want) {
		return fmt.Errorf("a job of %d words computed wrong", n)
	}
	return nil
}

// eventually waits for a condition that another process or goroutine brings about.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for start := time.Now(); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			t.Fatalf("after 30 s: not %s", what)
		}
	}
}
