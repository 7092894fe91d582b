//go:build unix

package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
)

// The test binary runs one of the children where this variable is set.
const childVariable = "REMOTE_TEST_CHILD"

func TestMain(m *testing.M) {
	if child, ok := children[os.Getenv(childVariable)]; ok {
		if err := child(os.Getenv("REMOTE_TEST_DIR"), os.Getenv("REMOTE_TEST_URL")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// children are functions that the test binary runs as a process of its own.
var children = map[string]func(dir, url string) error{
	"push": func(dir, url string) error {
		d, err := binary.OpenDir(dir)
		if err != nil {
			return err
		}
		r, err := fleet.Open(d, writer(url))
		if err != nil {
			return err
		}
		_, err = r.Push(context.Background(), fleet.PushOptions{})
		return err
	},
	"pull": func(dir, url string) error {
		d, err := binary.OpenDir(dir)
		if err != nil {
			return err
		}
		r, err := fleet.Open(d, reader(url))
		if err != nil {
			return err
		}
		_, err = r.Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver})
		return err
	},
	"program": runProgram,
}

// child returns a command that runs a child.
func child(t testing.TB, name, dir, url string, variables ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), append(variables, childVariable+"="+name, "REMOTE_TEST_DIR="+dir, "REMOTE_TEST_URL="+url)...)
	return c
}

func init() {
	fleet.Register("kill", func(u *url.URL, o fleet.BackendOptions) (fleet.Backend, error) {
		below := *u
		below.Scheme = "file"
		b, err := fleet.OpenerOf("file")(&below, o)
		at, _ := strconv.Atoi(os.Getenv("REMOTE_TEST_KILL_AT"))
		k := &killing{Backend: b}
		k.left.Store(int64(at))
		return k, err
	})
}

// killing ends its process with SIGKILL before one of its steps: a request, or the first
// bytes of one.
type killing struct {
	fleet.Backend
	left atomic.Int64 // steps
}

func (k *killing) step() {
	if k.left.Add(-1) == 0 {
		die()
	}
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	time.Sleep(time.Minute)
}

func (k *killing) Get(ctx context.Context, name string, first int64) (*fleet.Object, error) {
	k.step()
	o, err := k.Backend.Get(ctx, name, first)
	if err == nil {
		o.Body = struct {
			io.Reader
			io.Closer
		}{&killingReader{o.Body, k}, o.Body}
	}
	return o, err
}

func (k *killing) Put(ctx context.Context, name string, data io.ReadSeeker, o fleet.PutOptions) (string, error) {
	k.step()
	tag, err := k.Backend.Put(ctx, name, struct {
		io.Reader
		io.Seeker
	}{&killingReader{data, k}, data}, o)
	k.step()
	return tag, err
}

// killingReader reads few bytes at a time, each of which is a step.
type killingReader struct {
	io.Reader
	k *killing
}

func (r *killingReader) Read(p []byte) (int, error) {
	r.k.step()
	return r.Reader.Read(p[:min(len(p), 700)])
}

// killEach runs a child again and again, killed one step later each time, until it ends by
// itself. Between the runs it calls check.
func killEach(t *testing.T, name, dir, url string, check func(step int)) {
	t.Helper()
	for step := 1; ; step++ {
		c := child(t, name, dir, strings.Replace(url, "file:", "kill:", 1), fmt.Sprint("REMOTE_TEST_KILL_AT=", step))
		var errs bytes.Buffer
		c.Stderr = &errs
		err := c.Run()
		check(step)
		if err == nil {
			if step < 6 {
				t.Errorf("only %d steps", step)
			}
			return
		}
		if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || step > 100 {
			t.Fatalf("step %d: %v, %s", step, err, errs.String())
		}
	}
}

// A push that is killed at any step leaves a head with all of its packs.
func TestKilledPush(t *testing.T) {
	t.Parallel()
	url, from, to := fileURL(t), openDir(t), openDir(t)
	put(t, from, mesaDriver, 1, 2)
	push(t, from, writer(url))
	put(t, from, mesaDriver, 3, 4, 5)
	killEach(t, "push", from.Path(), url, func(int) { pull(t, to, reader(url), mesaDriver) })
	pull(t, to, reader(url), mesaDriver)
	wantPrograms(t, to, mesaDriver, 1, 2, 3, 4, 5)
}

