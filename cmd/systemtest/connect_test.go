//go:build linux

package systemtest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// command builds the command once, and returns its path.
var command = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(os.Getenv("SHADERCACHE_DIR"), "command") // TestMain removes it
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "shadercache")
	build := exec.Command("go", "build", "-tags", "egl", "-ldflags=-w", "-o", path, "./cmd/shadercache")
	out, err := build.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return path, err
})

// serverProcess is a running shadercache serve.
type serverProcess struct {
	path string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startServer starts a server and waits until it serves. The test ends it.
func startServer(t testing.TB, args ...string) *serverProcess {
	t.Helper()
	gltest.Open(t) // skips or fails where there is no driver
	program, err := command()
	if err != nil {
		t.Fatal(err)
	}
	s := &serverProcess{path: filepath.Join(shortDir(t), "socket"), done: make(chan struct{})}
	s.cmd = exec.Command(program, append([]string{"serve", "--json", "--socket", s.path, "--dir", t.TempDir()}, args...)...)
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		<-s.done
	})
	err = json.NewDecoder(out).Decode(&struct{}{})
	go func() {
		_ = s.cmd.Wait()
		close(s.done)
	}()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kill kills the server and its worker.
func (s *serverProcess) kill(t *testing.T) {
	t.Helper()
	pid := s.cmd.Process.Pid
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	_ = s.cmd.Process.Signal(syscall.SIGSTOP) // it starts no other worker
	for _, task := range tasks {
		var list []byte
		if list, err = os.ReadFile(task); err != nil {
			break
		}
		for _, word := range strings.Fields(string(list)) {
			var child int
			if child, err = strconv.Atoi(word); err == nil {
				err = syscall.Kill(child, syscall.SIGKILL)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Process.Kill()
	<-s.done
}

// shortDir returns a private directory with a short path: a socket's has a limit.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "scs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serverOptions returns options with a logger whose text it returns too.
func serverOptions(t *testing.T, server string) (shadercache.Options, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return shadercache.Options{
		Dir: t.TempDir(), Server: server, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, log
}

// isServed connects, runs a job, and reports whether a server computed.
func isServed(t *testing.T, o shadercache.Options) (bool, error) {
	t.Helper()
	d, err := shadercache.Connect(t.Context(), o)
	if err != nil {
		return false, err
	}
	defer d.Close()
	if err := scaledOnce(t.Context(), d); err != nil {
		t.Error(err)
	}
	stats, err := d.Stats(t.Context())
	return stats.Server, err
}

// scaledOnce runs one job and checks its result.
func scaledOnce(ctx context.Context, d shadercache.Device) error {
	p, err := d.Get(ctx, scaled)
	if err != nil {
		return err
	}
	defer p.Release()
	job, got, want := scaledJob(p, 1000)
	if err := d.Run(ctx, job); err != nil {
		return err
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("element %d is %v, not %v", i, got[i], want[i])
		}
	}
	return nil
}

func TestServerOfOptionsAndEnvironment(t *testing.T) {
	server := startServer(t)
	none := filepath.Join(shortDir(t), "socket")
	for _, c := range []struct {
		option, environment string
		device              string
		served              bool
		fails               error
	}{
		{option: "", environment: "", served: false},
		{option: "", environment: "off", served: false},
		{option: "", environment: "auto", served: false}, // none at the user's place
		{option: "", environment: server.path, served: true},
		{option: "auto", environment: server.path, served: true},
		{option: "start", environment: server.path, served: true},
		{option: "auto", environment: none, served: false},
		{option: "auto", environment: "off", served: false},
		{option: "off", environment: server.path, served: false},
		{option: server.path, environment: "off", served: true},
		{option: none, environment: server.path, fails: shadercache.ErrNoServer},
		{option: "", environment: none, fails: shadercache.ErrNoServer},
		{option: "", environment: "relative", fails: shadercache.ErrInvalid},
		{option: "relative", environment: "", fails: shadercache.ErrInvalid},
		{option: "auto", environment: server.path, device: "0", served: false},
		{option: server.path, device: "0", fails: shadercache.ErrInvalid},
	} {
		t.Setenv("SHADERCACHE_SERVER", c.environment)
		t.Setenv("XDG_RUNTIME_DIR", filepath.Dir(none))
		o, _ := serverOptions(t, c.option)
		o.Device = c.device
		served, err := isServed(t, o)
		if !errors.Is(err, c.fails) || served != c.served {
			t.Errorf("%+v: served %t, %v", c, served, err)
		}
	}
}

func TestOpenUsesNoServer(t *testing.T) {
	server := startServer(t)
	t.Setenv("SHADERCACHE_SERVER", server.path)
	gpu := open(t, shadercache.Options{Dir: t.TempDir()})
	if stats := gpu.Stats(); stats.Server || gpu.Context == nil || gpu.Cache == nil {
		t.Errorf("%+v", stats)
	}
	if err := gpu.Close(); err != nil {
		t.Error(err)
	}
	if _, err := shadercache.Open(shadercache.Options{Server: server.path}); err == nil || !strings.Contains(err.Error(), "Connect") {
		t.Errorf("Open with a server: %v", err)
	}
	if _, err := shadercache.Connect(t.Context(), shadercache.Options{NoExecutor: true}); !errors.Is(err, shadercache.ErrInvalid) {
		t.Errorf("Connect without an executor: %v", err)
	}
}

// Two devices of one kind do not take each other's programs and buffers: in a server they
// have the same numbers.
func TestObjectsOfAnotherDevice(t *testing.T) {
	server := startServer(t)
	for _, name := range []string{"off", server.path} {
		var devices [2]shadercache.Device
		for i := range devices {
			d, err := shadercache.Connect(t.Context(), shadercache.Options{Dir: t.TempDir(), Server: name})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			devices[i] = d
		}
		ctx, r, others := t.Context(), &record{t: t, d: devices[0]}, &record{t: t, d: devices[1]}
		p, other := r.get(increased), others.get(increased)
		b, otherBuffer := must(devices[0].NewBuffer(ctx, 256))(r), must(devices[1].NewBuffer(ctx, 256))(r)
		shape := conv2d.GEMMProblem{M: 8, N: 8, K: 8}.Shape()
		plan := must(conv2d.OpenPlan(ctx, devices[0], conv2d.DevicePlanOptions{}, shape))(r)
		must(plan.SetWeights(ctx, 1, make([]float32, 64), nil))(r)
		for what, d := range map[string]shadercache.Dispatch{
			"program": {Program: other, Buffers: []shadercache.Bound{{Buffer: b}}},
			"buffer":  {Program: p, Buffers: []shadercache.Bound{{Buffer: otherBuffer}}},
		} {
			d.Groups = [3]uint32{1, 1, 1}
			if err := devices[0].Run(ctx, &shadercache.Job{Dispatch: d}); !errors.Is(err, shadercache.ErrInvalid) {
				t.Errorf("%s: %s of another device: %v", name, what, err)
			}
		}
		if _, err := plan.SubmitBuffers(ctx, b, otherBuffer); !errors.Is(err, shadercache.ErrInvalid) {
			t.Errorf("%s: buffer of a plan of another device: %v", name, err)
		}
		plan.Release()
		for _, each := range []interface{ Release() }{p, other, b, otherBuffer} {
			each.Release()
		}
	}
}

// connectProcess makes a test binary one that connects as its environment says, runs a
// job, prints what it has, and waits for the end of its input.
const connectProcess = "TEST_CONNECT"

func runConnectProcess() {
	if os.Getenv(connectProcess) == "" {
		return
	}
	d, err := shadercache.Connect(context.Background(), shadercache.Options{Logger: slog.Default()})
	if err == nil {
		err = scaledOnce(context.Background(), d)
	}
	var stats shadercache.Stats
	if err == nil {
		stats, err = d.Stats(context.Background())
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("served", stats.Server)
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	if err := d.Close(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// connect starts a connectProcess and returns its first line.
func connect(t *testing.T, environment ...string) (line string, pid int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	cmd.Env = append(append(os.Environ(), connectProcess+"=1"), environment...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
		return "", 0
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return "", 0
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client: %v", err)
		}
	})
	line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Errorf("the client prints %q, %v", line, err)
	}
	return strings.TrimSpace(line), cmd.Process.Pid
}

// A process that uses a server loads neither EGL nor a driver.
func TestServedProcessLoadsNoDriver(t *testing.T) {
	server := startServer(t)
	for name, want := range map[string]struct {
		line   string
		mapped bool
	}{
		server.path: {"served true", false}, "off": {"served false", true},
	} {
		line, pid := connect(t, "SHADERCACHE_SERVER="+name)
		if line != want.line || isMapped(t, pid, "libEGL") != want.mapped || isMapped(t, pid, "libLLVM") != want.mapped {
			t.Errorf("%s: %s, libEGL mapped: %t", name, line, isMapped(t, pid, "libEGL"))
		}
	}
}

// When the server is killed, calls that wait and later ones return ErrLost, and Connect
// with auto makes a context in this process.
func TestServerGone(t *testing.T) {
	server := startServer(t)
	t.Setenv("SHADERCACHE_SERVER", server.path)
	o, log := serverOptions(t, "auto")
	d, err := shadercache.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := scaledOnce(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	p, err := d.Get(t.Context(), slow)
	if err != nil {
		t.Fatal(err)
	}
	out := poisoned(1 << 16)
	pending, err := d.Submit(t.Context(), &shadercache.Job{
		Dispatch: shadercache.Dispatch{Program: p, Groups: [3]uint32{1 << 10, 1, 1}, Uniforms: []shadercache.Uniform{shadercache.Int("turns", 60_000)}},
		Outputs:  []shadercache.Output{{Binding: 0, To: glctx.Bytes(out)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	server.kill(t)
	if err := pending.Wait(t.Context()); !errors.Is(err, shadercache.ErrLost) {
		t.Errorf("the job that ran: %v", err)
	}
	if err := scaledOnce(t.Context(), d); !errors.Is(err, shadercache.ErrLost) {
		t.Errorf("a job afterwards: %v", err)
	}
	if _, err := d.Stats(t.Context()); !errors.Is(err, shadercache.ErrLost) {
		t.Errorf("Stats afterwards: %v", err)
	}
	if served, err := isServed(t, o); err != nil || served {
		t.Errorf("afterwards: served %t, %v\n%s", served, err, log)
	}
}

// A server that hangs does not stop clients: with auto a context of this process is used.
func TestServerThatHangs(t *testing.T) {
	gltest.Open(t)
	path := filepath.Join(shortDir(t), "socket")
	l, err := net.Listen("unix", path) // never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("SHADERCACHE_SERVER", path)
	o, log := serverOptions(t, "auto")
	if served, err := isServed(t, o); err != nil || served || !strings.Contains(log.String(), "did not answer") {
		t.Errorf("served %t, %v\n%s", served, err, log)
	}
	limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := shadercache.Connect(limited, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a deadline: %v", err)
	}
}

// starts runs n clients at once with SHADERCACHE_SERVER=start and returns their lines.
func starts(t *testing.T, n int, environment ...string) []string {
	t.Helper()
	lines := make([]string, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { lines[i], _ = connect(t, environment...) })
	}
	group.Wait()
	return lines
}

// Twenty clients that start at once start one server, which all use. It ends when it is
// idle, and leaves nothing.
func TestFirstClientStartsTheServer(t *testing.T) {
	gltest.Open(t)
	program, err := command()
	if err != nil {
		t.Fatal(err)
	}
	dir := shortDir(t)
	path := filepath.Join(dir, "shadercache", "socket")
	count := filepath.Join(dir, "starts")
	// A command of the same name in PATH counts its starts, makes the idle time short, and has a file open.
	wrapper := fmt.Sprintf("#!/bin/sh\necho $$ >> %s\nexec 9>>%s\nexec %s \"$@\" --idle-exit 1s\n", count, filepath.Join(dir, "inherited"), program)
	bin := filepath.Join(dir, "bin")
	if err := errors.Join(os.Mkdir(bin, 0o700), os.WriteFile(filepath.Join(bin, "shadercache"), []byte(wrapper), 0o700)); err != nil {
		t.Fatal(err)
	}
	environment := []string{
		"SHADERCACHE_SERVER=start", "XDG_RUNTIME_DIR=" + dir, "PATH=" + bin + ":" + os.Getenv("PATH"), "SHADERCACHE_DIR=" + t.TempDir(),
	}
	t.Run("clients", func(t *testing.T) {
		for i, line := range starts(t, 20, environment...) {
			if line != "served true" {
				t.Errorf("client %d: %s", i, line)
			}
		}
	})
	server := startedServer(t, count, 1)
	if file, err := os.Readlink("/proc/" + server + "/fd/9"); err == nil && filepath.Base(file) == "inherited" {
		t.Error("the server has what it inherited")
	}
	awaitServerEnd(t, server)
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the server has left its socket: %v", err)
	}
	// Another client starts another one.
	t.Run("again", func(t *testing.T) {
		if line := starts(t, 1, environment...)[0]; line != "served true" {
			t.Error(line)
		}
	})
	awaitServerEnd(t, startedServer(t, count, 2)) // it writes into the directory until then
}

// startedServer returns the process number of the n-th server, the last that was started.
func startedServer(t *testing.T, count string, n int) string {
	t.Helper()
	started, err := os.ReadFile(count)
	servers := strings.Fields(string(started))
	if len(servers) != n {
		t.Fatalf("%d servers were started, want %d: %v", len(servers), n, err)
	}
	return servers[n-1]
}

// awaitServerEnd waits until a server that is idle has ended.
func awaitServerEnd(t *testing.T, server string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		// What has ended and was not waited for has no command line.
		if line, err := os.ReadFile("/proc/" + server + "/cmdline"); err != nil || len(line) == 0 {
			return
		}
	}
	t.Fatal("the server did not end when it was idle")
}

// Where no server can be started, a client uses a context of its own.
func TestNoServerCanBeStarted(t *testing.T) {
	gltest.Open(t)
	dir := shortDir(t)
	bin := filepath.Join(dir, "bin")
	fails := "#!/bin/sh\necho no GPU here >&2\nexit 1\n"
	if err := errors.Join(os.Mkdir(bin, 0o700), os.WriteFile(filepath.Join(bin, "shadercache"), []byte(fails), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", dir)
	for name, path := range map[string]string{"none": "/nonexistent", "it fails": bin + ":" + os.Getenv("PATH")} {
		t.Setenv("PATH", path)
		o, log := serverOptions(t, "start")
		if served, err := isServed(t, o); err != nil || served || strings.Count(log.String(), `level=WARN msg="no server is used"`) != 1 {
			t.Errorf("%s: served %t, %v\n%s", name, served, err, log)
		}
	}
	if log, err := os.ReadFile(filepath.Join(dir, "shadercache", "socket.log")); err != nil || string(log) != "no GPU here\n" {
		t.Errorf("the log has %q, %v", log, err)
	}
}
