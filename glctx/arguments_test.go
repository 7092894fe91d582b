//go:build linux && cgo

package glctx_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

// makers are the calls that make memory, with arguments that are right.
var makers = map[string]func(gl *glctx.GL) error{
	"a buffer": func(gl *glctx.GL) error {
		b, err := gl.NewBuffer(64, nil)
		gl.DeleteBuffer(b)
		return err
	},
	"staging memory": func(gl *glctx.GL) error {
		s, err := gl.NewStaging(64, glctx.Download)
		gl.DeleteStaging(s)
		return err
	},
	"a texture": func(gl *glctx.GL) error {
		x, err := gl.NewTexture(texel.Shape{Format: "r8", Width: 4, Height: 4})
		gl.DeleteTexture(x)
		return err
	},
}

// An error of an earlier call is named as one, and no memory is made.
func TestErrorsOfEarlierCalls(t *testing.T) {
	c := gltest.Open(t)
	for name, makes := range makers {
		err := c.Do(func(gl *glctx.GL) error {
			gl.BindCounters(1<<31, glctx.Buffer{}, 0, 4) // no such binding
			return makes(gl)
		})
		if err == nil || !strings.Contains(err.Error(), "an earlier call failed") {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Do(makes); err != nil {
			t.Errorf("%s afterwards: %v", name, err)
		}
	}
}

// An error of an earlier call is none of a program.
func TestErrorsBeforeAProgram(t *testing.T) {
	c := gltest.Open(t)
	raise := func() {
		wantNoError(t, c.Do(func(gl *glctx.GL) error {
			gl.BindCounters(1<<31, glctx.Buffer{}, 0, 4) // no such binding
			return nil
		}))
	}
	raise()
	p := compile(t, c, shader.MustSource("two", doubler, shader.Defines{"FACTOR": "2.0"}))[0]
	format, payload, err := c.Binary(t.Context(), p.ID)
	wantNoError(t, err)
	raise()
	loaded, err := c.Load(t.Context(), format, payload)
	wantNoError(t, err)
	c.Delete(loaded.ID)
}

// A sampler is not made beside an error, whichever call has raised it.
func TestErrorsBesideASampler(t *testing.T) {
	c := gltest.Open(t)
	err := c.Do(func(gl *glctx.GL) error {
		gl.BindCounters(1<<31, glctx.Buffer{}, 0, 4) // no such binding
		s, err := gl.NewSampler(texel.Sampler{})
		gl.DeleteSampler(s)
		return err
	})
	if raised, ok := errors.AsType[*glctx.Error](err); !ok || c.Counters().Samplers != 0 {
		t.Errorf("%v, %v: %d samplers", err, raised, c.Counters().Samplers)
	}
}

// Sizes that there cannot be are errors, also in a context whose calls raise none.
func TestSizesThatThereCannotBe(t *testing.T) {
	for _, kind := range []glctx.Kind{{}, {Major: 4, Minor: 5, NoError: true}} {
		c := gltest.OpenWith(t, glctx.Options{Kind: kind})
		err := c.Do(func(gl *glctx.GL) error {
			_, none := gl.NewBuffer(0, nil)
			_, negative := gl.NewBuffer(-4, nil)
			_, small := gl.NewBuffer(4, make([]byte, 8))
			_, staging := gl.NewStaging(0, glctx.Download)
			_, mapped := gl.NewMapped(0, glctx.MapOptions{})
			_, both := gl.NewMapped(4, glctx.MapOptions{ReadOnly: true, WriteOnly: true})
			_, flushed := gl.NewMapped(4, glctx.MapOptions{ReadOnly: true, FlushExplicit: true})
			for name, err := range map[string]error{
				"no bytes": none, "negative": negative, "more data": small, "no staging": staging, "no words": mapped,
				"read only and write only": both, "read only and flushed": flushed,
			} {
				if err == nil {
					t.Errorf("%v: %s: no error", kind, name)
				}
			}
			return gl.Err()
		})
		if err != nil {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

// What the device has no room for is an error, and not memory that is missing.
func TestNoRoom(t *testing.T) {
	c := gltest.Open(t)
	l := c.Info().Textures
	err := c.Do(func(gl *glctx.GL) error {
		b, bufferErr := gl.NewBuffer(1<<50, nil)
		x, textureErr := gl.NewTexture(texel.Shape{Format: "rgba32f", Dim: "2DArray", Width: l.Size, Height: l.Size, Depth: l.Layers})
		if _, err := gl.NewStaging(1<<50, glctx.Download); !errors.Is(err, shader.ErrOutOfMemory) {
			t.Errorf("staging memory: %v", err)
		}
		if !errors.Is(bufferErr, shader.ErrOutOfMemory) || !errors.Is(textureErr, shader.ErrOutOfMemory) {
			t.Errorf("a buffer: %v, a texture: %v", bufferErr, textureErr)
			gl.DeleteBuffer(b)
			gl.DeleteTexture(x)
		}
		return gl.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// Memory that is pinned has whole pages.
func TestPinnedMemoryHasWholePages(t *testing.T) {
	c := gltest.Open(t)
	if !c.Info().PinnedMemory() {
		t.Skip("this driver pins no memory")
	}
	page := os.Getpagesize()
	memory, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	err = c.Do(func(gl *glctx.GL) error {
		for name, part := range map[string][]byte{"none": nil, "half": memory[:page/2], "between": memory[4 : 4+page]} {
			if b, err := gl.NewPinned(part); err == nil {
				t.Errorf("%s was pinned", name)
				gl.DeleteBuffer(b)
			}
		}
		b, err := gl.NewPinned(memory)
		gl.DeleteBuffer(b)
		return errors.Join(err, gl.Err())
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCloseInsideACallbackPanics(t *testing.T) {
	c := gltest.Open(t)
	recovered := make(chan any, 1)
	go c.Post(func(*glctx.GL) {
		defer func() { recovered <- recover() }()
		_ = c.Close()
	})
	select {
	case r := <-recovered:
		if r == nil {
			t.Error("Close inside a callback returned")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Close inside a callback waits for itself")
	}
}

func TestDevicesThatAreNone(t *testing.T) {
	for _, name := range []string{"-1", "1", "99", "", "x"} {
		if d, err := glctx.FindDevice([]glctx.Device{{}}, name); !errors.Is(err, glctx.ErrNoDevice) {
			t.Errorf("%q: %+v, %v", name, d, err)
		}
	}
}

func TestNoReplayInAnAdoptedContext(t *testing.T) {
	destroy := glctx.OwnContext(t)
	defer destroy()
	c, err := glctx.Adopt(glctx.Options{DriverCacheOff: true}, nil)
	wantNoError(t, err)
	defer func() { wantNoError(t, c.Close()) }()
	p := &recording.Program{Stages: []recording.Stage{{Kind: recording.Compute, Text: "#version 450\nlayout(local_size_x = 1) in;\nvoid main() {}\n"}}}
	if r, err := c.Replay(t.Context(), p); err == nil {
		t.Errorf("%+v", r)
	}
}
