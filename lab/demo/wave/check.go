//go:build linux

package wave

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident"
	"github.com/shadercache/shadercache/shader"
)

// knownKernels are the kernels of a simulation with their known answers, which are those of
// the CPU for a small surface.
type knownKernels struct {
	context *glctx.Context
	local   int // invocations of a group
}

func (k knownKernels) step() kernelset.Kernel { return k.kernel("wave_step", (*knownSurface).step) }
func (k knownKernels) excite() kernelset.Kernel {
	return k.kernel("wave_excite", (*knownSurface).excite)
}
func (k knownKernels) inspect() kernelset.Kernel {
	return k.kernel("wave_inspect", (*knownSurface).inspect)
}

func (k knownKernels) read() kernelset.Kernel {
	read := k.kernel("wave_read", (*knownSurface).read)
	read.Defines = nil
	return read
}

// kernel returns a kernel whose check fails where compare does.
func (k knownKernels) kernel(name string, compare func(*knownSurface) error) kernelset.Kernel {
	return kernelset.Kernel{
		Name:    name,
		Defines: shader.Defines{"LOCAL": strconv.Itoa(k.local), "RADIUS": strconv.Itoa(PulseRadius)},
		Check: func(_ context.Context, program uint32) error {
			return k.context.Do(func(gl *glctx.GL) error {
				s, err := newKnownSurface(gl, program, k.local)
				if err == nil {
					err = compare(s)
				}
				if err != nil {
					return fmt.Errorf("wave: %s: %w", name, err)
				}
				return nil
			})
		},
	}
}

// knownSurface is a small surface with a number in each cell, and a program that is checked
// on it. Its tiles overlap the edges of the grid.
type knownSurface struct {
	gl        *glctx.GL
	program   uint32
	options   Options
	reference *Reference

	now, previous, facesNow, facesPrevious []float32
	tiles                                  []uint32
}

func newKnownSurface(gl *glctx.GL, program uint32, local int) (*knownSurface, error) {
	r, err := NewReference(Options{Width: 29, Height: 23, TilesX: 3, TilesY: 2, Local: local, Border: Absorbing, Courant: 0.6})
	if err != nil {
		return nil, err
	}
	r.fill()
	s := &knownSurface{gl: gl, program: program, options: r.options, reference: r}
	s.now, s.facesNow = r.options.blocks(r.u)
	s.previous, s.facesPrevious = r.options.blocks(r.previous)
	s.tiles = make([]uint32, tileWords*r.options.tiles())
	return s, nil
}

// fill gives each cell a number: multiples of 2^-10 from -1 to below 1.
func (r *Reference) fill() {
	number := func(i int) float32 { return float32(uint32(i+1)*2654435761>>21)/(1<<10) - 1 }
	for i := range r.u {
		r.u[i], r.previous[i] = number(2*i), number(2*i+1)
	}
}

// poison is what results are before a check.
var poison = float32(math.Inf(1))

func poisoned(n int) []float32 { return slices.Repeat([]float32{poison}, n) }

// run runs the program on buffers with the data at their bindings, which it overwrites with
// the results.
func (s *knownSurface) run(groups, count int, data map[uint32][]byte) error {
	buffers := map[uint32]glctx.Buffer{}
	defer func() {
		for _, b := range buffers {
			s.gl.DeleteBuffer(b)
		}
	}()
	for binding, d := range data {
		b, err := s.gl.NewBuffer(len(d), d)
		if err != nil {
			return err
		}
		buffers[binding] = b
		s.gl.BindStorage(binding, b)
	}
	s.options.useProgram(s.gl, s.program, count)
	s.gl.Dispatch(uint32(groups), 1, 1)
	s.gl.MemoryBarrier(glctx.BarrierUpdate)
	for binding, b := range buffers {
		s.gl.Download(b, 0, data[binding])
	}
	return s.gl.Err()
}

// step compares a step.
func (s *knownSurface) step() error {
	faces := poisoned(len(s.facesNow))
	damping := s.reference.damping
	err := s.run(s.options.tiles(), 0, map[uint32][]byte{0: glctx.Bytes(s.now), 1: glctx.Bytes(s.previous),
		2: glctx.Bytes(s.facesNow), 3: glctx.Bytes(faces), 4: glctx.Bytes(damping), 5: glctx.Bytes(s.tiles)})
	if err != nil {
		return err
	}
	s.reference.Step(1)
	for t := range s.options.tiles() {
		if n := s.tiles[t*tileWords]; n != 1 {
			return fmt.Errorf("tile %d did %d steps", t, n)
		}
	}
	return s.compare(s.reference.u, s.previous, faces)
}

