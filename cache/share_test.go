package cache_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

const shareEnvironment = "CACHE_TEST_SHARE"

// shareWork is one of several processes that start together: it preloads programs and
// prints how it got them.
func shareWork(dir string) {
	dev := cachetest.NewDevice()
	dev.CompileDelay = 5 * time.Millisecond
	c, err := cache.New(dev, cache.Options{Dir: dir, ShareCompiles: time.Minute})
	if err != nil {
		panic(err)
	}
	results, err := c.Preload(context.Background(), sources(20), nil)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	stats := c.Stats()
	if err = errors.Join(err, c.Close()); err != nil {
		fmt.Println("error:", err)
	}
	fmt.Println("got", stats.Compiles, stats.DiskHits)
}

// Four processes that start together on an empty directory compile each program once.
func TestProcessesShareCompiles(t *testing.T) {
	dir := t.TempDir()
	var children []*exec.Cmd
	var outputs [4]strings.Builder
	for i := range outputs {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), shareEnvironment+"="+dir)
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		must(t, cmd.Start())
		children = append(children, cmd)
	}
	compiled := 0
	for i, cmd := range children {
		must(t, cmd.Wait())
		var compiles, hits int
		if _, err := fmt.Sscanf(outputs[i].String(), "got %d %d", &compiles, &hits); err != nil || compiles+hits != 20 {
			t.Errorf("process %d: %s", i, &outputs[i])
		}
		compiled += compiles
	}
	if compiled != 20 {
		t.Errorf("20 programs were compiled %d times", compiled)
	}
}

// share returns two caches on one directory, as two processes have them.
func share(t *testing.T, patience time.Duration) (first, second *fixture) {
	t.Helper()
	o := cache.Options{Dir: t.TempDir(), ShareCompiles: patience}
	return startFixture(t, cachetest.NewDevice(), nil, o), startFixture(t, cachetest.NewDevice(), nil, o)
}

func TestASecondProcessLoadsWhatTheFirstCompiles(t *testing.T) {
	compiling := newGate()
	first, second := share(t, time.Minute)
	first.dev.OnCompile = func(context.Context, *shader.Source) error {
		compiling.pass()
		return nil
	}
	a, b := source("a"), source("b")
	got := make(chan job.Origin)
	go func() { got <- first.origin(a) }()
	<-compiling.arrived
	second.wantOrigin(b, job.Compiled) // nothing else waits
	later := make(chan job.Origin)
	go func() { later <- second.origin(a) }()
	compiling.open()
	if f, s := <-got, <-later; f != job.Compiled || s != job.Disk {
		t.Errorf("the first process: %v, the second: %v", f, s)
	}
	if calls := second.dev.Calls(); calls.Compiles != 1 {
		t.Errorf("the second process: %+v", calls)
	}
}

// A process that is stopped in the middle of a compile delays others for
// Options.ShareCompiles and no more.
func TestAProcessThatHangsDelaysOthersForATimeOnly(t *testing.T) {
	compiling := newGate()
	first, second := share(t, 20*time.Millisecond)
	first.dev.OnCompile = func(context.Context, *shader.Source) error {
		compiling.pass()
		return nil
	}
	a := source("a")
	got := make(chan job.Origin)
	go func() { got <- first.origin(a) }()
	<-compiling.arrived
	begin := time.Now()
	second.wantOrigin(a, job.Compiled)
	if waited := time.Since(begin); waited < 20*time.Millisecond {
		t.Errorf("it waited only %v", waited)
	}
	compiling.open()
	if origin := <-got; origin != job.Compiled {
		t.Errorf("the first process: %v", origin)
	}
}

// GPUs of one process, which meet each other's claims, wait for that time too.
func TestGPUsBesideAProcessThatHangs(t *testing.T) {
	dir := t.TempDir()
	d, err := binary.OpenDir(dir)
	must(t, err)
	hangs, err := d.Store(cachetest.NewDevice().Fingerprint())
	must(t, err)
	src := source("a")
	release, claimed := hangs.Claim(src.Key())
	if !claimed {
		t.Fatal("the program is claimed")
	}
	defer release()
	flights := cache.NewSingleFlight()
	f := startFixture(t, cachetest.NewDevice(), nil, cache.Options{Dir: dir, ShareCompiles: 200 * time.Millisecond, SingleFlight: flights})
	got := make(chan struct{})
	go func() { defer close(got); f.wantOrigin(src, job.Compiled) }()
	for { // another GPU claims it, and finds that the process has it
		select {
		case <-got:
			return
		default:
			if end, ok := cache.Claim(flights, f.cache, src.Key()); ok {
				time.Sleep(100 * time.Microsecond)
				end()
			}
		}
	}
}

// Whatever becomes of a compile, the claim on it ends.
func TestClaimsEnd(t *testing.T) {
	failure := &shader.CompileError{Name: "bad", Log: "0:1: error"}
	for name, prepare := range map[string]func(d *cachetest.Device){
		"a compile error": func(d *cachetest.Device) {
			d.OnCompile = func(context.Context, *shader.Source) error { return failure }
		},
		"a binary that cannot be read": func(d *cachetest.Device) {
			d.OnBinary = func(context.Context, uint32) error { return errors.New("no") }
		},
		"stored": func(*cachetest.Device) {},
	} {
		first, second := share(t, time.Minute)
		prepare(first.dev)
		h, err := first.cache.Get(context.Background(), source("a"))
		if err == nil {
			h.Release()
		}
		first.cache.WaitStored()
		if _, claimed := second.cache.Store().(cache.Claims).Claim(source("a").Key()); !claimed {
			t.Errorf("%s: the claim is still held", name)
		}
	}
}

func TestCompilesAreNotSharedWhereNothingIsStored(t *testing.T) {
	for name, o := range map[string]cache.Options{
		"never": {NoSave: true}, "no binaries": {Binaries: "never"}, "in a trial": {InTrial: true},
	} {
		compiling := newGate()
		o.Dir, o.ShareCompiles = t.TempDir(), time.Hour
		first, second := startFixture(t, cachetest.NewDevice(), nil, o), startFixture(t, cachetest.NewDevice(), nil, o)
		first.dev.OnCompile = func(context.Context, *shader.Source) error {
			compiling.pass()
			return nil
		}
		got := make(chan job.Origin)
		go func() { got <- first.origin(source("a")) }()
		<-compiling.arrived
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		h, err := second.cache.Get(ctx, source("a"))
		if err != nil || h.Origin() != job.Compiled {
			t.Errorf("%s: it waits for the first: %v", name, err)
		}
		if err == nil {
			h.Release()
		}
		cancel()
		compiling.open()
		<-got
	}
}
