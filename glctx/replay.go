//go:build linux && cgo

package glctx

import (
	"context"
	"errors"
	"fmt"
	"time"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

// Replay compiles, links and primes a recorded program as its application did, and
// deletes it: what is left is in the driver's own cache, for that application. The texts
// reach the driver byte for byte. The caller chooses a context of the kind that the
// program was recorded in. It is for contexts of [Open].
//
// It returns a *shader.CompileError where the driver does not compile or link it.
func (c *Context) Replay(ctx context.Context, p *recording.Program) (r Replayed, err error) {
	if c.schedule != nil {
		return r, errors.New("glctx: replay: programs are replayed in contexts of Open, whose state is their own")
	}
	err = c.doContext(ctx, func(gl *GL) error {
		work := drivercache.Begin()
		defer work.End()
		before, _ := drivercache.Written()
		r, err = gl.replay(p)
		r.MachineCode, r.WrittenBefore = work.Entries, before
		return err
	})
	if err != nil {
		return Replayed{}, fmt.Errorf("glctx: replay: %w", err)
	}
	return r, nil
}

func (gl *GL) replay(p *recording.Program) (r Replayed, err error) {
	if err := gl.Err(); err != nil && gl.c.lost.Load() {
		return r, err
	}
	drivercache.FirstProgram()
	began := time.Now()
	id, err := gl.linkRecorded(p)
	if err != nil {
		return r, err
	}
	defer gl.deleteProgram(id)
	r.LinkNanos = time.Since(began).Nanoseconds()
	began = time.Now()
	r.Primed, err = gl.primeRecorded(p, id)
	gl.Finish() // a driver may compile on threads of its own
	r.PrimeNanos = time.Since(began).Nanoseconds()
	return r, errors.Join(err, gl.Err())
}

// linkRecorded links a program, in the calls that the application made.
func (gl *GL) linkRecorded(p *recording.Program) (uint32, error) {
	count(gl.c, &gl.c.counted.Programs, 1)
	l := recordedLink{p: p}
	defer func() {
		for _, s := range l.shaders {
			gl45.DeleteShader(s)
		}
	}()
	err := l.link(gl)
	if err == nil {
		err = l.result(gl)
	}
	if err != nil {
		gl.deleteProgram(l.program)
		return 0, err
	}
	return l.program, nil
}

// recordedLink is the link of one program.
type recordedLink struct {
	p       *recording.Program
	program uint32
	shaders []uint32 // of p.Stages
}

func (l *recordedLink) link(gl *GL) error {
	if l.p.Created {
		text, free := gl45.Strs(l.p.Stages[0].Text + "\x00")
		defer free()
		count(gl.c, &gl.c.counted.Compiles, 1)
		count(gl.c, &gl.c.counted.Links, 1)
		l.program = gl45.CreateShaderProgramv(uint32(l.p.Stages[0].Kind), 1, text)
		return nil
	}
	l.program = gl45.CreateProgram()
	for _, s := range l.p.Stages {
		if err := l.attach(gl, s); err != nil {
			return err
		}
	}
	l.bind()
	count(gl.c, &gl.c.counted.Links, 1)
	gl45.LinkProgram(l.program)
	return nil
}

// attach compiles a shader and attaches it.
func (l *recordedLink) attach(gl *GL, s recording.Stage) error {
	id := gl45.CreateShader(uint32(s.Kind))
	l.shaders = append(l.shaders, id)
	count(gl.c, &gl.c.counted.Compiles, 1)
	if s.Module == nil {
		text, free := gl45.Strs(s.Text + "\x00") // an empty text needs a byte
		defer free()
		length := int32(len(s.Text))
		gl45.ShaderSource(id, 1, text, &length)
		gl45.CompileShader(id)
	} else if err := specialize(gl, id, s.Module); err != nil {
		return err
	}
	gl45.AttachShader(l.program, id)
	return nil
}

const spirvFormat = 0x9551 // SHADER_BINARY_FORMAT_SPIR_V_ARB

// specialize gives a SPIR-V module to the driver.
func specialize(gl *GL, id uint32, m *recording.Module) error {
	if !gl.c.info.Has("GL_ARB_gl_spirv") {
		return errors.New("the driver takes no SPIR-V: it has no GL_ARB_gl_spirv")
	}
	gl45.ShaderBinary(1, &id, spirvFormat, gl45.Ptr(m.Code), int32(len(m.Code)))
	indices, values := make([]uint32, len(m.Constants)+1), make([]uint32, len(m.Constants)+1)
	for i, c := range m.Constants {
		indices[i], values[i] = c.Index, c.Value
	}
	gl45.SpecializeShaderARB(id, gl45.Str(m.EntryPoint+"\x00"), uint32(len(m.Constants)), &indices[0], &values[0])
	return nil
}

// bind makes the settings that the link reads.
func (l *recordedLink) bind() {
	if l.p.Separable {
		gl45.ProgramParameteri(l.program, gl45.PROGRAM_SEPARABLE, gl45.TRUE)
	}
	if l.p.Retrievable {
		gl45.ProgramParameteri(l.program, gl45.PROGRAM_BINARY_RETRIEVABLE_HINT, gl45.TRUE)
	}
	for _, a := range l.p.Attributes {
		gl45.BindAttribLocation(l.program, a.Location, gl45.Str(a.Name+"\x00"))
	}
	for _, o := range l.p.Outputs {
		gl45.BindFragDataLocationIndexed(l.program, o.Number, o.Index, gl45.Str(o.Name+"\x00"))
	}
	if f := l.p.Feedback; f != nil && len(f.Varyings) > 0 {
		names := make([]string, len(f.Varyings))
		for i, name := range f.Varyings {
			names[i] = name + "\x00"
		}
		list, free := gl45.Strs(names...)
		defer free()
		gl45.TransformFeedbackVaryings(l.program, int32(len(names)), list, f.Mode)
	}
}

// result waits for the driver and returns the error of compiling or linking, as
// build.result does.
func (l *recordedLink) result(gl *GL) error {
	var linked int32
	if l.program != 0 {
		gl45.GetProgramiv(l.program, gl45.LINK_STATUS, &linked)
	}
	err := gl.Err()
	if err != nil && (gl.c.lost.Load() || linked != gl45.FALSE || errors.Is(err, shader.ErrOutOfMemory)) || linked != gl45.FALSE {
		return err
	}
	for i, s := range l.shaders {
		var compiled int32
		gl45.GetShaderiv(s, gl45.COMPILE_STATUS, &compiled)
		if compiled == gl45.FALSE {
			return l.compileError(l.p.Stages[i], shaderLog(s))
		}
	}
	var log string
	if l.program != 0 {
		log = programLog(l.program)
	}
	return l.compileError(l.p.Stages[0], log)
}

func (l *recordedLink) compileError(s recording.Stage, log string) error {
	name := fmt.Sprintf("%s %s", s.Kind, l.p.Digest().Short())
	return &shader.CompileError{Name: name, Log: log, Source: shader.NewFinalSource(name, s.Text, []string{name})}
}
