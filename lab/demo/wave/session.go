//go:build linux

package wave

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident"
)

// Session is the simulation as a session of package resident: it can be saved, continued
// by another process, and runs in any strategy. Its steps come in pairs. Its methods may be
// called from one goroutine at a time. Close it before the context and the cache.
type Session struct {
	resident        *resident.Session
	context         *glctx.Context
	options         Options
	excite, inspect *cache.Handle
	messages        uint32 // impulses, which numbers them
}

// NewSession makes a surface at rest. programs is a cache over the context. It returns an
// error for options out of range, and the errors of resident.New.
func NewSession(ctx context.Context, c *glctx.Context, programs executor.Programs, o Options, how resident.Options) (*Session, error) {
	rest, err := NewReference(o)
	if err != nil {
		return nil, err
	}
	o = rest.options
	kernel, err := rest.Kernel()
	if err != nil {
		return nil, err
	}
	k := knownKernels{c, o.Local}
	handles, err := kernelset.Get(ctx, programs, kernels, k.excite(), k.inspect())
	if err != nil {
		return nil, fmt.Errorf("wave: %w", err)
	}
	s := &Session{context: c, options: o, excite: handles[0], inspect: handles[1]}
	if s.resident, err = resident.New(ctx, c, programs, kernel, how); err != nil {
		kernelset.Release(handles...)
		return nil, fmt.Errorf("wave: %w", err)
	}
	return s, nil
}

// Resident returns the session that runs the simulation. It belongs to s.
func (s *Session) Resident() *resident.Session { return s.resident }

// Step does n steps, an even number.
func (s *Session) Step(ctx context.Context, n int) error {
	if n < 0 || n%2 != 0 {
		return fmt.Errorf("wave: %d steps: a session does them in pairs", n)
	}
	if n == 0 {
		return nil
	}
	outcome, err := s.resident.Run(ctx, uint64(n/2))
	if err == nil && outcome.Steps != uint64(n/2) {
		err = fmt.Errorf("wave: %d of %d steps were done: %v", 2*outcome.Steps, n, outcome.Signal)
	}
	return err
}

// Steps returns the number of steps that were done.
func (s *Session) Steps() uint32 { return uint32(2 * s.resident.Progress()) }

// Excite applies impulses in order, as [Sim.Excite] does.
func (s *Session) Excite(ctx context.Context, pokes ...Impulse) ([]Ack, error) {
	return s.options.excite(ctx, pokes, s.poke)
}

// poke applies impulses in one dispatch, between two steps.
func (s *Session) poke(ctx context.Context, pokes []Impulse) ([]Ack, error) {
	inputs, results := make([]uint32, 0, 4*len(pokes)), make([]uint32, 2*len(pokes))
	for i, p := range pokes {
		inputs = append(inputs, uint32(p.X), uint32(p.Y), math.Float32bits(p.Amplitude), s.messages+uint32(i))
	}
	step := s.Steps()
	err := s.dispatch(ctx, tileJob{program: s.excite.Program(), count: len(pokes),
		inputs: map[uint32][]byte{4: glctx.Bytes(inputs), 6: glctx.Bytes(pulse())}, output: glctx.Bytes(results)})
	if err != nil {
		return nil, fmt.Errorf("wave: excite: %w", err)
	}
	first := s.messages
	s.messages += uint32(len(pokes))
	return acknowledged(pokes, results, first, step)
}

// Tiles returns the reports of all tiles, row by row.
func (s *Session) Tiles(ctx context.Context) ([]TileReport, error) {
	reports := make([]TileReport, s.options.tiles())
	raw := make([]byte, 4*tileReportWords*len(reports))
	if err := s.dispatch(ctx, tileJob{program: s.inspect.Program(), output: raw}); err != nil {
		return nil, fmt.Errorf("wave: inspect: %w", err)
	}
	readReports(reports, raw)
	return reports, nil
}

// Field returns the surface, row by row, and its step.
func (s *Session) Field(ctx context.Context) ([]float32, uint32, error) {
	field, err := FieldOf(ctx, s.resident, s.options)
	return field, s.Steps(), err
}

// Impulses returns the impulses that the surface has had, also before it was restored.
func (s *Session) Impulses(ctx context.Context) (had Applied, err error) {
	words := make([]uint32, tileWords*s.options.tiles())
	if err := s.resident.Read(ctx, "Tiles", 0, glctx.Bytes(words)); err != nil {
		return had, fmt.Errorf("wave: %w", err)
	}
	for at := 0; at < len(words); at += tileWords {
		had.Count += int(words[at+1])
		had.Digest += words[at+2]
	}
	return had, nil
}

// Close ends the session and releases the programs. It is idempotent, and returns the
// error of the last checkpoint that could not be saved.
func (s *Session) Close() error {
	err := s.resident.Close()
	if s.excite != nil {
		kernelset.Release(s.excite, s.inspect)
		s.excite, s.inspect = nil, nil
	}
	return err
}

// tileJob is a dispatch of a work group for each tile on the state of the session.
type tileJob struct {
	program uint32
	count   int               // of impulses
	inputs  map[uint32][]byte // by binding
	output  []byte            // of binding 7
}

// dispatch runs a job between two steps, and waits for its output.
func (s *Session) dispatch(ctx context.Context, job tileJob) error {
	return s.resident.WithBuffers(ctx, func(gl *glctx.GL, state map[string]glctx.Buffer) error {
		output, err := gl.NewBuffer(len(job.output), nil)
		made := []glctx.Buffer{output}
		defer func() {
			for _, b := range made {
				gl.DeleteBuffer(b)
			}
		}()
		for binding, data := range job.inputs {
			b, failed := gl.NewBuffer(len(data), data)
			err = errors.Join(err, failed)
			made = append(made, b)
			gl.BindStorage(binding, b)
		}
		if err != nil {
			return err
		}
		gl.BindStorage(7, output)
		for binding, block := range []string{"Even", "Odd", "EvenFaces", "OddFaces"} {
			gl.BindStorage(uint32(binding), state[block])
		}
		gl.BindStorage(5, state["Tiles"])
		s.options.useProgram(gl, job.program, job.count)
		gl.MemoryBarrier(glctx.BarrierStorage)
		gl.Dispatch(uint32(s.options.tiles()), 1, 1)
		gl.MemoryBarrier(glctx.BarrierStorage | glctx.BarrierUpdate)
		gl.Download(output, 0, job.output)
		return gl.Err()
	})
}

// useProgram makes a program current and sets its uniforms.
func (o Options) useProgram(gl *glctx.GL, program uint32, count int) {
	gl.UseProgram(program)
	for name, value := range map[string]int{"width": o.Width, "height": o.Height, "tilesX": o.TilesX,
		"blockW": o.blockW(), "blockH": o.blockH(), "count": count} {
		gl.SetInt(gl.UniformLocation(program, name), int32(value))
	}
	gl.SetFloat(gl.UniformLocation(program, "courant2"), o.courant2())
}
