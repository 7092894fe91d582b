//go:build linux

package glctx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// compileWindow is how many programs the driver holds at a time when it
// compiles on threads of its own. More gains nothing once every CPU has work,
// and a window keeps the memory of half-built programs bounded.
const compileWindow = 32

// Fingerprint says which driver this is.
func (c *Context) Fingerprint() binary.Fingerprint { return c.info.Fingerprint }

// Compile compiles, links and primes every source and calls done once for each
// on the calling goroutine, in order. Where the driver can compile on threads
// of its own, several are under way at a time; the programs are always made in
// this one context, because machine code made in a shared context is made again
// in the one that dispatches. CompileNanos is wall time, without what an
// earlier program of the same call already took. Errors: see cache.Device.
func (c *Context) Compile(ctx context.Context, sources []*shader.Source, done func(i int, p shader.Program, err error)) {
	window := 1
	if c.info.ParallelCompile && len(sources) > 1 {
		window = compileWindow
	}
	builds := make([]build, len(sources))
	started := 0
	last := time.Now()
	for i := range sources {
		for ; started < len(sources) && started < i+window; started++ {
			builds[started].source = sources[started]
			builds[started].err = c.doContext(ctx, builds[started].start)
		}
		p, err := c.finish(&builds[i], &last)
		done(i, p, err)
	}
}

func (c *Context) finish(b *build, last *time.Time) (p shader.Program, err error) {
	if b.err != nil {
		return p, b.err
	}
	err = c.Do(func(gl *GL) error {
		p, err = b.finish(gl, *last)
		return err
	})
	*last = time.Now()
	return p, err
}

// build is one program on its way through the driver.
type build struct {
	source          *shader.Source
	began           time.Time
	shader, program uint32
	err             error
}

// start hands the text to the driver, which may work on it on another thread
// until finish asks for the result.
func (b *build) start(gl *GL) error {
	b.began = time.Now()
	if err := gl.Err(); err != nil && gl.c.lost.Load() {
		return err
	}
	text, free := gl45.Strs(b.source.Text())
	defer free()
	length := int32(len(b.source.Text()))
	b.shader = gl45.CreateShader(gl45.COMPUTE_SHADER)
	gl45.ShaderSource(b.shader, 1, text, &length)
	gl.c.counters.compiles.Add(1)
	gl45.CompileShader(b.shader)
	b.program = gl45.CreateProgram()
	gl.c.counters.programs.Add(1)
	gl45.ProgramParameteri(b.program, gl45.PROGRAM_BINARY_RETRIEVABLE_HINT, gl45.TRUE)
	gl45.AttachShader(b.program, b.shader)
	gl.c.counters.links.Add(1)
	gl45.LinkProgram(b.program)
	return nil
}

// finish waits for the driver and primes the program.
func (b *build) finish(gl *GL, last time.Time) (shader.Program, error) {
	defer gl45.DeleteShader(b.shader)
	err := b.outcome(gl)
	if last.After(b.began) {
		b.began = last
	}
	p := shader.Program{ID: b.program, CompileNanos: time.Since(b.began).Nanoseconds()}
	if err == nil {
		gl45.DetachShader(b.program, b.shader)
		err = gl.describeAndPrime(&p)
	}
	if err != nil {
		gl.deleteProgram(b.program)
		return shader.Program{}, err
	}
	return p, nil
}

// outcome says what became of the compilation and the link. An error that GL
// raised comes first: without memory the logs say nothing useful.
func (b *build) outcome(gl *GL) error {
	var compiled, linked int32
	gl45.GetShaderiv(b.shader, gl45.COMPILE_STATUS, &compiled)
	if compiled != gl45.FALSE {
		gl45.GetProgramiv(b.program, gl45.LINK_STATUS, &linked)
	}
	err := gl.Err()
	switch {
	case err != nil && (gl.c.lost.Load() || compiled != gl45.FALSE):
		return fmt.Errorf("glctx: compile %s: %w", b.source.Name(), err)
	case compiled == gl45.FALSE:
		return &shader.CompileError{Name: b.source.Name(), Log: shaderLog(b.shader), Source: b.source}
	case linked == gl45.FALSE:
		return &shader.CompileError{Name: b.source.Name(), Log: programLog(b.program), Source: b.source}
	}
	return nil
}

