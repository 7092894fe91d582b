//go:build linux && cgo

package window_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-gl/glfw/v3.3/glfw"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/glctx/window"
)

// onMain passes functions to the main thread, where GLFW has to be called.
var onMain = make(chan func())

func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	gltest.IsolateEnvironment()
	stopX := startX()
	dir, err := os.MkdirTemp("", "shadercache-window-")
	if err != nil {
		panic(err)
	}
	os.Setenv("SHADERCACHE_DIR", dir)
	code := make(chan int)
	go func() { code <- m.Run() }()
	for {
		select {
		case f := <-onMain:
			f()
		case c := <-code:
			stopX()
			os.RemoveAll(dir)
			os.Exit(c)
		}
	}
}

// runOnMain runs f on the main thread.
func runOnMain(f func()) {
	done := make(chan struct{})
	onMain <- func() { defer close(done); f() }
	<-done
}

// startX starts an X server without a screen where there is no display.
func startX() (stop func()) {
	if os.Getenv("DISPLAY") != "" {
		return func() {}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "64x64x24")
	x.ExtraFiles = []*os.File{write}
	if err := x.Start(); err != nil {
		return func() {}
	}
	write.Close()
	if line, err := bufio.NewReader(read).ReadString('\n'); err == nil {
		os.Setenv("DISPLAY", ":"+strings.TrimSpace(line))
	}
	return func() {
		x.Process.Kill()
		x.Wait()
	}
}