// excite compares a surface after impulses, of which some reach several tiles, and their
// acknowledgements.
func (s *knownSurface) excite() error {
	pokes := []Impulse{{0, 0, 0.5}, {14, 11, -2}, {14, 12, 1}, {28, 22, 4}}
	words, acks := make([]uint32, 0, 4*len(pokes)), slices.Repeat([]uint32{math.MaxUint32}, 2*len(pokes))
	for i, p := range pokes {
		words = append(words, uint32(p.X), uint32(p.Y), math.Float32bits(p.Amplitude), uint32(i+1))
	}
	err := s.run(s.options.tiles(), len(pokes), map[uint32][]byte{0: glctx.Bytes(s.now), 1: glctx.Bytes(s.previous),
		2: glctx.Bytes(s.facesNow), 3: glctx.Bytes(s.facesPrevious), 4: glctx.Bytes(words), 5: glctx.Bytes(s.tiles),
		6: glctx.Bytes(pulse()), 7: glctx.Bytes(acks)})
	if err != nil {
		return err
	}
	if _, err := acknowledged(pokes, acks, 1, 0); err != nil {
		return err
	}
	if err := s.reference.Excite(pokes...); err != nil {
		return err
	}
	return errors.Join(s.compare(s.reference.u, s.now, s.facesNow), s.compare(s.reference.previous, s.previous, s.facesPrevious))
}

// compare compares a field and its faces.
func (s *knownSurface) compare(want, blocks, faces []float32) error {
	wantBlocks, wantFaces := s.options.blocks(want)
	if !slices.Equal(blocks, wantBlocks) {
		return fmt.Errorf("%w in cells of the known surface", ErrDiffers)
	}
	if !slices.Equal(faces, wantFaces) {
		return fmt.Errorf("%w in faces of the known surface", ErrDiffers)
	}
	return nil
}

// inspect compares the measurements of the tiles.
func (s *knownSurface) inspect() error {
	for i := range s.tiles {
		s.tiles[i] = uint32(i)
	}
	raw := glctx.Bytes(poisoned(tileReportWords * s.options.tiles()))
	err := s.run(s.options.tiles(), 0, map[uint32][]byte{0: glctx.Bytes(s.now), 1: glctx.Bytes(s.previous),
		3: glctx.Bytes(s.facesPrevious), 5: glctx.Bytes(s.tiles), 7: raw})
	if err != nil {
		return err
	}
	reports := make([]TileReport, s.options.tiles())
	readReports(reports, raw)
	energy, size := 0.0, s.options.blockW()*s.options.blockH()
	for t, got := range reports {
		energy += float64(got.Energy)
		largest := float32(0)
		for _, u := range s.now[t*size:][:size] {
			largest = max(largest, u, -u)
		}
		if at := uint32(t * tileWords); got.Largest != largest || got.Steps != at || got.Impulses != at+1 {
			return fmt.Errorf("%w in tile %d of the known surface: %+v", ErrDiffers, t, got)
		}
	}
	if want := s.reference.Energy(); !(math.Abs(energy-want) <= 1e-4*want) {
		return fmt.Errorf("the known surface has energy %v, should be %v", energy, want)
	}
	return nil
}

// read compares the heights of cells.
func (s *knownSurface) read() error {
	heights, places := poisoned(len(s.now)), make([]uint32, len(s.now))
	for i := range places {
		places[i] = uint32(len(places) - 1 - i)
	}
	err := s.run((len(places)+63)/64, 0, map[uint32][]byte{0: glctx.Bytes(s.now), 4: glctx.Bytes(places), 7: glctx.Bytes(heights)})
	slices.Reverse(heights)
	if err == nil && !slices.Equal(heights, s.now) {
		err = fmt.Errorf("%w in heights of the known surface", ErrDiffers)
	}
	return err
}

// checkSession compares two steps of a session from a number in each cell with the CPU.
func (o Options) checkSession(ctx context.Context, s *resident.Session) error {
	r, err := NewReference(o)
	if err != nil {
		return err
	}
	r.fill()
	even, evenFaces := o.blocks(r.u)
	odd, oddFaces := o.blocks(r.previous)
	for block, data := range map[string][]float32{"Even": even, "Odd": odd, "EvenFaces": evenFaces, "OddFaces": oddFaces} {
		if err := s.Write(ctx, block, 0, glctx.Bytes(data)); err != nil {
			return err
		}
	}
	if _, err := s.Run(ctx, 1); err != nil {
		return err
	}
	r.Step(2)
	got, err := FieldOf(ctx, s, o)
	if err != nil {
		return err
	}
	return r.Compare(got)
}
