//go:build linux && cgo

package window

import (
	"fmt"
	"runtime"

	"github.com/go-gl/glfw/v3.3/glfw"

	"github.com/shadercache/shadercache/glctx"
)

// Window is a window and its context. Close must be the window's, not the context's.
type Window struct {
	*glctx.Context

	window *glfw.Window
	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{}
}

// Open opens a window, beside others. It must be called on the main thread. It leaves GLFW
// initialised: to terminate it would destroy every window of the process, also those of other
// code. Errors name what GLFW or the driver lacks.
func Open(o Options) (*Window, error) {
	if o.Context.Device != "" {
		return nil, fmt.Errorf("window: %w %q: a window's GPU is the display's", glctx.ErrNoDevice, o.Context.Device)
	}
	glctx.ManageDriverCache(o.Context)
	if err := glfw.Init(); err != nil {
		return nil, fmt.Errorf("window: is DISPLAY set and an X server running? %w", err)
	}
	window, err := create(o)
	if err != nil {
		return nil, fmt.Errorf("window: %w", err)
	}
	w := &Window{
		window: window,
		wake:   make(chan struct{}, 1),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	started := make(chan error)
	go w.run(o.Context, started)
	if err := <-started; err != nil {
		<-w.done
		w.window.Destroy()
		return nil, fmt.Errorf("window: %w", err)
	}
	return w, nil
}

func create(o Options) (*glfw.Window, error) {
	kind := o.Context.Kind
	if kind.NoError {
		return nil, fmt.Errorf("%w: %s: a window's context has errors", glctx.ErrKind, kind)
	}
	kind.Major, kind.Minor = kind.Version()
	hints := []struct {
		hint  glfw.Hint
		value int
	}{
		{glfw.ClientAPI, clientAPI(kind)},
		{glfw.ContextVersionMajor, kind.Major},
		{glfw.ContextVersionMinor, kind.Minor},
		{glfw.OpenGLProfile, profile(kind)},
		{glfw.OpenGLForwardCompatible, glfwBool(kind.ForwardCompatible)},
		{glfw.ContextRobustness, glfw.LoseContextOnReset},
		{glfw.OpenGLDebugContext, glfwBool(o.Context.Debug)},
		{glfw.Visible, glfwBool(o.Visible)},
	}
	defer glfw.DefaultWindowHints() // for windows of other code
	for _, h := range hints {
		glfw.WindowHint(h.hint, h.value)
	}
	width, height := max(o.Width, 1), max(o.Height, 1)
	if w, err := glfw.CreateWindow(width, height, o.Title, nil, nil); err == nil {
		return w, nil
	}
	// Some drivers have no reset notification.
	glfw.WindowHint(glfw.ContextRobustness, glfw.NoRobustness)
	return glfw.CreateWindow(width, height, o.Title, nil, nil)
}

func clientAPI(k glctx.Kind) int {
	if k.API == glctx.OpenGLES {
		return glfw.OpenGLESAPI
	}
	return glfw.OpenGLAPI
}

// profile returns the profile, which GLFW accepts from 3.2 of desktop OpenGL.
func profile(k glctx.Kind) int {
	switch {
	case k.API == glctx.OpenGLES, k.Major < 3, k.Major == 3 && k.Minor < 2:
		return glfw.OpenGLAnyProfile
	case k.Compatibility:
		return glfw.OpenGLCompatProfile
	}
	return glfw.OpenGLCoreProfile
}

func glfwBool(b bool) int {
	if b {
		return glfw.True
	}
	return glfw.False
}

// run is the GL thread: it polls the context until stop is closed.
func (w *Window) run(o glctx.Options, started chan<- error) {
	runtime.LockOSThread()
	defer close(w.done)
	w.window.MakeContextCurrent()
	defer glfw.DetachCurrentContext()
	var err error
	o.Kind, o.Fresh = glctx.Kind{}, true // create has made it
	w.Context, err = glctx.Adopt(o, w.requestPoll)
	started <- err
	if err != nil {
		return
	}
	for {
		select {
		case <-w.wake:
			w.Poll()
		case <-w.stop:
			w.Poll()
			return
		}
	}
}

// requestPoll makes the GL thread poll. It may be called from any goroutine.
func (w *Window) requestPoll() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// SwapBuffers queues a swap of the window's buffers behind earlier callbacks. It does
// not wait.
func (w *Window) SwapBuffers() { w.Post(func(*glctx.GL) { w.window.SwapBuffers() }) }

// PollEvents processes the window's input events. It must be called on the main thread.
func (w *Window) PollEvents() { glfw.PollEvents() }

// ShouldClose reports whether the user has requested to close the window.
func (w *Window) ShouldClose() bool { return w.window.ShouldClose() }

// Close waits for queued callbacks and destroys the window. It must be called on the
// main thread.
func (w *Window) Close() error {
	err := w.Context.Close()
	close(w.stop)
	<-w.done
	w.window.Destroy()
	return err
}
