//go:build linux

package systemtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// startVariable makes a process an application that starts: see start.
const startVariable = "SHADERCACHE_TEST_START"

// start is an application that opens the cache in Dir and gets its programs.
type start struct {
	Dir      string
	Names    []string
	NoTrials bool
	Record   bool // crashes
	Run      bool // runs each program once
	Shell    bool // it is started by a shell
}

// startResult is what it prints.
type startResult struct {
	Log     string
	Origins map[string]string // or the error
	Stats   binary.Counters
}

// It runs in place of the tests, and before them: like a main, after the packages that it
// imports.
func init() {
	value := os.Getenv(startVariable)
	if value == "" {
		return
	}
	var s start
	if err := json.Unmarshal([]byte(value), &s); err != nil {
		panic(err)
	}
	if err := s.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (s start) run() error {
	var log bytes.Buffer
	gpu, err := shadercache.Open(shadercache.Options{
		Dir: s.Dir, Logger: slog.New(slog.NewTextHandler(&log, nil)), NoTrials: s.NoTrials, Cache: cache.Options{RecordCrashes: s.Record}, Executor: executor.Options{SlotBytes: 1 << 12},
	})
	if err != nil {
		return err
	}
	fmt.Println("open")
	var sources []*shader.Source
	for _, name := range s.Names {
		sources = append(sources, kernelNamed(name))
	}
	r := startResult{Origins: map[string]string{}}
	results, err := gpu.Cache.Preload(context.Background(), sources, nil)
	for _, p := range results {
		r.Origins[p.Name] = p.Origin.String()
		if p.Err != nil {
			r.Origins[p.Name] = p.Err.Error()
		}
	}
	if s.Run {
		for _, source := range sources {
			if runErr := runOnce(gpu, source); runErr != nil {
				r.Origins[source.Name()] = runErr.Error()
			}
		}
	}
	r.Stats = gpu.Cache.Stats().Counters
	err = errors.Join(err, gpu.Close())
	r.Log = log.String()
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(r))
}

// runOnce runs a program and checks its result.
func runOnce(gpu *shadercache.GPU, source *shader.Source) error {
	program, err := gpu.Cache.Get(context.Background(), source)
	if err != nil {
		return err
	}
	defer program.Release()
	word := []uint32{0}
	pending, err := gpu.Executor.Submit(context.Background(), job.Job{
		Dispatch: job.Dispatch{Program: program, Groups: [3]uint32{1, 1, 1}},
		Outputs:  []job.Output{{Binding: 0, To: glctx.Bytes(word)}},
	})
	if err == nil {
		err = pending.Wait(context.Background())
	}
	if err == nil && word[0] != uint32(len(source.Name())) {
		err = fmt.Errorf("computed %d", word[0])
	}
	return err
}

// kernelNamed returns a program whose text has its name.
func kernelNamed(name string) *shader.Source {
	return shader.MustSource(name, `#version 450
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Out { uint word; };
void main() { word = `+fmt.Sprint(len(name))+`u; } // `+name, nil)
}

func (s start) command(t *testing.T, environment ...string) *exec.Cmd {
	t.Helper()
	value, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	if s.Shell {
		cmd = exec.Command("/bin/sh", "-c", `"$0"; exit $?`, os.Args[0])
	}
	cmd.Env = append(append(os.Environ(), environment...), startVariable+"="+string(value))
	return cmd
}

// wantResult runs a start that has to end well.
func (s start) wantResult(t *testing.T, environment ...string) (r startResult) {
	t.Helper()
	cmd := s.command(t, environment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, &stderr)
	}
	if err := json.Unmarshal(bytes.TrimPrefix(out, []byte("open\n")), &r); err != nil {
		t.Fatalf("what a child prints must not be here: %v\n%s", err, out)
	}
	return r
}

// wantDeath runs a start that the driver ends.
func (s start) wantDeath(t *testing.T, environment ...string) {
	t.Helper()
	if out, err := s.command(t, environment...).Output(); err == nil {
		t.Fatalf("it lived: %s", out)
	}
}

