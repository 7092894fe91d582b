//go:build linux

package placement_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server/internal/placement"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/supervisor"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// envWorker has this test binary run as the worker of a device.
const envWorker = "SHADERCACHE_PLACEMENT_WORKER"

func TestMain(m *testing.M) {
	if number := os.Getenv(envWorker); number != "" {
		if err := work(number); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// work serves sessions without a GPU: see serveSession.
func work(number string) error {
	link, err := supervisor.OpenLink(3)
	if err != nil {
		return err
	}
	w, err := placement.NewWorker(link, "uuid"+number)
	if err != nil {
		return err
	}
	go func() {
		<-w.Over()
		os.Exit(0)
	}()
	link.Ready("device " + number)
	for {
		c, err := w.Accept()
		if errors.Is(err, socket.ErrRefused) {
			w.SessionEnded()
			continue
		}
		if err != nil {
			return err
		}
		go func() {
			defer w.SessionEnded()
			defer c.Close()
			serveSession(w, c, number)
		}()
	}
}

// serveSession answers the hello with a line: number of the device, process, and the answer to
// what the client's name asks of the names. Each further frame is a line with its type and its
// descriptors.
func serveSession(w *placement.Worker, c *socket.Conn, number string) {
	for {
		h, body, err := c.Next()
		if errors.Is(err, wire.ErrMalformed) {
			_ = c.Write([]byte("malformed\n"))
		}
		if err != nil {
			return
		}
		if h.Type != wire.TypeHello {
			files, err := c.TakeFiles(h.Type)
			_ = c.Write(fmt.Appendf(nil, "%v %d %v\n", h.Type, len(files), err))
			continue
		}
		var hello wire.Hello
		if err := wire.Decode(body, &hello); err != nil {
			return
		}
		word, name, _ := strings.Cut(string(hello.Client), " ")
		owner := 0
		switch word {
		case "claim":
			owner, err = w.Claim(name)
		case "find":
			owner, err = w.Find(name)
		case "drop":
			w.Drop(name)
		}
		_ = c.Write(fmt.Appendf(nil, "%s %d %d %v\n", number, os.Getpid(), owner, err))
	}
}

// placed is a placement on workers that this test binary is.
type placed struct {
	*placement.Placement
	t      testing.TB
	path   string
	served chan error // what Serve returned
}

func place(t testing.TB, devices int, o placement.Options) *placed {
	t.Helper()
	dir, err := os.MkdirTemp("", "scp")
	if err != nil {
		t.Fatal(err)
	}
	p := &placed{Placement: placement.New(devices, o), t: t, path: filepath.Join(dir, "socket"), served: make(chan error, 2)}
	l, err := socket.Listen(p.path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	ready := make(chan string, devices)
	for number := range devices {
		all.Go(func() { p.supervise(ctx, number, ready) })
	}
	all.Go(func() { p.served <- p.Serve(ctx, l) })
	for range devices {
		<-ready
	}
	t.Cleanup(func() {
		stop()
		all.Wait()
		l.Close()
		os.RemoveAll(dir)
	})
	return p
}

func (p *placed) supervise(ctx context.Context, number int, ready chan<- string) {
	_ = supervisor.Run(ctx, supervisor.Options{
		Follower: p.Device(number), StopTime: time.Second, Ready: func(text string) { ready <- text },
		Command: func(uint64, string) (*exec.Cmd, error) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env, cmd.Stderr = append(os.Environ(), fmt.Sprintf("%s=%d", envWorker, number)), os.Stderr
			return cmd, nil
		},
	})
}

// client is a connection.
type client struct {
	*net.UnixConn
	lines *bufio.Scanner
}

func (p *placed) connect() *client {
	p.t.Helper()
	c, err := net.Dial("unix", p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		p.t.Fatal(err)
	}
	return &client{c.(*net.UnixConn), bufio.NewScanner(c)}
}

// answer is the line of a worker for a hello.
type answer struct {
	number, pid, owner int
	err                string
}

// open sends a hello and returns the worker's answer.
func (p *placed) open(h wire.Hello) (*client, answer) {
	p.t.Helper()
	c := p.connect()
	if _, err := c.Write(helloFrame(h)); err != nil {
		p.t.Fatal(err)
	}
	return c, p.answer(c)
}

// tryOpen returns a session, or nil where the placement has ended.
func (p *placed) tryOpen(h wire.Hello) net.Conn {
	c, err := net.Dial("unix", p.path)
	if err != nil {
		return nil
	}
	p.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Write(helloFrame(h)); err != nil || !bufio.NewScanner(c).Scan() {
		return nil
	}
	return c
}

func (p *placed) answer(c *client) (a answer) {
	p.t.Helper()
	if !c.lines.Scan() {
		p.t.Fatalf("no answer: %v", c.lines.Err())
	}
	if _, err := fmt.Sscan(c.lines.Text(), &a.number, &a.pid, &a.owner, &a.err); err != nil || a.err != "<nil>" {
		p.t.Fatalf("%q: %v", c.lines.Text(), err)
	}
	return a
}

func helloFrame(h wire.Hello) []byte {
	h.Oldest, h.Newest = wire.Version, wire.Version
	frame, err := wire.AppendFrame(nil, wire.TypeHello, 1, &h)
	if err != nil {
		panic(err) // it has no long text
	}
	return frame
}

// TestSessionsArePlaced has sessions go to the device with the fewest, or to that which they
// ask for.
func TestSessionsArePlaced(t *testing.T) {
	t.Parallel()
	p := place(t, 3, placement.Options{})
	var open []*client
	for i := range 7 {
		c, a := p.open(wire.Hello{})
		if open = append(open, c); a.number != i%3 {
			t.Errorf("session %d is on device %d", i, a.number)
		}
	}
	for want, device := range []string{"0", "uuid1", "2"} {
		c, a := p.open(wire.Hello{Device: []byte(device), Near: []byte("unknown")})
		if open = append(open, c); a.number != want {
			t.Errorf("asked for device %s, got %d", device, a.number)
		}
	}
	// Devices 1 and 2 have 3 sessions each, 0 has 4.
	open[2].Close()
	p.eventually("device 2 has the fewest sessions", func() bool {
		c, a := p.open(wire.Hello{})
		defer c.Close()
		return a.number == 2
	})
	// The sessions of the attempts may not have ended yet.
	p.eventually("a device that there is not is refused by one of the fewest sessions", func() bool {
		c, a := p.open(wire.Hello{Device: []byte("7")})
		defer c.Close()
		return a.number != 0
	})
}

// TestNamesAreOfOneWorker claims, finds and drops names from two workers.
func TestNamesAreOfOneWorker(t *testing.T) {
	t.Parallel()
	p := place(t, 2, placement.Options{})
	for i, step := range []struct {
		device, word string
		owner        int
	}{
		{"0", "find state", -1}, {"0", "claim state", -1}, {"0", "claim state", -1}, {"1", "claim state", 0}, {"1", "find state", 0},
		{"0", "find state", -1}, {"1", "drop state", 0}, {"1", "find state", 0}, {"1", "claim other", -1}, {"0", "claim other", 1},
		{"0", "drop state", 0}, {"1", "claim state", -1}, {"0", "find state", 1}, {"0", "claim first", -1},
	} {
		if _, a := p.open(wire.Hello{Client: []byte(step.word), Device: []byte(step.device)}); a.owner != step.owner {
			t.Errorf("step %d: %s on device %s: owner %d, want %d", i, step.word, step.device, a.owner, step.owner)
		}
	}
	for range 3 {
		for want, name := range []string{"first", "state"} {
			if _, a := p.open(wire.Hello{Near: []byte(name)}); a.number != want {
				t.Errorf("near a name of device %d: device %d", want, a.number)
			}
		}
	}
}

// TestAWorkerThatEnds has its sessions end and its names free, while another device continues; a
// client that asks for it waits for the next worker.
func TestAWorkerThatEnds(t *testing.T) {
	t.Parallel()
	p := place(t, 2, placement.Options{})
	other, _ := p.open(wire.Hello{})
	lost, before := p.open(wire.Hello{Client: []byte("claim state")})
	if before.number != 1 {
		t.Fatalf("device %d", before.number)
	}
	_ = syscall.Kill(before.pid, syscall.SIGKILL)
	if lost.lines.Scan() || lost.lines.Err() != nil {
		t.Errorf("the session of the worker continues: %q, %v", lost.lines.Text(), lost.lines.Err())
	}
	p.eventually("there is another worker", func() bool {
		c, err := net.Dial("unix", p.path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write(helloFrame(wire.Hello{Device: []byte("1")}))
		lines := bufio.NewScanner(c) // it ends where the worker that was killed got it
		return lines.Scan() && !strings.Contains(lines.Text(), strconv.Itoa(before.pid))
	})
	if _, a := p.open(wire.Hello{Client: []byte("claim state"), Device: []byte("0")}); a.owner != -1 {
		t.Errorf("the name is still of device %d", a.owner)
	}
	if _, err := other.Write(helloFrame(wire.Hello{})); err != nil || !other.lines.Scan() {
		t.Errorf("the session of the other device: %v, %v", err, other.lines.Err())
	}
}

// TestBytesBehindAHello reach the worker, with their descriptors.
func TestBytesBehindAHello(t *testing.T) {
	t.Parallel()
	p := place(t, 2, placement.Options{})
	memory, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for range 20 {
		c := p.connect()
		first, _ := wire.AppendFrame(helloFrame(wire.Hello{}), wire.TypeStatus, 2, &wire.Empty{})
		second, _ := wire.AppendFrame(nil, wire.TypeMemory, 3, &wire.Memory{ID: 1, Size: 4096})
		if _, err := c.Write(first); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.WriteMsgUnix(second, unix.UnixRights(int(memory.Fd())), nil); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{" <nil>", "status 0 <nil>", "memory 1 <nil>"} {
			if !c.lines.Scan() || !strings.HasSuffix(c.lines.Text(), want) {
				t.Fatalf("%q, want %q", c.lines.Text(), want)
			}
		}
		c.Close()
	}
}

// TestFirstBytesThatAreNoHello are refused by a worker; clients that send a part of a hello or
// nothing hold up no other.
func TestFirstBytesThatAreNoHello(t *testing.T) {
	t.Parallel()
	p := place(t, 2, placement.Options{})
	good := helloFrame(wire.Hello{Device: []byte("1")})
	for n := range good {
		c := p.connect() // stays open
		if _, err := c.Write(good[:n]); err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			c.Close()
		}
	}
	for want, bytes := range map[string][]byte{
		"status 0 <nil>": {4: byte(wire.TypeStatus), 8: 1, 15: 0},
		"malformed":      {0: 255, 1: 255, 2: 255, 3: 255, 4: byte(wire.TypeHello), 8: 1, 15: 0},
	} {
		c := p.connect()
		if _, err := c.Write(bytes); err != nil {
			t.Fatal(err)
		}
		if !c.lines.Scan() || c.lines.Text() != want {
			t.Errorf("%q, want %q: %v", c.lines.Text(), want, c.lines.Err())
		}
		c.Close()
	}
	if _, a := p.open(wire.Hello{Device: []byte("1")}); a.number != 1 {
		t.Error(a)
	}
}

// TestManyClients connect at once: each has an answer, and the devices have the same number.
func TestManyClients(t *testing.T) {
	t.Parallel()
	p := place(t, 3, placement.Options{})
	var clients []*client
	for range 150 {
		c := p.connect()
		if _, err := c.Write(helloFrame(wire.Hello{})); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	counts := map[int]int{}
	for _, c := range clients {
		counts[p.answer(c).number]++
	}
	if len(counts) != 3 || counts[0] != 50 || counts[1] != 50 {
		t.Errorf("sessions of each device: %v", counts)
	}
}

// TestIdlePlacementEnds after the last session of any device.
func TestIdlePlacementEnds(t *testing.T) {
	t.Parallel()
	var p *placed
	var c net.Conn
	idle := 100 * time.Millisecond
	for c == nil && idle < time.Minute { // on a busy machine it may end before its first client comes
		idle *= 2
		p = place(t, 2, placement.Options{IdleExit: idle})
		c = p.tryOpen(wire.Hello{Device: []byte("1")})
	}
	if c == nil {
		t.Fatal("no session")
	}
	select {
	case err := <-p.served:
		t.Fatalf("with a session: %v", err)
	case <-time.After(2 * idle):
	}
	c.Close()
	select {
	case err := <-p.served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it does not end")
	}
	p.served <- nil
}

// TestADeviceThatFailed gets no sessions: a worker of another one refuses those that ask for it.
func TestADeviceThatFailed(t *testing.T) {
	t.Parallel()
	p := place(t, 2, placement.Options{})
	_, a := p.open(wire.Hello{Device: []byte("1")})
	p.Device(1).Ended("gone")
	p.Device(1).Failed("gone")
	if _, other := p.open(wire.Hello{Device: []byte("1")}); a.number != 1 || other.number != 0 {
		t.Errorf("device %d, after it failed %d", a.number, other.number)
	}
	if _, err := p.Device(1).DialPages(t.Context()); !errors.Is(err, placement.ErrNoWorker) || !strings.Contains(err.Error(), "gone") {
		t.Error(err)
	}
	page, err := p.Device(0).DialPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page.Close()
}

func (p *placed) eventually(what string, is func() bool) {
	p.t.Helper()
	for start := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			p.t.Fatalf("after 30 s: not %s", what)
		}
	}
}

// TestClientsOfADeviceThatDoesNotServe, more than may wait, hold up none of another device; those
// that may wait are served when it does, and the others know why not.
func TestClientsOfADeviceThatDoesNotServe(t *testing.T) {
	t.Parallel()
	p := place(t, 2, placement.Options{})
	_, before := p.open(wire.Hello{Device: []byte("1")})
	_ = syscall.Kill(before.pid, syscall.SIGSTOP)
	p.Device(1).Ended("as if it had ended")
	var all []*client
	for range 300 {
		c := p.connect()
		if _, err := c.Write(helloFrame(wire.Hello{Device: []byte("1")})); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if _, a := p.open(wire.Hello{Device: []byte("0")}); a.number != 0 {
		t.Errorf("device %d", a.number)
	}
	_ = syscall.Kill(before.pid, syscall.SIGKILL)
	served := 0
	for _, c := range all {
		if c.lines.Scan(); strings.HasPrefix(c.lines.Text(), "1 ") {
			served++
		} else if !strings.Contains(c.lines.Text(), "the device does not serve, and 128 clients wait already") {
			t.Errorf("a client got %q", c.lines.Text())
		}
	}
	if served != 128 {
		t.Errorf("%d clients were served", served)
	}
}