// Load makes a program from a binary and primes it. Drivers refuse binaries in
// two ways, by an error (unknown format) and by a link status; both give
// shader.ErrRejected, wrapped.
func (c *Context) Load(ctx context.Context, format uint32, payload []byte) (p shader.Program, err error) {
	if len(payload) == 0 {
		return p, fmt.Errorf("glctx: load: %w: it is empty", shader.ErrRejected)
	}
	err = c.doContext(ctx, func(gl *GL) error {
		p, err = gl.load(format, payload)
		return err
	})
	return p, err
}

func (gl *GL) load(format uint32, payload []byte) (shader.Program, error) {
	began := time.Now()
	if err := gl.Err(); err != nil && gl.c.lost.Load() {
		return shader.Program{}, err
	}
	id := gl45.CreateProgram()
	gl.c.counters.programs.Add(1)
	gl.c.counters.loads.Add(1)
	gl45.ProgramBinary(id, format, gl45.Ptr(payload), int32(len(payload)))
	err := gl.Err()
	var linked int32
	gl45.GetProgramiv(id, gl45.LINK_STATUS, &linked)
	switch {
	case gl.c.lost.Load(), errors.Is(err, shader.ErrOutOfMemory):
		err = fmt.Errorf("glctx: load: %w", err)
	case err != nil:
		err = fmt.Errorf("glctx: load: %w: %w", shader.ErrRejected, err)
	case linked == gl45.FALSE:
		err = fmt.Errorf("glctx: load: %w: %s", shader.ErrRejected, cmp.Or(programLog(id), "no reason given"))
	}
	p := shader.Program{ID: id}
	if err == nil {
		err = gl.describe(&p)
		p.LoadNanos = time.Since(began).Nanoseconds()
	}
	if err == nil {
		err = gl.prime(&p)
	}
	if err != nil {
		gl.deleteProgram(id)
		return shader.Program{}, err
	}
	return p, nil
}

// Binary returns the program binary of a program, in the driver's format. A
// driver that has none to give returns an empty payload.
func (c *Context) Binary(ctx context.Context, id uint32) (format uint32, payload []byte, err error) {
	err = c.doContext(ctx, func(gl *GL) error {
		if len(c.info.Fingerprint.Formats) == 0 {
			return nil
		}
		var size, written int32
		gl45.GetProgramiv(id, gl45.PROGRAM_BINARY_LENGTH, &size)
		if size > 0 {
			payload = make([]byte, size)
			gl45.GetProgramBinary(id, size, &written, &format, gl45.Ptr(payload))
		}
		if err := gl.Err(); err != nil {
			return fmt.Errorf("glctx: get a program binary: %w", err)
		}
		payload = payload[:written]
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	return format, payload, nil
}

// Delete deletes a program soon. It does not wait. The GPU finishes what it was
// told to do with the program.
func (c *Context) Delete(id uint32) {
	c.Post(func(gl *GL) { gl.deleteProgram(id) })
}

func (gl *GL) deleteProgram(id uint32) {
	gl.c.counters.programs.Add(-1)
	gl45.DeleteProgram(id)
	gl.check("glDeleteProgram")
}

func shaderLog(shader uint32) string {
	var size int32
	gl45.GetShaderiv(shader, gl45.INFO_LOG_LENGTH, &size)
	return readLog(size, func(buffer *uint8) { gl45.GetShaderInfoLog(shader, size, nil, buffer) })
}

func programLog(program uint32) string {
	var size int32
	gl45.GetProgramiv(program, gl45.INFO_LOG_LENGTH, &size)
	return readLog(size, func(buffer *uint8) { gl45.GetProgramInfoLog(program, size, nil, buffer) })
}

func readLog(size int32, read func(*uint8)) string {
	if size <= 1 {
		return ""
	}
	buffer := make([]byte, size)
	read(&buffer[0])
	return gl45.GoStr(&buffer[0])
}