func notes(t *testing.T, path string) (list []binary.Quarantined) {
	t.Helper()
	dir, err := binary.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	err = dir.EachStore(func(_ string, store *binary.Store) error {
		list = append(list, store.Quarantined()...)
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Programs of processes that are killed at any moment are refused by no later start.
func TestKilledStartsRefuseNothing(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	kills := 10
	if os.Getenv("SHADERCACHE_SOAK") != "" {
		kills = 200
	}
	s := start{Dir: t.TempDir()}
	suspected, trials := 0, uint64(0)
	for n := range kills {
		// Half of the programs are stored, and half are new.
		s.Names = nil
		for i := range 12 {
			s.Names = append(s.Names, fmt.Sprintf("kernel %d of start %d", i, n-1), fmt.Sprintf("kernel %d of start %d", i, n))
		}
		cmd := s.command(t)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = out.Read(make([]byte, 16)) // it has a context
		time.Sleep(rand.N(60 * time.Millisecond))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		after := s
		after.Names = s.Names[:n%len(s.Names)+1] // others stay suspect
		for range 2 {
			r := after.wantResult(t)
			trials += r.Stats.Trials
			suspected += len(notes(t, s.Dir))
			for name, origin := range r.Origins {
				if origin != "compiled" && origin != "disk" {
					t.Errorf("kill %d: %s: %s", n, name, origin)
				}
			}
			for _, q := range notes(t, s.Dir) {
				if !q.Suspect {
					t.Errorf("kill %d: %+v", n, q)
				}
			}
			after.Names = s.Names
		}
		if left := notes(t, s.Dir); len(left) != 0 {
			t.Errorf("kill %d: still suspect after all were tried: %+v", n, left)
		}
	}
	t.Logf("%d kills, %d trials", kills, trials)
	if trials == 0 {
		t.Error("no process was killed while the driver had a program")
	}
}

// A source that crashes the driver ends one process of a library user, who has no code for
// it; the next one learns from a child that it does.
func TestSourceThatCrashesTheDriver(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Crash, At: "glLinkProgram", Source: "killer"})
	s := start{Dir: t.TempDir(), Names: []string{"a", "killer", "b"}}
	s.wantDeath(t, environment...)
	for n, trials := range []uint64{3, 0} {
		r := s.wantResult(t, environment...)
		if r.Stats.Trials != trials || r.Stats.Refusals != 1 || !strings.Contains(r.Origins["killer"], "child process crashed (SIGSEGV") {
			t.Errorf("start %d: %+v", n, r)
		}
		if r.Origins["a"] != "disk" || r.Origins["b"] != "disk" {
			t.Errorf("start %d: %v", n, r.Origins)
		}
	}
	if list := notes(t, s.Dir); len(list) != 1 || list[0].Name != "killer" || !list[0].Refused() {
		t.Errorf("in quarantine: %+v", list)
	}
	// The driver is mended.
	dir, err := binary.OpenDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := dir.Verify(true, nil); err != nil || r.Fixed != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if r := s.wantResult(t); r.Origins["killer"] != "disk" || r.Stats.Trials != 1 {
		t.Errorf("after a repair: %+v", r)
	}
}

// Bad machine code in the driver's own cache costs that cache, and no program.
func TestDriverThatCrashesOfItsOwnCache(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Crash, At: "glDispatchComputeIndirect", Source: "victim", While: "bad"})
	s := start{Dir: t.TempDir(), Names: []string{"a", "victim", "b"}}
	if r := s.wantResult(t, environment...); r.Stats.Compiles != 3 {
		t.Fatalf("%+v", r)
	}
	bad := filepath.Join(s.Dir, "driver", "mesa", "bad")
	if err := os.WriteFile(bad, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.wantDeath(t, environment...)
	r := s.wantResult(t, environment...)
	if !strings.Contains(r.Origins["victim"], "its own cache, which was set aside") || r.Origins["a"] != "disk" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Lstat(bad); !os.IsNotExist(err) {
		t.Errorf("not set aside: %v", err)
	}
	r = s.wantResult(t, environment...)
	if r.Origins["victim"] != "disk" && r.Origins["victim"] != "compiled" || r.Stats.Refusals != 0 || len(notes(t, s.Dir)) != 0 {
		t.Errorf("%+v", r)
	}
}

// A driver that crashes as it runs a program for the first time ends two processes that
// record crashes: one with its own cache as it was, and one with an empty one.
func TestDriverThatCrashesInTheFirstJob(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	faulty := filepath.Join(t.TempDir(), "faulty")
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Crash, At: "glDispatchCompute", Source: "victim", While: faulty})
	s := start{Dir: t.TempDir(), Names: []string{"a", "victim", "b"}, Record: true, Run: true}
	s.wantResult(t, environment...)
	if err := os.WriteFile(faulty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"dies", "aside", "dies", "not for the first time", "not for the first time"} {
		if want == "dies" {
			s.wantDeath(t, environment...)
			continue
		}
		r := s.wantResult(t, environment...)
		if !strings.Contains(r.Origins["victim"], want) || r.Origins["a"] != "disk" || r.Stats.Trials != 0 {
			t.Errorf("start %d: %+v", n, r)
		}
	}
	if list := notes(t, s.Dir); len(list) != 1 || list[0].Name != "victim" || list[0].Action != binary.ActionDispatch {
		t.Errorf("in quarantine: %+v", list)
	}
	// The driver is mended.
	dir, err := binary.OpenDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := dir.Verify(true, nil); err != nil || r.Fixed != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if r := s.wantResult(t); r.Origins["victim"] != "disk" || len(notes(t, s.Dir)) != 0 {
		t.Errorf("after a repair: %+v, %+v", r, notes(t, s.Dir))
	}
}