// A pull that is killed at any step leaves whole programs, and the next one completes it.
func TestKilledPull(t *testing.T) {
	t.Parallel()
	url, from, to := fileURL(t), openDir(t), openDir(t)
	for n := range 3 {
		put(t, from, mesaDriver, 3*n, 3*n+1, 3*n+2)
		push(t, from, writer(url))
	}
	killEach(t, "pull", to.Path(), url, func(step int) {
		if r, err := to.Verify(false, nil); err != nil || r.Damaged != 0 {
			t.Errorf("step %d: %+v, %v", step, r, err)
		}
	})
	wantPrograms(t, to, mesaDriver, 0, 1, 2, 3, 4, 5, 6, 7, 8)
}

// fleetPrograms is the number of programs of runProgram.
const fleetPrograms = 12

// runProgram is a process of a fleet: it starts, compiles what it lacks, which takes a
// simulated time, and writes a line for each compile to a file that all share.
func runProgram(dir, url string) error {
	d, err := binary.OpenDir(dir)
	if err != nil {
		return err
	}
	o := writer(url)
	o.LeaseTime, _ = time.ParseDuration(os.Getenv("REMOTE_TEST_LEASE"))
	r, err := fleet.Open(d, o)
	if err != nil {
		return err
	}
	r.Prepare()
	report := r.Start(context.Background(), mesaDriver)
	log, err := os.OpenFile(os.Getenv("REMOTE_TEST_LOG"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	store, err := d.Store(mesaDriver)
	if err != nil {
		return err
	}
	for n := range fleetPrograms {
		if store.Has(testSource(n).Key()) {
			continue
		}
		time.Sleep(20 * time.Millisecond)
		fmt.Fprintln(log, n)
		if report.Outcome == fleet.Leased && n == fleetPrograms/2 && os.Mkdir(os.Getenv("REMOTE_TEST_VICTIM"), 0o700) == nil {
			die()
		}
		if err := store.Put(testBlob(n, mesaDriver)); err != nil {
			return err
		}
	}
	if err := store.Record([]binary.Use{{Key: testSource(0).Key()}}, binary.Counters{}); err != nil {
		return err
	}
	if report.Err != nil {
		return report.Err
	}
	if report.Outcome == fleet.Leased { // Close does it too, for a limited time
		if _, err := r.Push(context.Background(), fleet.PushOptions{}); err != nil {
			return err
		}
	}
	return r.Close()
}

// fleet runs processes at once, each with an empty directory, on one empty remote, and
// returns how often each program was compiled.
func startFleet(t *testing.T, processes int, lease time.Duration, victim bool) (compiles [fleetPrograms]int) {
	t.Helper()
	url, folder := fileURL(t), t.TempDir()
	log := filepath.Join(folder, "log")
	variables := []string{"REMOTE_TEST_LOG=" + log, "REMOTE_TEST_LEASE=" + lease.String()}
	if victim {
		variables = append(variables, "REMOTE_TEST_VICTIM="+filepath.Join(folder, "victim"))
	}
	running := make([]*exec.Cmd, processes)
	outputs := make([]bytes.Buffer, processes)
	for n := range processes {
		running[n] = child(t, "program", filepath.Join(folder, fmt.Sprint("machine", n)), url, variables...)
		running[n].Stderr = &outputs[n]
		must(t, running[n].Start())
	}
	killed := 0
	for n, c := range running {
		if err := c.Wait(); err != nil {
			if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				killed++
				continue
			}
			t.Errorf("process %d: %v, %s", n, err, outputs[n].String())
		}
	}
	if victim != (killed == 1) {
		t.Errorf("%d processes were killed", killed)
	}
	data, err := os.ReadFile(log)
	must(t, err)
	for _, line := range strings.Fields(string(data)) {
		n, err := strconv.Atoi(line)
		must(t, err)
		compiles[n]++
	}
	return compiles
}

// Every program of a fleet that starts at once is compiled once.
func TestOneCompileForAFleet(t *testing.T) {
	t.Parallel()
	for program, n := range startFleet(t, 50, time.Minute, false) {
		if n != 1 {
			t.Errorf("program %d was compiled %d times", program, n)
		}
	}
}

// Where the process that compiles is killed, another does it after the lease time.
func TestKilledLeaseHolder(t *testing.T) {
	t.Parallel()
	for program, n := range startFleet(t, 10, 8*time.Second, true) {
		if n < 1 || n > 2 {
			t.Errorf("program %d was compiled %d times", program, n)
		}
	}
}
