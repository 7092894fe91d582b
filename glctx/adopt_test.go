//go:build linux && cgo

package glctx

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/shader"
)

// ownContext makes a GL context current on this thread without a Context, as a caller
// of Adopt has one. destroy destroys it, as the end of the test does.
func ownContext(t testing.TB) (destroy func()) {
	t.Helper()
	return ownContextOf(t, Kind{})
}

func ownContextOf(t testing.TB, kind Kind) (destroy func()) {
	t.Helper()
	runtime.LockOSThread()
	ManageDriverCache(Options{}) // for the whole process: not a directory of this test
	s, err := openEGL(Options{Kind: kind})
	if err != nil {
		if os.Getenv("SHADERCACHE_REQUIRE_GL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	destroy = sync.OnceFunc(s.close)
	t.Cleanup(func() {
		destroy()
		runtime.UnlockOSThread()
	})
	return destroy
}

const answer = `layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Out { uint value; };
void main() { value = 42u; }
`

func TestAdoptedDoFromItsThreadAndOthers(t *testing.T) {
	ownContext(t)
	scheduled := make(chan struct{}, 1)
	c, err := Adopt(Options{DriverCacheOff: true}, func() {
		select {
		case scheduled <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Info().GPU == "" || len(c.Fingerprint().Formats) == 0 {
		t.Errorf("info %+v", c.Info())
	}
	ran := false
	if err := c.Do(func(*GL) error { ran = true; return nil }); err != nil || !ran {
		t.Errorf("Do on the context's own thread: ran %v, %v", ran, err)
	}
	other := make(chan error, 1)
	go func() { other <- c.Do(func(gl *GL) error { return gl.Err() }) }()
	var got error
	for pending := true; pending; {
		select {
		case <-scheduled:
			c.Poll()
		case got = <-other:
			pending = false
		}
	}
	if got != nil {
		t.Errorf("Do from another goroutine: %v", got)
	}
	closeAdoptedForTest(t, c)
}

// What the owner's calls left in the error flags fails neither Adopt nor a callback. An error of
// a callback is one.
func TestAdoptWithErrorsOfTheOwner(t *testing.T) {
	ownContext(t)
	if err := loadBindings(); err != nil {
		t.Fatal(err)
	}
	fail := func() { gl45.BindBuffer(0xFFFF, 0) }
	fail()
	c, err := Adopt(Options{DriverCacheOff: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	newBuffer := func(gl *GL) error {
		b, err := gl.NewBuffer(16, nil)
		gl.DeleteBuffer(b)
		return err
	}
	fail()
	if err := c.Do(newBuffer); err != nil {
		t.Errorf("Do: %v", err)
	}
	fail()
	c.Post(func(gl *GL) { err = newBuffer(gl) })
	if c.Poll(); err != nil {
		t.Errorf("Poll: %v", err)
	}
	if err := c.Do(func(gl *GL) error { fail(); return gl.Err() }); err == nil {
		t.Error("an error of a callback is lost")
	}
	fail()
	if c.Poll(); gl45.GetError() != gl45.INVALID_ENUM {
		t.Error("a Poll without callbacks took the owner's error")
	}
	closeAdoptedForTest(t, c)
}

func TestAdoptRestoresState(t *testing.T) {
	for name, test := range map[string]struct {
		kind    Kind
		version string
	}{
		"gl": {Kind{}, ""},
		"es": {Kind{API: OpenGLES}, "#version 310 es\n"},
	} {
		t.Run(name, func(t *testing.T) {
			ownContextOf(t, test.kind)
			wantStateRestored(t, shader.MustSource("answer", test.version+answer, nil))
		})
	}
}

// wantStateRestored adopts the current context and compares what is bound before and after
// programs are compiled.
func wantStateRestored(t *testing.T, source *shader.Source) {
	var copied uint32
	if err := loadBindings(); err != nil {
		t.Fatal(err)
	}
	gl45.GenBuffers(1, &copied)
	gl45.BindBuffer(gl45.COPY_WRITE_BUFFER, copied)
	c, err := Adopt(Options{DriverCacheOff: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	compile := func() (made shader.Program) {
		c.Compile(t.Context(), []*shader.Source{source}, func(_ int, p shader.Program, err error) {
			if err != nil {
				t.Fatal(err)
			}
			made = p
		})
		return made
	}
	first := compile()
	gl45.UseProgram(first.ID)
	var buffer uint32
	gl45.GenBuffers(1, &buffer)
	gl45.BindBuffer(gl45.DISPATCH_INDIRECT_BUFFER, buffer)
	second := compile()
	var program, indirect, bound int32
	gl45.GetIntegerv(gl45.CURRENT_PROGRAM, &program)
	gl45.GetIntegerv(gl45.DISPATCH_INDIRECT_BUFFER_BINDING, &indirect)
	gl45.GetIntegerv(gl45.COPY_WRITE_BUFFER, &bound)
	if uint32(program) != first.ID || uint32(indirect) != buffer || uint32(bound) != copied {
		t.Errorf("program %d, indirect buffer %d and copy buffer %d are bound, want %d, %d and %d",
			program, indirect, bound, first.ID, buffer, copied)
	}
	gl45.DeleteBuffers(1, &buffer)
	gl45.DeleteBuffers(1, &copied)
	c.Delete(first.ID)
	c.Delete(second.ID)
	closeAdoptedForTest(t, c)
}

func TestAdoptRefusesAKind(t *testing.T) {
	ownContext(t)
	_, err := Adopt(Options{Kind: Kind{API: OpenGLES}, DriverCacheOff: true}, nil)
	if !errors.Is(err, ErrKind) || !strings.Contains(err.Error(), "leave Kind empty") {
		t.Errorf("got %v, want an error about the kind", err)
	}
}

func TestAdoptNeedsACurrentContext(t *testing.T) {
	ownContext(t)
	c, err := Adopt(Options{DriverCacheOff: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		adopted  error
		panicked any
	}
	elsewhere := make(chan outcome)
	go func() { // on another thread: this one is locked
		var o outcome
		defer func() {
			o.panicked = recover()
			elsewhere <- o
		}()
		_, o.adopted = Adopt(Options{DriverCacheOff: true}, nil)
		c.Poll()
	}()
	o := <-elsewhere
	if !errors.Is(o.adopted, ErrNoDriver) || !strings.Contains(o.adopted.Error(), "current") {
		t.Errorf("adopting without a current context: %v", o.adopted)
	}
	if text, ok := o.panicked.(string); !ok || !strings.Contains(text, "no context is current") {
		t.Errorf("polling on another thread: %v", o.panicked)
	}
	closeAdoptedForTest(t, c)
}

func closeAdoptedForTest(t *testing.T, c *Context) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if c.Poll() != 0 {
		t.Error("Close on the context's own thread left callbacks queued")
	}
	if n := c.Counters(); n.Buffers != 0 || n.Programs != 0 {
		t.Errorf("objects were left: %+v", n)
	}
	if err := c.Do(func(*GL) error { return nil }); !errors.Is(err, shader.ErrClosed) {
		t.Errorf("Do after Close: %v", err)
	}
}

func TestAdoptRefusesADevice(t *testing.T) {
	ownContext(t)
	_, err := Adopt(Options{Device: "0", DriverCacheOff: true}, nil)
	if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "leave Device empty") {
		t.Errorf("got %v, want an error about the device", err)
	}
}

// A callback of Post that panics while Do waits must not end Do, nor the callbacks
// behind it.
func TestPanicOfAPostIsLeftToPoll(t *testing.T) {
	ownContext(t)
	c, err := Adopt(Options{DriverCacheOff: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ran []string
	c.Post(func(*GL) { panic("broken callback") })
	c.Post(func(*GL) { ran = append(ran, "behind it") })
	if err := c.Do(func(*GL) error { ran = append(ran, "do"); return nil }); err != nil {
		t.Error(err)
	}
	poll := func() (v any) {
		defer func() { v = recover() }()
		c.Poll()
		return nil
	}
	if v := poll(); v != "broken callback" {
		t.Errorf("Poll panicked with %v", v)
	}
	c.Post(func(*GL) { panic("second") })
	c.Post(func(*GL) { ran = append(ran, "requeued") })
	if v := poll(); v != "second" {
		t.Errorf("Poll panicked with %v", v)
	}
	if n := c.Poll(); n != 1 || !slices.Equal(ran, []string{"behind it", "do", "requeued"}) {
		t.Errorf("%d callbacks in the last Poll, %v ran", n, ran)
	}
	closeAdoptedForTest(t, c)
}

// lateEnvironment makes the test below run as the process that loads its driver before
// it manages the driver's cache.
const lateEnvironment = "GLCTX_TEST_LATE"

// The test needs a process of its own, in which no other test has managed the cache
// before.
func TestManageDriverCacheAfterTheDriverIsLoaded(t *testing.T) {
	if os.Getenv(lateEnvironment) == "" {
		ownContext(t) // skips or fails without a driver
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), lateEnvironment+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	runtime.LockOSThread()
	s, err := openEGL(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	state := ManageDriverCache(Options{CacheDir: t.TempDir()})
	if state.Managed || !strings.Contains(state.Reason, "loaded before") {
		t.Errorf("a driver is loaded, and the driver cache is %v", state)
	}
	warnedOnce(t)
}

// warnedOnce adopts the current context, as a program that forgot ManageDriverCache
// does, and expects the cache to warn of that once.
func warnedOnce(t *testing.T) {
	c, err := Adopt(Options{CacheDir: t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var log bytes.Buffer
	programs, err := cache.New(c, cache.Options{Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := programs.Close(); err != nil {
		t.Error(err)
	}
	if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "loaded before") {
		t.Errorf("want one warning that the driver was loaded before:\n%s", &log)
	}
}
