package cache_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

const (
	crashEnvironment   = "CACHE_TEST_CRASH"
	crashAsEnvironment = "CACHE_TEST_CRASH_AS"
)

// inChild has the work of a test binary that a test starts as a child process, by
// the environment variable with its arguments.
var inChild = map[string]func(args []string){
	crashEnvironment: func(args []string) { crash(args[0], args[1], args[2:]) },
	shareEnvironment: func(args []string) { shareWork(args[0]) },
	workEnvironment: func(args []string) {
		seed, _ := strconv.Atoi(args[1])
		workOnOneDirectory(args[0], uint64(seed))
	},
}

func TestMain(m *testing.M) {
	for variable, work := range inChild {
		if args := strings.Fields(os.Getenv(variable)); len(args) > 0 {
			work(args)
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// crash is a process that dies while its driver compiles or loads the program
// called victim. With several names the programs are preloaded together, those
// after a name "then" in a second call. With $CACHE_TEST_CRASH_AS it dies of that
// signal and records it.
func crash(dir, victim string, names []string) {
	dev := cachetest.NewDevice()
	var c *cache.Cache
	signal := syscall.SIGKILL
	as := os.Getenv(crashAsEnvironment)
	if number, err := strconv.Atoi(as); err == nil {
		signal = syscall.Signal(number)
	}
	kill := func() {
		if as == "interrupted" {
			c.Interrupted()
		}
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Signal(signal)
		// Without a timer, Go's runtime may call this a deadlock before the signal
		// comes.
		time.Sleep(time.Hour)
	}
	dev.OnCompile = func(_ context.Context, src *shader.Source) error {
		if src.Name() == victim {
			kill()
		}
		return nil
	}
	key := source(victim).Key()
	dev.OnLoad = func(_ context.Context, payload []byte) error {
		if shader.Key(payload[:len(key)]) == key {
			kill()
		}
		return nil
	}
	var err error
	if c, err = cache.New(dev, cache.Options{Dir: dir, RecordCrashes: as != ""}); err != nil {
		panic(err)
	}
	for together := range strings.SplitSeq(strings.Join(names, " "), " then ") {
		var list []*shader.Source
		for _, name := range strings.Fields(together) {
			list = append(list, source(name))
		}
		if _, err := c.Preload(context.Background(), list, nil); err != nil {
			panic(err)
		}
	}
	c.Close()
}

// crashGuarded is a process that dies while a scratch cache compiles the source
// called victim, or, without a victim, in CrashGuard.Run of the name.
func crashGuarded(dir, victim, name string) {
	signal, recorded := syscall.SIGKILL, false
	if number, err := strconv.Atoi(os.Getenv(crashAsEnvironment)); err == nil {
		signal, recorded = syscall.Signal(number), true
	}
	kill := func() error {
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Signal(signal)
		time.Sleep(time.Hour)
		return nil
	}
	dev := cachetest.NewDevice()
	dev.OnCompile = func(_ context.Context, src *shader.Source) error {
		if src.Name() == victim {
			return kill()
		}
		return nil
	}
	c, err := cache.New(dev, cache.Options{Dir: dir, RecordCrashes: recorded})
	if err != nil {
		panic(err)
	}
	if victim == "" {
		_ = c.CrashGuard().Run(name, kill)
	}
	scratch, err := newScratch(dev, c)
	if err != nil {
		panic(err)
	}
	_, _ = scratch.Get(context.Background(), source(victim))
}

// runCrash runs crash in a process of its own and reports whether it died.
func runCrash(t *testing.T, dir, victim string, names ...string) bool {
	t.Helper()
	return dies(t, crashEnvironment, dir+" "+victim+" "+strings.Join(names, " "))
}

// dies starts this test binary for the work of a variable and reports whether it
// died.
func dies(t *testing.T, variable, args string) bool {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), variable+"="+args)
	if os.Getenv(crashAsEnvironment) == "" {
		cmd.Stderr = os.Stderr // else it is the runtime's report
	}
	return cmd.Run() != nil
}

// openStart is the next start of a process on dir.
func openStart(t *testing.T, dir string, o cache.Options) *fixture {
	t.Helper()
	o.Dir = dir
	return startFixture(t, cachetest.NewDevice(), nil, o)
}

func (f *fixture) close() {
	f.Helper()
	if err := f.cache.Close(); err != nil {
		f.Fatal(err)
	}
}

// realStore is the store on disk that openStart uses.
func realStore(t *testing.T, dir string) *binary.Store {
	t.Helper()
	d, err := binary.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Store(cachetest.NewDevice().Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Nothing shows that the driver ended a process that was killed, so the source is
// compiled again, however often that happens.
func TestKilledProcessesRefuseNothing(t *testing.T) {
	dir := t.TempDir()
	for range 4 {
		if !runCrash(t, dir, "good", "good") {
			t.Fatal("the process did not end")
		}
	}
	f := openStart(t, dir, cache.Options{})
	f.wantOrigin(source("good"), job.Compiled)
	f.wantCounts(withStored(f, binary.Counters{Compiles: 1}))
	if list := realStore(t, dir).Quarantined(); len(list) != 0 {
		t.Errorf("still in quarantine: %+v", list)
	}
}

// wantRefused checks that a Get of a source returns a *binary.Quarantined with a
// reason.
func (f *fixture) wantRefused(name, reason string) {
	f.Helper()
	h, err := f.cache.Get(context.Background(), source(name))
	h.Release()
	quarantined, ok := errors.AsType[*binary.Quarantined](err)
	if !ok || quarantined.Name != name || quarantined.Action != binary.ActionCompile || !strings.Contains(err.Error(), reason) {
		f.Errorf("Get: %v, want %q", err, reason)
	}
}

// Without a Trier, a source that crashed a process is refused until the driver's own
// cache was set aside, and for a day if the process crashes of it then.
func TestSourceThatCrashesIsRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(crashAsEnvironment, strconv.Itoa(int(syscall.SIGSEGV)))
	if !runCrash(t, dir, "bad", "bad", "good") || !runCrash(t, dir, "bad", "bad") {
		t.Fatal("the driver did not die") // the first time both were in flight
	}
	f := openStart(t, dir, cache.Options{})
	for range 2 {
		f.wantRefused("bad", "sets the driver's own cache aside")
	}
	f.wantOrigin(source("good"), job.Compiled)
	f.wantCounts(withStored(f, binary.Counters{Compiles: 1, Refusals: 2}))
	f.close()
	if runCrash(t, dir, "bad", "bad", "good") {
		t.Error("the driver died again")
	}
	must(t, drivercache.SetAside(filepath.Join(dir, "driver")))
	if !runCrash(t, dir, "bad", "bad", "good") || runCrash(t, dir, "bad", "bad", "good") {
		t.Error("it takes one crash with an empty cache of the driver")
	}
	f = openStart(t, dir, cache.Options{})
	f.wantRefused("bad", "not for the first time")
	f.close()
	must(t, realStore(t, dir).Lift(source("bad").Key()))
	f = openStart(t, dir, cache.Options{})
	f.wantOrigin(source("bad"), job.Compiled)
}

// A process that calls Interrupted leaves no marks.
func TestInterruptedProcessLeavesNoSuspect(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(crashAsEnvironment, "interrupted")
	if !runCrash(t, dir, "good", "good") {
		t.Fatal("the process did not end")
	}
	f := openStart(t, dir, cache.Options{})
	f.wantOrigin(source("good"), job.Compiled)
	f.wantCounts(withStored(f, binary.Counters{Compiles: 1}))
}

// A process that was killed while it loaded a blob costs a compile; one that crashed costs
// one at every start, for a day.
func TestBlobThatKillsIsCompiled(t *testing.T) {
	for signal, want := range map[syscall.Signal][]job.Origin{
		syscall.SIGKILL: {job.Compiled, job.Disk},
		syscall.SIGSEGV: {job.Compiled, job.Compiled},
	} {
		dir := t.TempDir()
		f := openStart(t, dir, cache.Options{})
		f.wantOrigin(source("bad"), job.Compiled)
		f.wantOrigin(source("good"), job.Compiled)
		f.close()
		// Loaded together, both would be suspects: they are loaded side by side.
		t.Setenv(crashAsEnvironment, strconv.Itoa(int(signal)))
		if !runCrash(t, dir, "bad", "good", "then", "bad") {
			t.Fatal("the driver did not die")
		}
		for _, origin := range want {
			f = openStart(t, dir, cache.Options{})
			f.wantOrigin(source("good"), job.Disk)
			f.wantOrigin(source("bad"), origin)
			f.close()
		}
		must(t, realStore(t, dir).Lift(source("bad").Key()))
		f = openStart(t, dir, cache.Options{})
		f.wantOrigin(source("bad"), want[1])
		f.close()
		f = openStart(t, dir, cache.Options{})
		f.wantOrigin(source("bad"), job.Disk)
		f.close()
	}
}

// After a death with several sources in flight they are compiled one at a time,
// until the process dies of one.
func TestCulpritAmongManyIsFound(t *testing.T) {
	t.Setenv(crashAsEnvironment, strconv.Itoa(int(syscall.SIGSEGV)))
	dir := t.TempDir()
	names := []string{"a", "b", "bad", "c", "d"}
	for try, dies := range []bool{true, true, false} {
		if runCrash(t, dir, "bad", names...) != dies {
			t.Fatalf("try %d: died %v", try, !dies)
		}
	}
	list := realStore(t, dir).Quarantined()
	if len(list) != 1 || list[0].Name != "bad" || list[0].Signal == "" {
		t.Errorf("in quarantine: %+v", list)
	}
	f := openStart(t, dir, cache.Options{})
	for _, name := range []string{"a", "b", "c", "d"} {
		f.wantOrigin(source(name), job.Disk)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