// open opens a window, and skips the test where that is not possible, unless the
// environment requires GL.
func open(t *testing.T, o window.Options) *window.Window {
	t.Helper()
	var w *window.Window
	var err error
	runOnMain(func() { w, err = window.Open(o) })
	if err != nil {
		if os.Getenv(gltest.RequireGL) != "" {
			t.Fatalf("%s is set and there is no window: %v", gltest.RequireGL, err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		runOnMain(func() { err = w.Close() })
		if err != nil {
			t.Error(err)
		}
		if n := w.Counters().Buffers; n != 0 {
			t.Errorf("%d buffers were left in the context", n)
		}
	})
	return w
}

func TestHiddenWindowComputes(t *testing.T) {
	w := open(t, window.Options{})
	if v := w.Info(); v.Major < 4 || v.Major == 4 && v.Minor < 5 {
		t.Fatalf("the context is %d.%d", v.Major, v.Minor)
	}
	if len(w.Fingerprint().Formats) == 0 {
		t.Error("the driver has no program binary formats")
	}
	got := make([]uint32, 8)
	err := w.Do(func(gl *glctx.GL) error {
		b, err := gl.NewBuffer(32, nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(b)
		gl.Fill(b, 0xdecafbad)
		gl.Download(b, 0, glctx.Bytes(got))
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != 0xdecafbad {
			t.Fatalf("word %d is %#x", i, v)
		}
	}
	w.SwapBuffers()
	runOnMain(func() {
		w.PollEvents()
		if w.ShouldClose() {
			t.Error("the window should close without a request")
		}
	})
}

func TestWindowManagesTheDriverCache(t *testing.T) {
	w := open(t, window.Options{Title: "test", Width: 64, Height: 64, Visible: true})
	if d := w.DriverCache(); !d.Managed {
		t.Errorf("the driver cache is %v, although the window was the first to load a driver", d)
	}
}

// What is added to the driver's cache before the first program of a window is merged, for that
// program to use it. In a process of its own: other tests have had programs.
func TestWindowBeforeItsFirstProgram(t *testing.T) {
	const child = "WINDOW_TEST_FIRST_PROGRAM"
	if os.Getenv(child) == "" {
		open(t, window.Options{}) // skips or fails where there is no display
		command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		command.Env = append(os.Environ(), child+"=1")
		if printed, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, printed)
		}
		return
	}
	w := open(t, window.Options{})
	dir := w.DriverCache().Dir
	folder := filepath.Join(dir, nvidia.Folder, "GLCache", strings.Repeat("0", 32), strings.Repeat("0", 16))
	header := append([]byte("CDVN\x00\x00\x03\x00"), make([]byte, 24)...)
	err := os.MkdirAll(folder, 0o700)
	for _, name := range []string{"0.bin", "0.toc", "1.bin", "1.toc"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, nvidia.App+name), header, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drivercache.Merge(dir); err != nil {
		t.Error(err)
	}
	drivercache.FirstProgram()
	if _, err := drivercache.Merge(dir); !errors.Is(err, drivercache.ErrInUse) {
		t.Errorf("after the first program: %v", err)
	}
}

func TestWindowRefusesADevice(t *testing.T) {
	var err error
	runOnMain(func() { _, err = window.Open(window.Options{Context: glctx.Options{Device: "0"}}) })
	if err == nil || !strings.Contains(err.Error(), "display") {
		t.Errorf("got %v, want a sentence about the display", err)
	}
}

// A window outlives others of the process: one that is closed, and one that cannot be opened.
func TestWindowsSideBySide(t *testing.T) {
	first := open(t, window.Options{})
	works := func(after string) {
		t.Helper()
		if err := first.Do(func(gl *glctx.GL) error { return gl.Err() }); err != nil {
			t.Errorf("after %s: %v", after, err)
		}
	}
	t.Run("second", func(t *testing.T) { open(t, window.Options{}) }) // and closes it
	works("the close of another window")
	for _, o := range []glctx.Options{{Kind: glctx.Kind{NoError: true}}, {Priority: "low"}} {
		runOnMain(func() {
			if _, err := window.Open(window.Options{Context: o}); err == nil {
				t.Errorf("a window with %+v", o)
			}
		})
		works("a window that cannot be opened")
	}
}

func TestAdoptTakesAnESContext(t *testing.T) {
	open(t, window.Options{}) // skips or fails where there is no display
	var err error
	var kind glctx.Kind
	runOnMain(func() {
		if err = glfw.Init(); err != nil {
			return
		}
		glfw.DefaultWindowHints()
		defer glfw.DefaultWindowHints()
		glfw.WindowHint(glfw.ClientAPI, glfw.OpenGLESAPI)
		glfw.WindowHint(glfw.ContextVersionMajor, 3)
		glfw.WindowHint(glfw.ContextVersionMinor, 1)
		glfw.WindowHint(glfw.Visible, glfw.False)
		var es *glfw.Window
		if es, err = glfw.CreateWindow(1, 1, "", nil, nil); err != nil {
			return
		}
		defer es.Destroy()
		es.MakeContextCurrent()
		defer glfw.DetachCurrentContext()
		var c *glctx.Context
		if c, err = glctx.Adopt(glctx.Options{}, nil); err == nil {
			kind = c.Kind()
			err = c.Close()
		}
	})
	if err != nil || kind.API != glctx.OpenGLES {
		t.Errorf("adopted %s: %v", kind, err)
	}
}

func TestWindowsOfOtherKinds(t *testing.T) {
	for name, kind := range map[string]glctx.Kind{
		"es":            {API: glctx.OpenGLES},
		"gl43":          {Major: 4, Minor: 3},
		"compatibility": {Major: 4, Minor: 5, Compatibility: true},
	} {
		t.Run(name, func(t *testing.T) { // one window at a time
			w := open(t, window.Options{Context: glctx.Options{Kind: kind}})
			if got := w.Kind(); got.API != kind.API || got.Compatibility != kind.Compatibility {
				t.Errorf("made %s", got)
			}
		})
	}
	var err error
	runOnMain(func() { _, err = window.Open(window.Options{Context: glctx.Options{Kind: glctx.Kind{NoError: true}}}) })
	if !errors.Is(err, glctx.ErrKind) {
		t.Errorf("no error: %v", err)
	}
}