// An application that records no crashes gets over such a driver as well: the process after
// the first that died records its own crash.
func TestDriverThatCrashesInTheFirstJobUnrecorded(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	faulty := filepath.Join(t.TempDir(), "faulty")
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Crash, At: "glDispatchCompute", Source: "victim", While: faulty})
	s := start{Dir: t.TempDir(), Names: []string{"a", "victim", "b"}, Run: true}
	s.wantResult(t, environment...)
	if err := os.WriteFile(faulty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.wantDeath(t, environment...)
	}
	if r := s.wantResult(t, environment...); !strings.Contains(r.Origins["victim"], "aside") || r.Origins["a"] != "disk" || r.Origins["b"] != "disk" {
		t.Errorf("the third start: %+v", r)
	}
}

// A program in whose first job a process was killed, again and again, is healthy.
func TestKilledInTheFirstJob(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	killed := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Crash, Argument: "9", At: "glDispatchCompute", Source: "victim"})
	s := start{Dir: t.TempDir(), Names: []string{"a", "victim"}, Run: true}
	for range 3 {
		s.wantDeath(t, killed...)
	}
	// Each may have died before the binary was written.
	if r := s.wantResult(t); r.Origins["victim"] != "disk" && r.Origins["victim"] != "compiled" || r.Stats.Refusals != 0 || len(notes(t, s.Dir)) != 0 {
		t.Errorf("%+v, %+v", r, notes(t, s.Dir))
	}
	if r := s.wantResult(t); r.Origins["victim"] != "disk" {
		t.Errorf("the next start: %+v", r)
	}
}

// A driver that crashes as it returns a program binary ends one process. The program is
// compiled from then on and not stored.
func TestDriverThatCrashesReadingABinary(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Crash, At: "glGetProgramBinary", Source: "victim"})
	s := start{Dir: t.TempDir(), Names: []string{"a", "victim", "b"}}
	s.wantDeath(t, environment...)
	for n := range 2 {
		r := s.wantResult(t, environment...)
		// The first process may have died before it stored the others.
		if r.Origins["victim"] != "compiled" || r.Origins["a"] != "disk" && n > 0 || r.Stats.Refusals != 0 {
			t.Errorf("start %d: %+v", n, r)
		}
	}
	if list := notes(t, s.Dir); len(list) != 1 || list[0].Action != binary.ActionRead || list[0].Refused() {
		t.Errorf("notes: %+v", list)
	}
}

// A driver that crashes as it makes a context is named at the next start.
func TestDriverThatCrashesMakingAContext(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Crash, At: "eglMakeCurrent"})
	s := start{Dir: t.TempDir(), Names: []string{"a"}}
	s.wantDeath(t, environment...)
	s.wantDeath(t, environment...)
	if r := s.wantResult(t); !strings.Contains(r.Log, "processes ended while the driver made a GL context") || !strings.Contains(r.Log, "processes=2") {
		t.Errorf("log: %s", r.Log)
	}
	if r := s.wantResult(t); strings.Contains(r.Log, "GL context") {
		t.Errorf("log after a success: %s", r.Log)
	}
}

// Without trials, and without processes, a suspect is compiled here.
func TestNoTrials(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Crash, Argument: "9", At: "glLinkProgram", Source: "killed", Call: 1})
	s := start{Dir: t.TempDir(), Names: []string{"killed"}, NoTrials: true}
	s.wantDeath(t, environment...)
	if r := s.wantResult(t); r.Stats.Trials != 0 || r.Origins["killed"] != "compiled" {
		t.Errorf("%+v", r)
	}
}

// A program that inherits the variable of a child, through a process in between, is no
// child: it runs as always.
func TestTrialVariableIsOfOneParent(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	s := start{Dir: t.TempDir(), Names: []string{"a"}}
	s.Shell = true
	if r := s.wantResult(t, fmt.Sprintf(`SHADERCACHE_TRIAL={"parent":%d,"dir":%q}`, os.Getpid(), s.Dir)); len(r.Origins) != 1 {
		t.Errorf("%+v", r)
	}
}

// A child whose parent has ended before it began ends, too: its main does not run.
func TestTrialWhoseParentHasEnded(t *testing.T) {
	t.Parallel()
	child := exec.Command("/proc/self/exe", "-test.run=^$", "SHADERCACHE_TRIAL")
	child.Env = append(os.Environ(), `SHADERCACHE_TRIAL={"parent":1,"dir":"/nonexistent"}`)
	if out, err := child.CombinedOutput(); err == nil || child.ProcessState.ExitCode() != 1 || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// The variable of the child is of no use to other processes.
func TestTrialVariableIsNotInherited(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	s := start{Dir: t.TempDir(), Names: []string{"a"}}
	for _, value := range []string{"", "{", `{"parent":1,"dir":"/nonexistent"}`} {
		if r := s.wantResult(t, "SHADERCACHE_TRIAL="+value); len(r.Origins) != 1 {
			t.Errorf("%q: %+v", value, r)
		}
	}
}
