//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/host"
	"github.com/shadercache/shadercache/shader"
)

// dialAt connects a client for a device, or near a buffer. The test closes it.
func (s *served) dialAt(o client.Options) *client.Client {
	s.t.Helper()
	o.Path = s.path
	c, err := client.Dial(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

func (s *served) page(path string) string {
	s.t.Helper()
	r, err := http.Get(s.result.Pages + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		s.t.Errorf("%s: %s, %v", path, r.Status, err)
	}
	return string(body)
}

// TestServeSeveralDevices has two devices behind one socket, which one GPU stands for:
// sessions are placed by load and on request, a program is compiled once, a named buffer is on one
// device, and the pages have both.
func TestServeSeveralDevices(t *testing.T) {
	t.Parallel()
	s := serveProcess(t, nil, "--device", "0,0", "--status", "127.0.0.1:0")
	if d := s.result.Devices; len(d) != 2 || d[0].GPU == "" || d[1].GPU != d[0].GPU || d[1].Number != 1 || d[1].Error != "" {
		t.Errorf("%+v", s.result)
	}
	first, second, third := s.dial(), s.dial(), s.dial()
	for i, c := range []*client.Client{first, second, third} {
		if w := c.Welcome(); w.Number != i%2 || w.Devices != 2 {
			t.Errorf("session %d is on device %d of %d", i, w.Number, w.Devices)
		}
	}
	if w := s.dialAt(client.Options{Device: "1"}).Welcome(); w.Number != 1 {
		t.Errorf("asked for device 1: %d", w.Number)
	}
	_, err := client.Dial(t.Context(), client.Options{Path: s.path, Device: "2"})
	if refused, ok := errors.AsType[*client.Error](err); !errors.Is(err, job.ErrNotFound) || !ok || refused.Hint == "" {
		t.Errorf("asked for device 2: %v", err)
	}
	wantOneCompile(t, first, second)
	wantNamesOnOneDevice(t, s, first, second)
	wantConnectTo(t, s)
	wantPreloadOn(t, second, first)

	var report struct{ Devices []server.Status }
	if err := json.Unmarshal([]byte(s.page("/status")), &report); err != nil || len(report.Devices) != 2 {
		t.Fatalf("%v, %+v", err, report)
	}
	for number, d := range report.Devices {
		if d.Device != number || d.Devices != 2 || d.Error != "" || d.Counters.Jobs == 0 || len(d.Sessions) < 2 {
			t.Errorf("device %d: %+v", number, d)
		}
	}
	metrics := s.page("/metrics")
	for _, line := range []string{`jobs_total{device="0"} `, `jobs_total{device="1"} `, `device_serves{device="1"} 1`} {
		if !strings.Contains(metrics, "\nshadercache_server_"+line) {
			t.Errorf("no %q in the metrics", line)
		}
	}
	if !strings.Contains(s.page("/device/1/debug/pprof/cmdline"), "serve-worker") || s.page("/healthz") != "ok\n" {
		t.Error("no profile of a worker, or no health")
	}
}

// wantOneCompile has both devices need a program at the same time: one compiles it.
func wantOneCompile(t *testing.T, clients ...*client.Client) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			if err := runJob(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	compiles := uint64(0)
	for _, c := range clients {
		compiles += statusOf(t, c).Cache.Compiles
	}
	if compiles != 1 {
		t.Errorf("%d compiles", compiles)
	}
}

func statusOf(t *testing.T, c *client.Client) (s server.Status) {
	t.Helper()
	data, err := c.Status(t.Context())
	if err = errors.Join(err, json.Unmarshal(data, &s)); err != nil {
		t.Error(err)
	}
	return s
}

// wantPreloadOn makes programs resident by a session, and its further ones: on its device alone.
func wantPreloadOn(t *testing.T, c, other *client.Client) {
	t.Helper()
	var sources []*shader.Source
	for i := range 4 {
		sources = append(sources, shader.MustSource("again", twice.Text()+strings.Repeat("\n// more", i+1), nil))
	}
	here, there := statusOf(t, c), statusOf(t, other)
	if err := c.Preload(t.Context(), sources, func(client.Preloaded) {}); err != nil {
		t.Error(err)
	}
	if n, m := statusOf(t, c).Cache.Resident-here.Cache.Resident, statusOf(t, other).Cache.Resident-there.Cache.Resident; n != len(sources) || m != 0 {
		t.Errorf("%d programs are resident on the device of the session, %d on the other", n, m)
	}
}

// wantNamesOnOneDevice opens a named buffer from sessions of both devices.
func wantNamesOnOneDevice(t *testing.T, s *served, first, second *client.Client) {
	t.Helper()
	ctx := t.Context()
	state, err := first.NamedBuffer(ctx, "state", 4096)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := state.Write(ctx, 0, []byte("0123")); err != nil {
		t.Fatal(err)
	}
	_, created := second.NamedBuffer(ctx, "state", 4096)
	_, opened := second.OpenBuffer(ctx, "state")
	deleted := second.DeleteBuffer(ctx, "state")
	for what, err := range map[string]error{"created": created, "opened": opened, "deleted": deleted} {
		if refused, ok := errors.AsType[*client.Error](err); !errors.Is(err, job.ErrOtherDevice) || !ok || refused.Hint == "" || !strings.Contains(err.Error(), "is on device 0") {
			t.Errorf("%s on the other device: %v", what, err)
		}
	}
	if _, err := second.OpenBuffer(ctx, "other"); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("a name that no device has: %v", err)
	}
	near := s.dialAt(client.Options{Near: "state"})
	got := make([]byte, 4)
	b, err := near.OpenBuffer(ctx, "state")
	if err == nil {
		_, err = b.Read(ctx, 0, got)
	}
	if err != nil || near.Welcome().Number != 0 || string(got) != "0123" {
		t.Errorf("near the buffer: device %d, %q, %v", near.Welcome().Number, got, err)
	}
	if err := near.DeleteBuffer(ctx, "state"); err != nil {
		t.Error(err)
	}
	if b, err := second.NamedBuffer(ctx, "state", 8); err != nil || !b.Created() {
		t.Errorf("after its name was deleted: %v", err)
	}
}

// wantConnectTo chooses a device by the front door. Device 1 has the buffer "state".
func wantConnectTo(t *testing.T, s *served) {
	t.Helper()
	for _, c := range []struct {
		device, near string
		dial, open   error
	}{{"1", "", nil, nil}, {"", "state", nil, nil}, {"0", "state", nil, shadercache.ErrOtherDevice}, {"2", "", shadercache.ErrNotFound, nil}} {
		device, err := shadercache.Connect(t.Context(), shadercache.Options{Server: s.path, ServerDevice: c.device, ServerNear: c.near})
		if !errors.Is(err, c.dial) {
			t.Errorf("device %q near %q: %v, not %v", c.device, c.near, err, c.dial)
		}
		if err != nil {
			continue
		}
		if _, err := device.NamedBuffer(t.Context(), "state", 8); !errors.Is(err, c.open) {
			t.Errorf("a buffer from device %q near %q: %v, not %v", c.device, c.near, err, c.open)
		}
		if err := device.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestALostDeviceLeavesTheOthers makes the driver fail under a job on one device of three. Its
// session gets an error that says so and its names are free; the others continue, and a session
// that asks for it has a new worker.
func TestALostDeviceLeavesTheOthers(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault *faultgl.Fault
		want  error
		ended string
	}{
		{"hangs", &faultgl.Fault{Mode: faultgl.Hang, At: "glDispatchCompute", Once: true}, job.ErrLost, "nothing on the GPU completed for 10s"},
		{"is killed", nil, client.ErrServerGone, "signal 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var environment []string
			if c.fault != nil {
				environment = faultgl.Environment(t, *c.fault)
			}
			s := serveProcess(t, environment, "--hang-time", "10s", "--device", "0,0,0", "--status", "127.0.0.1:0")
			lost := s.dialAt(client.Options{Device: "1"})
			others := []*client.Client{s.dial(), s.dial()}
			if _, err := lost.NamedBuffer(t.Context(), "state", 4096); err != nil {
				t.Fatal(err)
			}
			if c.fault == nil {
				_ = syscall.Kill(s.workerOf(1), syscall.SIGKILL)
			}
			if err := runJob(t.Context(), lost); !errors.Is(err, c.want) {
				t.Errorf("the job: %v, not %v", err, c.want)
			}
			for _, other := range others {
				if err := jobOf(t.Context(), other, again); err != nil || other.Welcome().Number == 1 {
					t.Errorf("device %d: %v", other.Welcome().Number, err)
				}
			}
			clitest.Eventually(t, "the name of the lost buffer is free", func() bool {
				b, err := others[0].NamedBuffer(t.Context(), "state", 8)
				return err == nil && b.Created()
			})
			next := s.dialAt(client.Options{Device: "1"})
			if w := next.Welcome(); w.Number != 1 || w.Generation != 2 || !strings.Contains(w.Ended, c.ended) {
				t.Errorf("device %d, generation %d, ended %q", w.Number, w.Generation, w.Ended)
			}
			if err := jobOf(t.Context(), next, again); err != nil {
				t.Error("after the restart: ", err)
			}
			if err := s.end(syscall.SIGTERM); err != nil {
				t.Errorf("%v\n%s", err, s.messages)
			}
		})
	}
}

// workerOf returns the process that serves a device.
func (s *served) workerOf(number int) int {
	s.t.Helper()
	for _, pid := range clitest.ChildrenOf(s.t, s.cmd.Process.Pid) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(string(line), fmt.Sprintf("\x00--number\x00%d\x00", number)) {
			return pid
		}
	}
	s.t.Fatalf("device %d has no worker", number)
	return 0
}

