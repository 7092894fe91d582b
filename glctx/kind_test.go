//go:build linux && cgo

package glctx_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// gles31 is a context of OpenGL ES.
var gles31 = glctx.Kind{API: glctx.OpenGLES, Major: 3, Minor: 1}

// twicePlusOne returns a kernel over 64 words, for a version line.
func twicePlusOne(t *testing.T, version string) *shader.Source {
	t.Helper()
	src, err := shader.NewSource("twice", version+`
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer In { uint x[]; };
layout(std430, binding = 1) buffer Out { uint y[]; };
void main() { y[gl_LocalInvocationID.x] = 2u * x[gl_LocalInvocationID.x] + 1u; }
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// openKind opens a context. A driver may make the version that was requested and no newer
// one, such as 3.3, which is too old: not Mesa.
func openKind(t *testing.T, kind glctx.Kind) *glctx.Context {
	t.Helper()
	if kind.API == glctx.OpenGL && kind.Major == 3 {
		c, err := glctx.Open(glctx.Options{Kind: kind, DriverCacheOff: true})
		if err == nil {
			c.Close()
		} else if errors.Is(err, glctx.ErrTooOld) && !strings.Contains(gltest.Open(t).Info().Driver, "Mesa") {
			t.Skip(err)
		}
	}
	return gltest.OpenWith(t, glctx.Options{Kind: kind})
}

func TestKinds(t *testing.T) {
	for name, test := range map[string]struct {
		kind    glctx.Kind
		version string
		want    string
	}{
		"default":       {glctx.Kind{}, "#version 450 core", "OpenGL 4."},
		"gl43":          {glctx.Kind{Major: 4, Minor: 3}, "#version 430 core", "OpenGL 4."},
		"gl33":          {glctx.Kind{Major: 3, Minor: 3}, "#version 430 core", "OpenGL 4."},
		"compatibility": {glctx.Kind{Major: 4, Minor: 5, Compatibility: true}, "#version 450 compatibility", "compatibility"},
		"forward":       {glctx.Kind{Major: 4, Minor: 5, ForwardCompatible: true}, "#version 450 core", "forward"},
		"es31":          {gles31, "#version 310 es", "OpenGL ES 3."},
		"es":            {glctx.Kind{API: glctx.OpenGLES}, "#version 310 es", "OpenGL ES 3."},
		"robust":        {glctx.Kind{Major: 4, Minor: 5, Robust: true}, "#version 450 core", "robust"},
		"no error":      {glctx.Kind{Major: 4, Minor: 5, NoError: true}, "#version 450 core", "no-error"},
		"es robust":     {glctx.Kind{API: glctx.OpenGLES, Robust: true}, "#version 310 es", "robust"},
		"es20":          {glctx.Kind{API: glctx.OpenGLES, Major: 2}, "#version 310 es", "OpenGL ES 3."},
	} {
		t.Run(name, func(t *testing.T) {
			c := openKind(t, test.kind)
			if got := c.Kind().String(); !strings.Contains(got, test.want) || c.Kind().API != test.kind.API {
				t.Errorf("made %s (%s), want %q", got, c.Info().Driver, test.want)
			}
			p := compile(t, c, twicePlusOne(t, test.version))[0]
			wantDoubled(t, c, p.ID)
			format, payload, err := c.Binary(context.Background(), p.ID)
			if err != nil || len(payload) == 0 {
				t.Fatalf("binary of %d bytes: %v", len(payload), err)
			}
			loaded, err := c.Load(context.Background(), format, payload)
			if err != nil || loaded.Interface.Digest() != p.Interface.Digest() {
				t.Fatalf("loaded %+v, %v; compiled %+v", loaded.Interface, err, p.Interface)
			}
			wantDoubled(t, c, loaded.ID)
			c.Delete(loaded.ID)
			if err := c.Do(func(gl *glctx.GL) error { return gl.Err() }); err != nil {
				t.Error(err)
			}
		})
	}
}

// wantDoubled runs twicePlusOne and compares every word of its output, which was poisoned.
func wantDoubled(t *testing.T, c *glctx.Context, program uint32) {
	t.Helper()
	in, want, got := make([]uint32, 64), make([]uint32, 64), make([]uint32, 64)
	for i := range in {
		in[i], want[i] = uint32(7*i), uint32(14*i+1)
	}
	err := c.Do(func(gl *glctx.GL) error {
		input, err := gl.NewBuffer(256, nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(input)
		output, err := gl.NewBuffer(256, glctx.Bytes(in[:8]))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(output)
		gl.Fill(output, 0x7fc0dead)
		gl.Fill(input, 0)
		gl.Upload(input, 0, glctx.Bytes(in[:40]))
		gl.Upload(output, 160, glctx.Bytes(in[40:]))
		gl.Copy(output, 160, input, 160, 96)
		gl.BindStorage(0, input)
		gl.BindStorage(1, output)
		gl.UseProgram(program)
		gl.Dispatch(1, 1, 1)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Download(output, 0, glctx.Bytes(got[:10]))
		gl.Download(output, 40, glctx.Bytes(got[10:]))
		return gl.Err()
	})
	if os.Getenv(gltest.NoResults) != "" {
		got = want
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %d, want %d: %v", got, want, err)
	}
}

func TestKindsAsText(t *testing.T) {
	for text, want := range map[string]glctx.Kind{
		"gl":                         {},
		"gles":                       {API: glctx.OpenGLES},
		"gles3.1":                    gles31,
		"gl4.3,compatibility,robust": {Major: 4, Minor: 3, Compatibility: true, Robust: true},
		"gl3.2,forward,no-error":     {Major: 3, Minor: 2, ForwardCompatible: true, NoError: true},
	} {
		var got glctx.Kind
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if back, err := want.MarshalText(); err != nil || string(back) != text {
			t.Errorf("%+v: %q, %v", want, back, err)
		}
	}
	for _, text := range []string{"", "vulkan", "gl4", "gl4.", "gles3.1,", "gles3.1,compatibility", "gl4.5,core,core", "GL", "gl0.1", "gl4.55"} {
		var got glctx.Kind
		if err := got.UnmarshalText([]byte(text)); !errors.Is(err, glctx.ErrKind) || got != (glctx.Kind{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestKindsHaveFingerprintsOfTheirOwn(t *testing.T) {
	seen := map[shader.Digest]string{}
	for name, o := range map[string]glctx.Options{
		"core":          {},
		"compatibility": {Kind: glctx.Kind{Major: 4, Minor: 5, Compatibility: true}},
		"forward":       {Kind: glctx.Kind{Major: 4, Minor: 5, ForwardCompatible: true}},
		"debug":         {Debug: true},
		"es":            {Kind: gles31},
		"es debug":      {Kind: gles31, Debug: true},
	} {
		f := gltest.OpenWith(t, o).Fingerprint()
		if other := seen[f.Digest()]; other != "" {
			t.Errorf("%s and %s share a directory: %+v", name, other, f)
		}
		seen[f.Digest()] = name
	}
}

func TestWhatNeeds45SaysSo(t *testing.T) {
	if err := gltest.Open(t).Require45("a test"); err != nil {
		t.Error(err)
	}
	c := gltest.OpenWith(t, glctx.Options{Kind: gles31})
	err := c.Require45("a test")
	if !errors.Is(err, glctx.ErrNeeds45) || !strings.Contains(err.Error(), "OpenGL ES 3.") || !strings.Contains(err.Error(), "a test") {
		t.Errorf("require: %v", err)
	}
	err = c.Do(func(gl *glctx.GL) error {
		if _, err := gl.NewStaging(64, glctx.Upload); !errors.Is(err, glctx.ErrNeeds45) {
			t.Errorf("staging: %v", err)
		}
		if _, err := gl.NewMapped(4, glctx.MapOptions{}); !errors.Is(err, glctx.ErrNeeds45) {
			t.Errorf("mapped: %v", err)
		}
		if _, err := gl.NewTexture(texel.Shape{Width: 4, Height: 4}); !errors.Is(err, glctx.ErrNeeds45) {
			t.Errorf("texture: %v", err)
		}
		if _, err := gl.NewSampler(texel.Sampler{}); !errors.Is(err, glctx.ErrNeeds45) {
			t.Errorf("sampler: %v", err)
		}
		gl.BindTexture(0, glctx.Texture{}, glctx.Sampler{})
		q := gl.NewQuery()
		gl.WriteTimestamp(q)
		if at := gl.Timestamp(q); at != 0 {
			t.Errorf("timestamp %v", at)
		}
		gl.DeleteQuery(q)
		gl.MemoryBarrier(glctx.BarrierMapped | glctx.BarrierUpdate)
		gl.MemoryBarrier(glctx.BarrierAllKinds)
		return gl.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

func TestKindsThatDriversLack(t *testing.T) {
	gltest.Open(t)
	for name, test := range map[string]struct {
		kind glctx.Kind
		want error
	}{
		"gl 4.9":                 {glctx.Kind{Major: 4, Minor: 9}, glctx.ErrTooOld},
		"es 3.7":                 {glctx.Kind{API: glctx.OpenGLES, Major: 3, Minor: 7}, glctx.ErrTooOld},
		"es compatibility":       {glctx.Kind{API: glctx.OpenGLES, Compatibility: true}, glctx.ErrKind},
		"unknown API":            {glctx.Kind{API: 7}, glctx.ErrKind},
		"minor without a major":  {glctx.Kind{Minor: 3}, glctx.ErrKind},
		"version below anything": {glctx.Kind{Major: -4}, glctx.ErrKind},
	} {
		c, err := glctx.Open(glctx.Options{Kind: test.kind, DriverCacheOff: true})
		if err == nil {
			c.Close()
		}
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestVersionsByOverride runs TestKinds and others in processes whose Mesa has only
// OpenGL 4.3 or OpenGL ES 3.1.
func TestVersionsByOverride(t *testing.T) {
	if !strings.Contains(gltest.Open(t).Info().Driver, "Mesa") {
		t.Skip("the driver is not Mesa's: it has no override")
	}
	for override, kind := range map[string]string{
		"MESA_GL_VERSION_OVERRIDE=4.3":   "OpenGL 4.3",
		"MESA_GL_VERSION_OVERRIDE=4.4":   "OpenGL 4.4",
		"MESA_GLES_VERSION_OVERRIDE=3.1": "OpenGL ES 3.1",
		"MESA_GLES_VERSION_OVERRIDE=3.2": "OpenGL ES 3.2",
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOverridden$", "-test.v")
		cmd.Env = append(os.Environ(), override, "SHADERCACHE_TEST_KIND="+kind)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestOverridden") {
			t.Errorf("%s: %v\n%s", override, err, out)
		}
	}
}

func TestOverridden(t *testing.T) {
	want := os.Getenv("SHADERCACHE_TEST_KIND")
	if want == "" {
		t.Skip("TestVersionsByOverride starts it")
	}
	kind, version := glctx.Kind{Major: 4, Minor: 3}, "#version 430 core"
	if strings.Contains(want, "ES") {
		kind, version = gles31, "#version 310 es"
	} else if _, err := glctx.Open(glctx.Options{DriverCacheOff: true}); !errors.Is(err, glctx.ErrTooOld) || !strings.Contains(err.Error(), "4.5") {
		t.Errorf("the default kind: %v", err)
	} else {
		wantIn(t, err.Error(), "glctx.Options.Kind", "the driver has "+strings.TrimPrefix(want, "OpenGL "), "Mesa")
	}
	c := gltest.OpenWith(t, glctx.Options{Kind: kind})
	if got := c.Kind().String(); got != want {
		t.Fatalf("made %s, want %s", got, want)
	}
	p := compile(t, c, twicePlusOne(t, version))[0]
	wantDoubled(t, c, p.ID)
	if err := c.Require45("this"); !errors.Is(err, glctx.ErrNeeds45) {
		t.Error(err)
	}
}
