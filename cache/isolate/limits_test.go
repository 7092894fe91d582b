//go:build linux

package isolate

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
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
)

// compileFakes compiles programs of fakeDevice. It returns the results by name and what
// children printed.
func compileFakes(t *testing.T, p Pool, names ...string) (map[string]Result, Report, string) {
	t.Helper()
	var printed bytes.Buffer
	dir := p.Dir.Path()
	p.Command = func() (*exec.Cmd, error) {
		command, err := ChildCommand()
		if err == nil {
			command.Env = append(command.Env, fakeDir+"="+dir)
			command.Stderr = &printed
		}
		return command, err
	}
	got := map[string]Result{}
	report, err := p.Compile(context.Background(), sources(names...), func(r Result) {
		if _, again := got[r.Name]; again {
			t.Errorf("%s has two results", r.Name)
		}
		got[r.Name] = r
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, report, printed.String()
}

// A driver that prints what looks like a reply changes nothing.
func TestADriverThatPrints(t *testing.T) {
	t.Parallel()
	got, _, printed := compileFakes(t, Pool{Jobs: 1, Dir: openDir(t)}, "a", "print", "b")
	for name, r := range got {
		if r.Err != nil {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
	if !strings.Contains(printed, "the driver prints\n") {
		t.Errorf("printed %q", printed)
	}
}

// The trace of a crash is not passed on, and the error names the signal.
func TestACrashIsNamedWithoutItsTrace(t *testing.T) {
	t.Parallel()
	got, _, printed := compileFakes(t, Pool{Jobs: 1, Dir: openDir(t)}, "crash", "a")
	lost, ok := errors.AsType[*LostError](got["crash"].Err)
	if !ok || !lost.Crashed() || !strings.Contains(lost.Error(), "the driver crashed: SIGSEGV") || !got["crash"].Quarantined {
		t.Errorf("%+v", got["crash"])
	}
	if strings.Contains(printed, "goroutine") || strings.Contains(printed, "SIGSEGV") {
		t.Errorf("printed %q", printed)
	}
}

// A program over its limit of memory fails alone, at the first try, and is not in
// quarantine: another limit may suit it.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	got, report, _ := compileFakes(t, Pool{Jobs: 1, Dir: openDir(t), MaxMemoryBytes: 128 << 20}, "hog", "a")
	lost, ok := errors.AsType[*LostError](got["hog"].Err)
	if !ok || !lost.OverMemory || lost.TimedOut || lost.Crashed() || got["hog"].Quarantined {
		t.Errorf("%+v", got["hog"])
	}
	// On a busy machine the first child may end itself, before the pool does: hog is tried again.
	if r, n := got["a"], len(report.Children); r.Err != nil || n < 2 || n > 3 {
		t.Errorf("%+v, %+v", r, report)
	}
}

// What earlier programs left in a child is not counted against the next.
func TestAChildThatHasGrownIsReplaced(t *testing.T) {
	t.Parallel()
	got, report, _ := compileFakes(t, Pool{Jobs: 1, Dir: openDir(t), MaxMemoryBytes: 128 << 20}, "leak one", "leak two", "leak three")
	for name, r := range got {
		if r.Err != nil {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
	if len(report.Children) != 3 {
		t.Errorf("%d children", len(report.Children))
	}
}

// What a child has when it is ready, as a context, is no growth: it is not replaced for that,
// and gets its requests.
func TestAChildThatStartsLarge(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	children := 0
	dir := openDir(t)
	p := Pool{Jobs: 1, Dir: dir, MaxMemoryBytes: 128 << 20, Command: func() (*exec.Cmd, error) {
		if children++; children > 3 {
			cancel()
		}
		command, err := ChildCommand()
		command.Env = append(command.Env, fakeDir+"="+dir.Path(), fakeLarge+"=1")
		return command, err
	}}
	results := 0
	_, err := p.Compile(ctx, sources("a", "b", "c"), func(r Result) {
		if results++; r.Err != nil {
			t.Errorf("%+v", r)
		}
	})
	if err != nil || results != 3 || children != 1 {
		t.Errorf("%d results of %d children, %v", results, children, err)
	}
}

// A child that has grown with its first program is replaced after it, and not before.
func TestEveryChildGetsARequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	children := 0
	p := Pool{Jobs: 1, MaxMemoryBytes: 1, Command: func() (*exec.Cmd, error) {
		if children++; children > 9 {
			cancel()
		}
		return shell(fakeChild)()
	}}
	results := 0
	if _, err := p.Run(ctx, []string{"0", "1"}, func(Result) { results++ }); err != nil || results != 2 {
		t.Errorf("%d results of %d children, %v", results, children, err)
	}
}

// A driver that crashes as the context of a child is closed, which is replaced because it has
// grown, costs no request its result.
func TestAChildThatHasGrownEndsBadly(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	p := Pool{Jobs: 1, Dir: dir, MaxMemoryBytes: 128 << 20, Command: func() (*exec.Cmd, error) {
		command, err := ChildCommand()
		command.Env = append(command.Env, fakeDir+"="+dir.Path(), fakeClose+"=1")
		return command, err
	}}
	results := 0
	report, err := p.Compile(context.Background(), sources("leak one", "leak two", "leak three"), func(Result) { results++ })
	if err != nil || results != 3 || len(report.Children) != 3 {
		t.Errorf("%d results of %d children, %v", results, len(report.Children), err)
	}
}

// A program that was over the limit of time is refused for a while.
func TestATimeoutIsRefusedForAWhile(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	var got map[string]Result
	for timeout := 100 * time.Millisecond; !got["hang"].Quarantined; timeout *= 2 { // a busy machine is late with it
		got, _, _ = compileFakes(t, Pool{Jobs: 1, Dir: dir, Timeout: timeout}, "hang")
		if lost, ok := errors.AsType[*LostError](got["hang"].Err); !ok || !lost.TimedOut {
			t.Fatalf("%+v", got["hang"])
		}
	}
	got, _, _ = compileFakes(t, Pool{Jobs: 1, Dir: dir}, "hang")
	if r := got["hang"]; !r.Quarantined || !errors.As(r.Err, new(*ProgramError)) {
		t.Errorf("%+v", r)
	}
	list := quarantined(t, dir)
	if len(list) != 1 || list[0].Hangs != 1 || list[0].Until().Sub(list[0].Time) != time.Minute {
		t.Errorf("in quarantine: %+v", list)
	}
}

// Children outlive the thread that started them.
func TestChildrenOutliveAThread(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	r := &run{Pool: Pool{Dir: dir, Command: func() (*exec.Cmd, error) {
		command, err := ChildCommand()
		command.Env = append(command.Env, fakeDir+"="+dir.Path())
		return command, err
	}}.withDefaults()}
	type started struct {
		child  *childProcess
		thread int
		err    error
	}
	children := make(chan started)
	tested := make(chan struct{})
	defer close(tested)
	var start func()
	start = func() {
		runtime.LockOSThread()
		if syscall.Gettid() == syscall.Getpid() {
			go start()
			<-tested // the main thread does not end, so it stays taken
			runtime.UnlockOSThread()
			return
		}
		child, err := r.startChild(r.Command)
		children <- started{child, syscall.Gettid(), err}
		// Still locked: the thread ends with the goroutine.
	}
	go start()
	s := <-children
	if s.err != nil {
		t.Fatal(s.err)
	}
	task := fmt.Sprintf("/proc/self/task/%d", s.thread)
	waitFor(t, "the thread ends", func() bool { _, err := os.Stat(task); return err != nil })
	program, err := s.child.send(encodeSource(sources("a")[0]))
	if err != nil || program[0].Origin != job.Compiled {
		t.Errorf("%+v, %v", program, err)
	}
	if err := s.child.end(); err != nil {
		t.Error(err)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// runParent is a process that compiles a program that hangs.
func runParent() {
	dir, err := binary.OpenDir(os.Getenv(fakeDir))
	if err != nil {
		panic(err)
	}
	p := Pool{Jobs: 2, Dir: dir}
	_, err = p.Compile(context.Background(), sources("hang", "a"), func(Result) {})
	panic(err)
}

// Children end when their parent is killed, also while their driver hangs, and no
// program is blamed.
func TestChildrenEndWithTheirParent(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), fakeParent+"=1", fakeDir+"="+dir.Path())
	out, err := parent.StderrPipe()
	if err == nil {
		err = parent.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	child := 0
	for lines := bufio.NewScanner(out); child == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "child %d", &child)
	}
	if child == 0 {
		t.Fatal("no child printed its number")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	waitFor(t, "the children end", func() bool { return !alive(child) && !anyWith(fakeDir+"="+dir.Path()) })
	store, err := dir.Store(cachetest.NewDevice().Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if r, err := store.Recover(); err != nil || len(r.Active) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// alive reports whether a process runs: one that ended may wait for its new parent.
func alive(process int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	_, after, _ := strings.Cut(string(status), ") ")
	return err == nil && !strings.HasPrefix(after, "Z")
}

// anyWith reports whether a process has a variable: the pool has a second child, which may
// still write to the directory.
func anyWith(variable string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err == nil && bytes.Contains(environment, []byte(variable+"\x00")) {
			return true
		}
	}
	return false
}

// A child enforces its limits where its parent does not.
func TestAChildEnforcesItsLimits(t *testing.T) {
	t.Parallel()
	input, w := io.Pipe()
	defer w.Close()
	ended := make(chan int)
	var once sync.Once
	watch := startWatch(input, func(code int) { once.Do(func() { ended <- code }) })
	watch.limit(limits{Timeout: time.Hour})
	watch.idle()
	watch.limit(limits{Timeout: time.Nanosecond})
	if code := <-ended; code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// A process that the driver started, and that holds every descriptor of a child, delays
// nothing.
func TestAGrandchildThatHoldsTheDescriptors(t *testing.T) {
	t.Parallel()
	for name, ending := range map[string]string{"ends": "", "dies": "kill -9 $$", "hangs": "while :; do read index || sleep 1; done"} {
		file := filepath.Join(t.TempDir(), "pid")
		t.Cleanup(func() { killProcess(file) })
		script := fmt.Sprintf(`read limits; sleep 600 & echo $! >%s
echo '{"ready":true}' >&3; read index; %s
echo '{"programs":[{"origin":"compiled"}]}' >&3; read index`, file, ending)
		var printed bytes.Buffer
		limit := time.Minute
		if name == "hangs" {
			limit = 200 * time.Millisecond
		}
		p := Pool{Jobs: 1, Timeout: limit, Command: func() (*exec.Cmd, error) {
			command := exec.Command("sh", "-c", script)
			command.Stderr = &printed
			return command, nil
		}}
		var got Result
		begin := time.Now()
		if _, err := p.Run(context.Background(), []string{"0"}, func(r Result) { got = r }); err != nil && name != "ends" {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > time.Minute || (got.Err == nil) != (name == "ends") {
			t.Errorf("%s: %v after %v", name, got.Err, took)
		}
	}
}

// A child that dies while a process that the driver started holds what it prints to, and not its
// replies, has died of its signal.
func TestAGrandchildThatHoldsTheOutput(t *testing.T) {
	t.Parallel()
	for range 4 {
		file := filepath.Join(t.TempDir(), "pid")
		t.Cleanup(func() { killProcess(file) })
		script := fmt.Sprintf(`read limits; sleep 600 3>&- & echo $! >%s; echo '{"ready":true}' >&3; read index; kill -9 $$`, file)
		var printed bytes.Buffer
		p := Pool{Jobs: 1, Timeout: time.Minute, Command: func() (*exec.Cmd, error) {
			command := exec.Command("sh", "-c", script)
			command.Stderr = &printed
			return command, nil
		}}
		var got Result
		_, _ = p.Run(context.Background(), []string{"0"}, func(r Result) { got = r })
		if lost, ok := errors.AsType[*LostError](got.Err); !ok || !strings.HasPrefix(lost.Signal, "SIGKILL") {
			t.Errorf("%+v", got)
		}
	}
}

// killProcess ends the process whose number is in a file.
func killProcess(file string) {
	process := 0
	if text, err := os.ReadFile(file); err == nil {
		_, _ = fmt.Sscan(string(text), &process)
	}
	if process > 0 {
		_ = syscall.Kill(process, syscall.SIGKILL)
	}
}