// TestServeWithADeviceThatThereIsNot serves with the others, and has the reason in its result.
func TestServeWithADeviceThatThereIsNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serveProcess(t, nil, "--device", "0,999", "--status", "127.0.0.1:0", "--trace", filepath.Join(dir, "trace.json"))
	if d := s.result.Devices; d[0].GPU == "" || d[1].GPU != "" || !strings.Contains(d[1].Error, "did not start") {
		t.Errorf("%+v", d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Dial(ctx, client.Options{Path: s.path, Device: "1"}); !errors.Is(err, job.ErrNotFound) {
		t.Error(err)
	}
	if err := runJob(t.Context(), s.dial()); err != nil {
		t.Error(err)
	}
	if metrics := s.page("/metrics"); !strings.Contains(metrics, "\nshadercache_server_device_serves{device=\"1\"} 0\n") {
		t.Error("the device that does not serve is not in the metrics")
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Errorf("%v\n%s", err, s.messages)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "trace.0.json")); err != nil || !strings.Contains(string(text), `"twice"`) {
		t.Errorf("the trace of device 0: %d bytes, %v", len(text), err)
	}
}

// The process that accepts clients loads no driver, whatever --device is: its workers do.
func TestServeAllWithoutADriver(t *testing.T) {
	t.Parallel()
	for _, device := range []string{"all", "0,0"} {
		s := serveProcess(t, nil, "--device", device)
		front, worker := mapsOf(t, s.cmd.Process.Pid), mapsOf(t, clitest.ChildrenOf(t, s.cmd.Process.Pid)[0])
		if !strings.Contains(worker, "libEGL") || strings.Contains(front, "libEGL") {
			t.Errorf("--device %s: libEGL in a worker %v, in the process before it %v", device, strings.Contains(worker, "libEGL"), strings.Contains(front, "libEGL"))
		}
	}
}

// mapsOf returns the files that a process has in memory.
func mapsOf(t *testing.T, pid int) string {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(maps)
}

// TestCommandOfAWorker has its device and its own trace.
func TestCommandOfAWorker(t *testing.T) {
	t.Parallel()
	cmd, err := (&options{}).workerCommand(time.Second, "5", []string{"--trace", "some/trace.json"},
		host.Worker{Number: 1, Devices: 2, Generation: 3, Ended: "it was lost", IdleExit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{}
	for i, argument := range cmd.Args[:len(cmd.Args)-1] {
		last[argument] = cmd.Args[i+1]
	}
	for flag, want := range map[string]string{
		"--device": "5", "--number": "1", "--devices": "2", "--idle-exit": "1m0s", "--hang-time": "1s", "--generation": "3",
		"--ended": "it was lost", "--trace": "some/trace.1.json",
	} {
		if last[flag] != want {
			t.Errorf("%s is %q, not %q", flag, last[flag], want)
		}
	}
}
