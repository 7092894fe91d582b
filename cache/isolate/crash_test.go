//go:build linux

package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
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

// The environment of a child that serveFake runs.
const (
	fakeDir    = "ISOLATE_TEST_DIR"
	fakeSilent = "ISOLATE_TEST_SILENT" // the child cannot record its own crash
	fakeLoad   = "ISOLATE_TEST_LOAD"   // a file: the driver deletes it and crashes of a load
	fakeLarge  = "ISOLATE_TEST_LARGE"  // the child takes memory before it is ready
	fakeClose  = "ISOLATE_TEST_CLOSE"  // the driver crashes as the child closes its cache
	fakeParent = "ISOLATE_TEST_PARENT" // the process runs a pool itself, see runParent
)

func TestMain(m *testing.M) {
	switch {
	case IsChild():
		if err := serveFake(os.Getenv(fakeDir), os.Getenv(fakeSilent) != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv(fakeParent) != "":
		runParent()
	default:
		os.Exit(m.Run())
	}
}

// serveFake serves a cache whose driver is a fake: see fakeDevice.
func serveFake(dir string, silent bool) error {
	if silent {
		debug.SetTraceback("crash") // so that a signal ends the process
	}
	return Child{Open: func() (Opened, error) {
		drivercache.Manage(filepath.Join(dir, "driver")) // unless the parent has replaced it
		if os.Getenv(fakeLarge) != "" {
			leak(80 << 20)
		}
		c, err := cache.New(fakeDevice(), cache.Options{Dir: dir, RecordCrashes: !silent, KeepCompileErrors: true, InTrial: true})
		if err != nil {
			return Opened{}, err
		}
		return Opened{Cache: c, ContextTime: time.Millisecond, Close: func() error {
			err := c.Close()
			if os.Getenv(fakeClose) != "" {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
				select {}
			}
			return err
		}}, nil
	}}.Serve()
}

// leaked holds what the fake driver allocated for programs.
var leaked [][]byte

// fakeDevice is a driver that does with a program what its name says.
func fakeDevice() *cachetest.Device {
	device := cachetest.NewDevice()
	device.OnLoad = func(context.Context, []byte) error {
		if os.Remove(os.Getenv(fakeLoad)) == nil {
			_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
			select {}
		}
		return nil
	}
	device.OnCompile = func(_ context.Context, source *shader.Source) error {
		switch source.Name() {
		case "machine code": // the driver has bad machine code in its cache
			if _, err := os.Lstat(filepath.Join(os.Getenv("MESA_SHADER_CACHE_DIR"), "bad")); err == nil {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
				select {}
			}
		case "crash":
			_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
			select {}
		case "broken":
			return &shader.CompileError{Name: "broken", Log: "no main"}
		case "print":
			fmt.Println(`{"ready":true}`)
			fmt.Println("the driver prints")
		case "hang":
			fmt.Println("child", os.Getpid())
			for {
				time.Sleep(time.Hour)
			}
		case "hog":
			for {
				leak(16 << 20)
			}
		case "leak one", "leak two", "leak three":
			leak(80 << 20)
		}
		return nil
	}
	return device
}

// leak allocates bytes and writes to each page of them. They are not of Go's heap, of
// which the race detector needs several times as much.
func leak(size int) {
	page, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(page); i += 4096 {
		page[i] = 1
	}
	leaked = append(leaked, page)
}

func sources(names ...string) (list []*shader.Source) {
	for _, name := range names {
		list = append(list, shader.MustSource(name, "void main() { /* "+name+" */ }", nil))
	}
	return list
}

func openDir(t *testing.T) *binary.Dir {
	t.Helper()
	dir, err := binary.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A driver that crashes costs two children, the second with an empty cache of the driver,
// and its program is refused from then on: the child records the crash, or where it
// cannot, the pool.
func TestOneCrashIsEnough(t *testing.T) {
	for _, silent := range []string{"", "yes"} {
		dir := openDir(t)
		t.Setenv(fakeDir, dir.Path())
		t.Setenv(fakeSilent, silent)
		got := map[string]Result{}
		p := Pool{Jobs: 1, Timeout: time.Hour, Dir: dir}
		report, err := p.Compile(context.Background(), sources("a", "b", "crash", "broken", "c"), func(r Result) { got[r.Name] = r })
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 5 || len(report.Children) != 3 || report.Children[0].Context != time.Millisecond {
			t.Errorf("%d results, %+v", len(got), report)
		}
		for name, r := range got {
			if r.Quarantined != (name == "crash") || (r.Err != nil) != (name == "crash" || name == "broken") {
				t.Errorf("silent %q, %s: %+v", silent, name, r)
			}
		}
		list := quarantined(t, dir)
		if len(list) != 1 || !list[0].Refused() || list[0].Name != "crash" {
			t.Errorf("silent %q, in quarantine: %+v", silent, list)
		}
	}
}

// A child that crashes between two programs says nothing about the second, nor about the
// driver's own cache.
func TestACrashBetweenTwoPrograms(t *testing.T) {
	dir := openDir(t)
	t.Setenv(fakeDir, dir.Path())
	var child *exec.Cmd
	p := Pool{Jobs: 1, Timeout: time.Hour, Dir: dir, Command: func() (_ *exec.Cmd, err error) {
		child, err = ChildCommand()
		return child, err
	}}
	report, err := p.Compile(context.Background(), sources("a", "b"), func(r Result) {
		if r.Err != nil || r.BadDriverCache || r.Quarantined {
			t.Errorf("%+v", r)
		}
		if r.Name == "a" {
			_ = child.Process.Signal(syscall.SIGSEGV)
			waitFor(t, "the child ends", func() bool { return !alive(child.Process.Pid) })
		}
	})
	if err != nil || len(report.Children) != 2 || !drivercache.AsideSince(dir.DriverDir()).IsZero() {
		t.Errorf("%d children, %v", len(report.Children), err)
	}
	if list := quarantined(t, dir); len(list) > 0 {
		t.Errorf("in quarantine: %+v", list)
	}
}

// Where no second child can be started, the next one has the driver's own cache set aside: a
// program is refused that crashes then too, with a reason that is so, and no other.
func TestASecondChildThatCannotStart(t *testing.T) {
	for name, crashes := range map[string]bool{"machine code": false, "crash": true} {
		dir := openDir(t)
		t.Setenv(fakeDir, dir.Path())
		addBadMachineCode(t, dir)
		started := 0
		p := Pool{Jobs: 1, Timeout: time.Hour, Dir: dir, Command: func() (*exec.Cmd, error) {
			if started++; started == 2 {
				return nil, errors.New("no process")
			}
			return ChildCommand()
		}}
		var got Result
		if _, err := p.Compile(context.Background(), sources(name), func(r Result) { got = r }); err != nil {
			t.Fatal(err)
		}
		list := quarantined(t, dir)
		if got.Quarantined != crashes || (got.Err != nil) != crashes || got.BadDriverCache || len(list) > 0 != crashes {
			t.Errorf("%s: %+v, in quarantine: %+v", name, got, list)
		}
		if crashes && (!list[0].Refused() || strings.Contains(list[0].Reason, "empty")) {
			t.Errorf("%+v", list[0])
		}
		if drivercache.AsideSince(dir.DriverDir()).IsZero() {
			t.Errorf("%s: the driver's cache is not set aside", name)
		}
	}
}

// A setting of the user's that leaves the driver's cache where it is does not keep the second
// child from having an empty one.
func TestASecondChildWithASettingOfTheUser(t *testing.T) {
	for variable, managed := range map[string]bool{"MESA_SHADER_CACHE_MAX_SIZE=2G": true, "__GL_SHADER_DISK_CACHE=0": false} {
		dir := openDir(t)
		t.Setenv(fakeDir, dir.Path())
		addBadMachineCode(t, dir)
		p := Pool{Jobs: 1, Timeout: time.Hour, Dir: dir, Command: func() (*exec.Cmd, error) {
			command, err := ChildCommand()
			command.Env = append(command.Env, variable)
			return command, err
		}}
		var got Result
		_, err := p.Compile(context.Background(), sources("machine code"), func(r Result) { got = r })
		if err != nil || got.BadDriverCache != managed || got.Err != nil {
			t.Errorf("%s: %+v, %v", variable, got, err)
		}
	}
}

func addBadMachineCode(t *testing.T, dir *binary.Dir) {
	t.Helper()
	bad := filepath.Join(dir.DriverDir(), "mesa", "bad")
	if err := errors.Join(os.MkdirAll(filepath.Dir(bad), 0o700), os.WriteFile(bad, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// Another process refuses a program after its child crashed. The second child, which does not
// try it then, says nothing about the driver's own cache.
func TestARefusalBetweenTwoChildren(t *testing.T) {
	dir := openDir(t)
	t.Setenv(fakeDir, dir.Path())
	started := 0
	p := Pool{Jobs: 1, Timeout: time.Hour, Dir: dir, Command: func() (*exec.Cmd, error) {
		if started++; started == 2 {
			err := dir.EachStore(func(_ string, store *binary.Store) error {
				q := store.Quarantined()[0]
				q.Action, q.Suspect = binary.ActionCompile, false
				return store.Refuse(q)
			}, nil)
			if err != nil {
				t.Error(err)
			}
		}
		return ChildCommand()
	}}
	var got Result
	if _, err := p.Compile(context.Background(), sources("crash"), func(r Result) { got = r }); err != nil {
		t.Fatal(err)
	}
	if started != 2 || !got.Quarantined || got.BadDriverCache {
		t.Errorf("%d children, %+v", started, got)
	}
}

func quarantined(t *testing.T, dir *binary.Dir) (list []binary.Quarantined) {
	t.Helper()
	err := dir.EachStore(func(_ string, store *binary.Store) error {
		list = append(list, store.Quarantined()...)
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What children compiled is on disk for the next cache.
func TestChildrenStoreWhatTheyCompile(t *testing.T) {
	dir := openDir(t)
	t.Setenv(fakeDir, dir.Path())
	p := Pool{Jobs: 2, Dir: dir}
	list := sources("a", "b", "c", "d")
	if _, err := p.Compile(context.Background(), list, func(r Result) {
		if r.Err != nil || r.Origin != job.Compiled || r.Key != list[r.Index].Key() {
			t.Errorf("%+v", r)
		}
	}); err != nil {
		t.Fatal(err)
	}
	c, err := cache.New(cachetest.NewDevice(), cache.Options{Dir: dir.Path()})
	if err != nil {
		t.Fatal(err)
	}
	results, err := c.Preload(context.Background(), list, nil)
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Origin != job.Disk {
			t.Errorf("%+v", r)
		}
	}
}

// A child whose cache cannot be opened, or stores nothing, is reported with a hint.
func TestChildReportsWhyItCannotStart(t *testing.T) {
	memoryOnly := func() (Opened, error) {
		c, err := cache.New(cachetest.NewDevice(), cache.Options{MemoryOnly: true})
		return Opened{Cache: c, Close: func() error { return c.Close() }}, err
	}
	for want, open := range map[string]func() (Opened, error){
		"no GPU":                    func() (Opened, error) { return Opened{}, errors.New("no GPU") },
		"programs cannot be stored": memoryOnly,
	} {
		var out bytes.Buffer
		err := Child{Open: open, Hint: func(error) string { return "a hint" }, In: strings.NewReader("{}\nx\n"), Out: &out}.Serve()
		if text := out.String(); err != nil || !strings.Contains(text, want) || !strings.Contains(text, "a hint") || strings.Count(text, "\n") != 1 {
			t.Errorf("%q: %s, %v", want, text, err)
		}
	}
}

// A request that cannot be found fails alone.
func TestChildReportsRequestsThatFail(t *testing.T) {
	var out bytes.Buffer
	child := Child{
		Open: func() (Opened, error) {
			c, err := cache.New(cachetest.NewDevice(), cache.Options{Dir: t.TempDir()})
			return Opened{Cache: c, Close: func() error { return c.Close() }}, err
		},
		In:  strings.NewReader("{}\nno source\n" + encodeSource(sources("a")[0]) + "\n"),
		Out: &out,
	}
	if err := child.Serve(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], "decode a source") || !strings.Contains(lines[2], `"origin":"compiled"`) {
		t.Errorf("%q", lines)
	}
}

func TestEndingSignal(t *testing.T) {
	for script, want := range map[string]string{"kill -SEGV $$": "SIGSEGV: segmentation fault", "exit 3": "", "exit 0": ""} {
		command := exec.Command("sh", "-c", script)
		_ = command.Run()
		if got := endingSignal(command.ProcessState); got != want {
			t.Errorf("%q: %q", script, got)
		}
	}
}
