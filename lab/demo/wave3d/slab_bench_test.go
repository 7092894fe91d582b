//go:build linux

package wave3d

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
)

var slabSide = flag.Int("side", 64, "cells of a side of the volume of BenchmarkSlabs")

const (
	slabSteps  = 4 // of a batch
	slabRounds = 9
	slabCheck  = 3 // steps whose cells are compared
)

// slab is a volume, or a half of it along z, whose fields are parts of a buffer, one behind the
// other with a gap between them.
type slab struct {
	name   string
	block  block
	cells  box
	gap    int // bytes
	fields glctx.Buffer
	faces  [2]glctx.Buffer // in, out
	step   int
}

// slabKernel is a program that steps cells.
type slabKernel struct {
	name    string
	planes  int
	plain   bool // without code for faces
	program uint32
}

// BenchmarkSlabs measures a step of a volume and of halves of it, by programs with and without
// code for faces, in turns: one batch of each in a round, so that clock and temperature are the
// same for all. The cells of each are compared with those of the first program. It shows what
// two devices gain at most: of a half with a neighbour, the interior, and the plane of the face.
// Run it with -test.benchtime 1x -side 512; SHADERCACHE_TEST_DEVICES names the device.
func BenchmarkSlabs(b *testing.B) {
	c := gltest.OpenWith(b, glctx.Options{Device: gltest.Devices(1)[0]})
	programs, err := cache.New(c, cache.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer programs.Close()
	start := &slabKernel{name: "wave3d_start", planes: 1}
	kernels := []*slabKernel{{name: "with faces", planes: 1}}
	for _, planes := range []int{1, 4, 8, 16, 32} {
		kernels = append(kernels, &slabKernel{name: fmt.Sprintf("without, %d planes", planes), planes: planes, plain: true})
	}
	for _, k := range append(slices.Clone(kernels), start) {
		defer k.get(b, programs).Release()
	}
	slabs := newSlabs(*slabSide)
	for b.Loop() {
		err := c.Do(func(gl *glctx.GL) error { return runSlabs(gl, slabs, kernels, start) })
		if err != nil {
			b.Fatal(err)
		}
	}
}

func (k *slabKernel) get(b *testing.B, programs *cache.Cache) *cache.Handle {
	name, defines := "wave3d_step", innerDefines(k.planes)
	if !k.plain {
		defines = nil
	}
	if k.name == "wave3d_start" {
		name = k.name
	}
	source, err := source(name, defines)
	if err != nil {
		b.Fatal(err)
	}
	handle, err := programs.Get(b.Context(), source)
	if err != nil {
		b.Fatal(err)
	}
	k.program = handle.Program()
	return handle
}

// newSlabs returns a volume of n cells cubed, its half, the interior and the plane of a half
// with a neighbour behind it, and halves with gaps between their fields.
func newSlabs(n int) []*slab {
	slabOf := func(name string, depth, gap int, neighbour bool) *slab {
		s := &slab{name: name, gap: gap}
		s.block.size = [3]int{n, n, depth}
		for face := range faceCount {
			s.block.in[face], s.block.out[face] = -1, -1
		}
		if neighbour {
			s.block.in[faceCount-1], s.block.out[faceCount-1] = 0, 0
		}
		s.cells = box{hi: s.block.size}
		return s
	}
	inner, plane := slabOf("interior", n/2, 0, true), slabOf("plane", n/2, 0, true)
	inner.cells.hi[2]--
	plane.cells.lo[2] = n/2 - 1
	list := []*slab{slabOf("whole", n, 0, false), slabOf("half", n/2, 0, false), inner, plane}
	for _, gap := range []int{0, 64 << 10, 512 << 10, 1 << 20, 5 << 20, 32 << 20} {
		list = append(list, slabOf(fmt.Sprintf("gap %dK", gap>>10), n/2, gap, false))
	}
	return list
}

func (s *slab) bytes() int { return 4 * s.block.size[0] * s.block.size[1] * s.block.size[2] }

func (s *slab) allocate(gl *glctx.GL) (err error) {
	if s.fields, err = gl.NewBuffer(2*s.bytes()+s.gap, nil); err != nil {
		return err
	}
	for i := range s.faces {
		if s.faces[i], err = gl.NewBuffer(4*s.block.faceCells(2), nil); err != nil {
			return err
		}
		gl.Fill(s.faces[i], 0x3e000000) // 0.125
	}
	return nil
}

func (s *slab) free(gl *glctx.GL) {
	for _, b := range []glctx.Buffer{s.fields, s.faces[0], s.faces[1]} {
		gl.DeleteBuffer(b)
	}
}

// dispatch does a step of cells, and makes its writes visible.
func (s *slab) dispatch(gl *glctx.GL, k *slabKernel, cells box) {
	for side := range 2 {
		gl.BindStorageRange(uint32((s.step+side)&1), s.fields, side*(s.bytes()+s.gap), s.bytes())
		gl.BindStorage(uint32(2+side), s.faces[side])
	}
	gl.UseProgram(k.program)
	s.block.eachInt(cells, func(name string, v int32) { executor.SetUniform(gl, k.program, job.Int(name, v)) })
	executor.SetUniform(gl, k.program, job.Float("courant2", 0.25))
	executor.SetUniform(gl, k.program, job.Uint("seed", 1))
	d := s.block.dispatch(kernel{planes: k.planes}, Options{}, cells, nil)
	gl.Dispatch(d.Groups[0], d.Groups[1], d.Groups[2])
	gl.MemoryBarrier(glctx.BarrierStorage)
}

func (s *slab) steps(gl *glctx.GL, k *slabKernel, n int) {
	for range n {
		s.dispatch(gl, k, s.cells)
		s.step++
	}
}

// computes reports whether a program computes the cells of a slab.
func (k *slabKernel) computes(s *slab) bool {
	return !k.plain || s.block.in[faceCount-1] < 0 || s.cells.hi[2] < s.block.size[2]
}

// after returns the cells after some steps.
func (s *slab) after(gl *glctx.GL, k, start *slabKernel) []float32 {
	s.step = 0
	s.dispatch(gl, start, box{hi: s.block.size})
	s.steps(gl, k, slabCheck)
	gl.MemoryBarrier(glctx.BarrierUpdate)
	got := make([]float32, s.bytes()/4)
	gl.Download(s.fields, s.step&1*(s.bytes()+s.gap), glctx.Bytes(got))
	return got
}

func runSlabs(gl *glctx.GL, slabs []*slab, kernels []*slabKernel, start *slabKernel) error {
	for _, s := range slabs {
		if err := s.allocate(gl); err != nil {
			return err
		}
		defer s.free(gl)
		s.dispatch(gl, start, box{hi: s.block.size})
	}
	times := map[string][]float64{} // by names of kernel and slab
	for round := range slabRounds {
		for _, k := range kernels {
			for _, s := range slabs {
				if k.computes(s) {
					took := s.time(gl, k)
					if round > 0 { // programs, memory and clocks are warm
						times[k.name+s.name] = append(times[k.name+s.name], took)
					}
				}
			}
		}
	}
	printSlabs(slabs, kernels, times)
	for _, s := range slabs {
		want := s.after(gl, kernels[0], start)
		for _, k := range kernels[1:] {
			if k.computes(s) && !slices.Equal(s.after(gl, k, start), want) {
				return fmt.Errorf("%s: the cells %s differ", s.name, k.name)
			}
		}
	}
	return gl.Err()
}

// time returns the time of a step in microseconds.
func (s *slab) time(gl *glctx.GL, k *slabKernel) float64 {
	begin, end := gl.NewQuery(), gl.NewQuery()
	defer gl.DeleteQuery(begin)
	defer gl.DeleteQuery(end)
	gl.Finish()
	host := time.Now()
	gl.WriteTimestamp(begin)
	s.steps(gl, k, slabSteps)
	gl.WriteTimestamp(end)
	gl.Finish()
	took := gl.Timestamp(end) - gl.Timestamp(begin)
	if took <= 0 { // timer queries read 0, as on llvmpipe
		took = time.Since(host)
	}
	return float64(took) / slabSteps / 1000
}

// printSlabs prints the medians.
func printSlabs(slabs []*slab, kernels []*slabKernel, times map[string][]float64) {
	fmt.Printf("%-20s", "us a step")
	for _, s := range slabs {
		fmt.Printf(" %10s", s.name)
	}
	fmt.Println()
	for _, k := range kernels {
		fmt.Printf("%-20s", k.name)
		for _, s := range slabs {
			if list := slices.Sorted(slices.Values(times[k.name+s.name])); len(list) > 0 {
				fmt.Printf(" %10.1f", list[len(list)/2])
			} else {
				fmt.Printf(" %10s", "-")
			}
		}
		fmt.Println()
	}
}
