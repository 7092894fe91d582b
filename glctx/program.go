//go:build linux && cgo

package glctx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// compileWindow is the number of programs in the driver at a time when it compiles
// on its own threads. More gains nothing once every CPU has work, and the limit
// bounds the memory of unfinished programs.
const compileWindow = 32

// Fingerprint returns the identity of the driver.
func (c *Context) Fingerprint() binary.Fingerprint { return c.info.Fingerprint }

// Compile compiles, links and primes every source and calls done once for each, on
// the calling goroutine, in order. Where the driver can compile on its own threads,
// several sources are compiled at a time. All programs are made in this context,
// because drivers generate machine code again for a program of a shared context.
// CompileNanos is wall time, without the time of earlier programs of the same call.
// Errors: see cache.Device.
func (c *Context) Compile(ctx context.Context, sources []*shader.Source, done func(i int, p shader.Program, err error)) {
	window := 1
	if c.info.ParallelCompile && !c.options.NoCompilerThreads && len(sources) > 1 {
		window = compileWindow
	}
	builds := make([]build, len(sources))
	defer func() {
		for i := range builds {
			builds[i].work.End() // of those that were not finished
		}
	}()
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

// build is the compilation of one program.
type build struct {
	source          *shader.Source
	began           time.Time
	shader, program uint32
	work            *drivercache.Work
	err             error
}

// start begins compiling and linking. The driver may work on another thread until
// finish queries the result.
func (b *build) start(gl *GL) error {
	b.began = time.Now()
	front := gl.c.options.begin(trace.FrontEnd)
	front.About(b.source.Name(), "")
	defer func() { front.End() }()
	if err := gl.Err(); err != nil && gl.c.lost.Load() {
		return err
	}
	gl.c.compiling.Add(1) // until finish
	drivercache.FirstProgram()
	text, free := gl45.Strs(b.source.Text())
	defer free()
	length := int32(len(b.source.Text()))
	b.shader = gl45.CreateShader(gl45.COMPUTE_SHADER)
	gl45.ShaderSource(b.shader, 1, text, &length)
	count(gl.c, &gl.c.counted.Compiles, 1)
	gl45.CompileShader(b.shader)
	b.program = gl45.CreateProgram()
	count(gl.c, &gl.c.counted.Programs, 1)
	gl45.ProgramParameteri(b.program, gl45.PROGRAM_BINARY_RETRIEVABLE_HINT, gl45.TRUE)
	gl45.AttachShader(b.program, b.shader)
	count(gl.c, &gl.c.counted.Links, 1)
	if gl.c.priming != dispatchWaits {
		b.work = drivercache.Begin() // such drivers make machine code from the link on
	}
	gl45.LinkProgram(b.program)
	return nil
}

// finish waits for the driver and primes the program.
func (b *build) finish(gl *GL, last time.Time) (shader.Program, error) {
	defer gl.c.compiling.Add(-1)
	defer gl45.DeleteShader(b.shader)
	if b.work == nil {
		b.work = drivercache.Begin()
	}
	defer b.work.End()
	back := gl.c.options.begin(trace.BackEnd)
	back.About(b.source.Name(), "")
	err := b.result(gl)
	back.End()
	if last.After(b.began) {
		b.began = last
	}
	p := shader.Program{ID: b.program, CompileNanos: time.Since(b.began).Nanoseconds(), MachineCode: b.work.Entries}
	if err == nil {
		gl45.DetachShader(b.program, b.shader)
		gl.readBytes(&p)
		err = gl.readInterface(&p)
	}
	if err != nil {
		gl.deleteProgram(b.program)
		return shader.Program{}, err
	}
	err = gl.finishProgram(&p, true)
	return p, err
}

// result waits for the driver and returns the error of compiling or linking. A lost
// context or a lack of memory takes precedence: the logs are of no use then. Another GL
// error does not if the text does not compile: linking it may be one.
func (b *build) result(gl *GL) error {
	var compiled, linked int32
	gl45.GetShaderiv(b.shader, gl45.COMPILE_STATUS, &compiled)
	if compiled != gl45.FALSE {
		gl45.GetProgramiv(b.program, gl45.LINK_STATUS, &linked)
	}
	err := gl.Err()
	switch {
	case err != nil && (gl.c.lost.Load() || compiled != gl45.FALSE || errors.Is(err, shader.ErrOutOfMemory)):
		return fmt.Errorf("glctx: compile %s: %w", b.source.Name(), err)
	case compiled == gl45.FALSE:
		return gl.compileError(b.source, shaderLog(b.shader))
	case linked == gl45.FALSE:
		return gl.compileError(b.source, programLog(b.program))
	}
	return nil
}

// compileError returns the error of a source that the driver rejects. Where the context
// has another GLSL than that of the source, a line that says so follows the log.
func (gl *GL) compileError(src *shader.Source, log string) error {
	if note := gl.c.info.glslNote(src.Version()); note != "" && strings.TrimSpace(log) != "" {
		log = strings.TrimRight(log, "\n") + "\n" + note + "\n"
	}
	return &shader.CompileError{Name: src.Name(), Log: log, Source: src}
}

// Load makes a program from a binary and primes it. Drivers reject binaries in two
// ways, with a GL error (unknown format) and with a link status. Load returns
// shader.ErrRejected, wrapped, for both.
func (c *Context) Load(ctx context.Context, format uint32, payload []byte) (p shader.Program, err error) {
	switch {
	case len(payload) == 0:
		return p, fmt.Errorf("glctx: load: %w: it is empty", shader.ErrRejected)
	case c.info.Fingerprint.Flags&recording.FlagNoError != 0 && !slices.Contains(c.info.Fingerprint.Formats, format):
		return p, fmt.Errorf("glctx: load: %w: the driver has no format %#x", shader.ErrRejected, format)
	}
	err = c.doContext(ctx, func(gl *GL) error {
		c.compiling.Add(1)
		defer c.compiling.Add(-1)
		load := c.options.begin(trace.ProgramBinary)
		load.AboutContext(ctx)
		defer load.End()
		work := drivercache.Begin()
		defer work.End()
		if p, err = gl.loadBinary(format, payload); err == nil {
			p.MachineCode = work.Entries
			err = gl.finishProgram(&p, true)
		}
		return err
	})
	return p, err
}

// loadBinary makes a program from a binary, which finishProgram has to finish.
func (gl *GL) loadBinary(format uint32, payload []byte) (shader.Program, error) {
	began := time.Now()
	if err := gl.Err(); err != nil && gl.c.lost.Load() {
		return shader.Program{}, err
	}
	drivercache.FirstProgram()
	id := gl45.CreateProgram()
	count(gl.c, &gl.c.counted.Programs, 1)
	count(gl.c, &gl.c.counted.BinaryLoads, 1)
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
	p := shader.Program{ID: id, Bytes: len(payload)}
	if err == nil {
		err = gl.readInterface(&p)
	}
	if err != nil {
		gl.deleteProgram(id)
		return shader.Program{}, err
	}
	p.LoadNanos = time.Since(began).Nanoseconds()
	return p, nil
}

// finishProgram primes a program that was linked or loaded, and waits until there is machine
// code if it is asked to. After an error the program is deleted.
func (gl *GL) finishProgram(p *shader.Program, wait bool) error {
	err := gl.prime(p)
	if err == nil && wait && gl.c.priming != dispatchWaits {
		err = gl.finishPriming(p)
	}
	if err != nil {
		gl.deleteProgram(p.ID)
		*p = shader.Program{}
		return err
	}
	gl.c.first.fresh[p.ID] = 0
	return nil
}

// Binary returns the program binary of a program, in the driver's format. The payload
// is empty if the driver has no binary formats.
func (c *Context) Binary(ctx context.Context, id uint32) (format uint32, payload []byte, err error) {
	err = c.doContext(ctx, func(gl *GL) error {
		if len(c.info.Fingerprint.Formats) == 0 {
			return nil
		}
		read := c.options.begin(trace.BinaryOut)
		defer func() { read.End(trace.Int("bytes", int64(len(payload)))) }()
		if format, payload, err = gl.programBinary(id); err == nil && len(payload) > 0 && c.info.isZink() {
			gl.primeLoaded(format, payload)
		}
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return format, payload, nil
}

// primeLoaded has zink make the machine code that processes look for which load a binary: that
// of some programs is not what a compile makes. If it fails, they make it.
func (gl *GL) primeLoaded(format uint32, payload []byte) {
	work := drivercache.Begin()
	defer work.End()
	p := shader.Program{ID: gl45.CreateProgram()}
	gl45.ProgramBinary(p.ID, format, gl45.Ptr(payload), int32(len(payload)))
	var linked int32
	if gl45.GetProgramiv(p.ID, gl45.LINK_STATUS, &linked); linked != gl45.FALSE && gl.prime(&p) == nil {
		_ = gl.finishPriming(&p)
		count(gl.c, &gl.c.counted.Primes, ^uint64(0)) // it is nobody's program
	}
	gl45.DeleteProgram(p.ID)
	_ = gl.Err()
}

// programBinary reads a program binary. The lengths are the driver's and are not
// trusted.
func (gl *GL) programBinary(id uint32) (format uint32, payload []byte, err error) {
	var size, written int32
	gl45.GetProgramiv(id, gl45.PROGRAM_BINARY_LENGTH, &size)
	if size < 0 || size > binary.MaxPayloadBytes {
		return 0, nil, fmt.Errorf("glctx: get a program binary: the driver reports a length of %d bytes", size)
	}
	if size > 0 {
		payload = make([]byte, size)
		gl45.GetProgramBinary(id, size, &written, &format, gl45.Ptr(payload))
	}
	if err := gl.Err(); err != nil {
		return 0, nil, fmt.Errorf("glctx: get a program binary: %w", err)
	}
	if written < 0 || written > size {
		return 0, nil, fmt.Errorf("glctx: get a program binary: the driver reports that it wrote %d bytes into %d", written, size)
	}
	return format, payload[:written], nil
}

// Delete queues the deletion of a program and returns. The GPU finishes earlier
// dispatches of the program.
func (c *Context) Delete(id uint32) {
	c.Post(func(gl *GL) { gl.deleteProgram(id) })
}

func (gl *GL) deleteProgram(id uint32) {
	count(gl.c, &gl.c.counted.Programs, -1)
	delete(gl.c.first.fresh, id)
	if gl.c.gone.Load() {
		return // it went with its context
	}
	gl45.DeleteProgram(id)
	gl.debugCheck("glDeleteProgram")
}

func shaderLog(shader uint32) string {
	var size int32
	gl45.GetShaderiv(shader, gl45.INFO_LOG_LENGTH, &size)
	return readLog(size, func(n int32, buffer *uint8) { gl45.GetShaderInfoLog(shader, n, nil, buffer) })
}

func programLog(program uint32) string {
	var size int32
	gl45.GetProgramiv(program, gl45.INFO_LOG_LENGTH, &size)
	return readLog(size, func(n int32, buffer *uint8) { gl45.GetProgramInfoLog(program, n, nil, buffer) })
}

// longestLog is the length to which logs are read. Drivers have logs of megabytes for
// one mistake that a loop repeats.
const longestLog = 16 << 20

// readLog returns a log of size bytes, with its final 0, as the driver reports it.
func readLog(size int32, read func(n int32, buffer *uint8)) string {
	if size <= 1 {
		return ""
	}
	size = min(size, longestLog)
	buffer := make([]byte, size+1) // the last byte stays 0, whatever the driver writes
	read(size, &buffer[0])
	return gl45.GoStr(&buffer[0])
}
