//go:build linux

package systemtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/fleet"
	_ "github.com/shadercache/shadercache/fleet/file"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
)

// fleetVariable makes a process of this test one start of a machine: see runFleetWorker.
const fleetVariable = "SHADERCACHE_TEST_FLEET"

// runFleetWorker starts as an application of a fleet does, with the environment alone, runs
// a job, and prints the stats. With "adopt" it makes the context by itself and uses New.
func runFleetWorker() {
	how := os.Getenv(fleetVariable)
	if how == "" {
		return
	}
	stats, err := fleetStart(how == "adopt")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(stats)
	os.Exit(0)
}

func fleetStart(adopt bool) (stats shadercache.Stats, err error) {
	o := shadercache.Options{Executor: executor.Options{SlotBytes: 1 << 16}}
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var gpu *shadercache.GPU
	if adopt {
		var own *glctx.Context
		if own, err = glctx.Open(glctx.Options{}); err == nil {
			gpu, err = shadercache.New(own, o)
		}
	} else {
		gpu, err = shadercache.Open(o)
	}
	if err != nil {
		return stats, err
	}
	defer func() {
		if closeErr := gpu.Close(); err == nil {
			err = closeErr
		}
	}()
	ctx := context.Background()
	program, err := gpu.Cache.Get(ctx, triple)
	if err != nil {
		return stats, err
	}
	defer program.Release()
	from, to := []float32{1, 2, 3, 4}, []float32{-1, -1, -1, -1}
	pending, err := gpu.Executor.Submit(ctx, job.Job{
		Dispatch: job.Dispatch{Program: program, Groups: [3]uint32{1, 1, 1}},
		Inputs:   []job.Input{{Binding: 0, Data: glctx.Bytes(from)}},
		Outputs:  []job.Output{{Binding: 1, To: glctx.Bytes(to)}},
	})
	if err == nil {
		err = pending.Wait(ctx)
	}
	if err == nil && !slices.Equal(to, []float32{3, 6, 9, 12}) {
		err = fmt.Errorf("results %v", to)
	}
	return gpu.Stats(), err
}

// machine is a machine of a fleet: a cache directory, and its environment.
type machine struct {
	*testing.T
	environment []string
}

func newMachine(t *testing.T, environment ...string) *machine {
	return &machine{t, append(environment, "SHADERCACHE_DIR="+filepath.Join(t.TempDir(), "cache"), "SHADERCACHE_REMOTE_BUDGET=30s")}
}

// start runs one start, and returns its stats and what it logged.
func (m *machine) start(how string) (stats shadercache.Stats, log string) {
	m.Helper()
	executable, err := os.Executable()
	if err != nil {
		m.Fatal(err)
	}
	cmd := exec.Command(executable)
	cmd.Env = append(os.Environ(), append(m.environment, fleetVariable+"="+how)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		m.Fatalf("%v\n%s", err, &stderr)
	}
	if err := json.Unmarshal(stdout.Bytes(), &stats); err != nil {
		m.Fatalf("%v: %s", err, &stdout)
	}
	return stats, stderr.String()
}

// wants checks a start. compiles are those of one program: 0 or 1.
func (m *machine) wants(how string, outcome fleet.Outcome, compiles uint64) {
	m.Helper()
	s, log := m.start(how)
	if s.Remote.Outcome != outcome || s.Cache.Compiles != compiles || s.Cache.DiskHits != 1-compiles || s.Cache.MachineCodeMisses != 0 || log != "" {
		m.Errorf("%s: %s, %d compiles, %d from disk, machine code made again %d, logged %q; want %s, %d compiles",
			how, s.Remote.Outcome, s.Cache.Compiles, s.Cache.DiskHits, s.Cache.MachineCodeMisses, log, outcome, compiles)
	}
}

// The first machine compiles and pushes when it closes. Others, which have nothing on disk,
// compile nothing, and find their machine code: also one that makes its context by itself.
func TestAFleetCompilesOnce(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	key := filepath.Join(t.TempDir(), "fleet.key")
	if err := pack.GenerateKey(key); err != nil {
		t.Fatal(err)
	}
	place := "SHADERCACHE_REMOTE=file://" + t.TempDir()
	writer := newMachine(t, place, "SHADERCACHE_REMOTE_MODE=read-write", "SHADERCACHE_REMOTE_SIGN_KEY="+key)
	writer.wants("open", fleet.Leased, 1)
	writer.wants("open", fleet.Current, 0)
	reads := []string{place, "SHADERCACHE_REMOTE_KEYS=" + key + ".pub"}
	reader := newMachine(t, reads...)
	reader.wants("open", fleet.Pulled, 0)
	reader.wants("open", fleet.Current, 0)
	newMachine(t, reads...).wants("adopt", fleet.Pulled, 0)
	newMachine(t, append(reads, "SHADERCACHE_REMOTE_MODE=off")...).wants("open", fleet.Disabled, 1)

	// A machine whose directory cannot be used has a private place, also for the next start.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	private := newMachine(t, reads...)
	private.environment = append(private.environment, "SHADERCACHE_DIR="+file, "XDG_RUNTIME_DIR="+t.TempDir())
	for _, want := range []fleet.Outcome{fleet.Pulled, fleet.Current} {
		s, log := private.start("open")
		if s.Remote.Outcome != want || s.Cache.Compiles != 0 || s.Cache.MachineCodeMisses != 0 || strings.Count(log, "level=WARN") != 1 ||
			!strings.Contains(log, "a private place is used") {
			t.Errorf("a private place: %+v, logged %s", s, log)
		}
	}

	// Nothing is used that is signed by another key: one warning, and the start compiles.
	if err := pack.GenerateKey(key + "2"); err != nil {
		t.Fatal(err)
	}
	s, log := newMachine(t, place, "SHADERCACHE_REMOTE_KEYS="+key+"2.pub").start("open")
	if s.Cache.Compiles != 1 || s.Remote.Outcome != fleet.Failed || strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, "is signed by key") {
		t.Errorf("another key: %+v, logged %s", s, log)
	}
}

// A remote that cannot be used is one warning, which says what to do, and no error.
func TestRemoteThatCannotBeUsed(t *testing.T) {
	for want, o := range map[string]fleet.Options{
		"github.com/shadercache/shadercache/fleet/s3": {URL: "s3://host/bucket"},
		"gopher":                   {URL: "gopher://host/"},
		"SHADERCACHE_REMOTE_KEYS":  {URL: "file:///nowhere"},
		"the URL cannot be parsed": {URL: "http://user:secret@[::1"},
	} {
		var log bytes.Buffer
		gpu := open(t, shadercache.Options{Dir: t.TempDir(), NoExecutor: true, Remote: o,
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
		program, err := gpu.Cache.Get(t.Context(), triple)
		if err != nil {
			t.Fatal(err)
		}
		program.Release()
		if err := gpu.Close(); err != nil {
			t.Error(err)
		}
		text := log.String()
		if strings.Count(text, `msg="the remote `) != 1 || !strings.Contains(text, want) || strings.Contains(text, "secret") {
			t.Errorf("%q is not in one warning: %s", want, text)
		}
	}
}
