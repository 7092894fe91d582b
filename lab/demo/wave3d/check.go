//go:build linux

package wave3d

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// knownBlock is a block of a small volume, and a program that is checked on it. The block
// has the first cell of the volume and not the last ones: along each axis it has the border
// on one side and a neighbour on the other.
type knownBlock struct {
	gl        *glctx.GL
	program   uint32
	planes    int // of the program
	volume    Options
	block     block
	part      box // cells that the program computes
	reference *Reference

	now, before []float32 // cells of the block
	in, out     []float32 // faces
}

// checkKnown runs a check with a known block on the GL thread.
func checkKnown(gpu *shadercache.GPU, program uint32, planes int, check func(*knownBlock) error) error {
	return gpu.Context.Do(func(gl *glctx.GL) error {
		k, err := newKnownBlock(gl, program, planes)
		if err == nil {
			err = check(k)
		}
		return err
	})
}

// newKnownBlock returns a block that is poisoned, with a volume at step 0.
func newKnownBlock(gl *glctx.GL, program uint32, planes int) (*knownBlock, error) {
	k := &knownBlock{gl: gl, program: program, planes: planes, volume: Options{Cells: [3]int{7, 9, innerPlanes + 4}, Seed: 3}.withDefaults()}
	var err error
	if k.reference, err = NewReference(k.volume); err != nil {
		return nil, err
	}
	k.block.size = [3]int{6, 8, innerPlanes + 3}
	k.part.hi = k.block.size
	faces := 0
	for face := range faceCount {
		k.block.in[face], k.block.out[face] = -1, -1
		if face%2 == 1 {
			k.block.in[face], k.block.out[face] = faces, faces
			faces += k.block.faceCells(face / 2)
		}
	}
	k.now, k.before = poisoned(k.cells()), poisoned(k.cells())
	k.in, k.out = poisoned(faces), poisoned(faces)
	return k, nil
}

func poisoned(n int) []float32 { return slices.Repeat([]float32{float32(math.Inf(1))}, n) }

func (k *knownBlock) cells() int { return k.block.size[0] * k.block.size[1] * k.block.size[2] }

// cut returns the cells of the block in a field of the volume, or those of the face on a
// side of it: inside of the block, or outside.
func (k *knownBlock) cut(field []float32, lo, hi [3]int) []float32 {
	var cells []float32
	for z := lo[2]; z < hi[2]; z++ {
		for y := lo[1]; y < hi[1]; y++ {
			from := (z*k.volume.Cells[1] + y) * k.volume.Cells[0]
			cells = append(cells, field[from+lo[0]:from+hi[0]]...)
		}
	}
	return cells
}

// faces returns the layers of cells of a field next to the ends of the block along x, y and
// z: the last ones inside, or the first ones outside.
func (k *knownBlock) faces(field []float32, outside bool) (faces []float32) {
	for axis := range 3 {
		lo, hi := [3]int{}, k.block.size
		if outside {
			hi[axis]++
		}
		lo[axis] = hi[axis] - 1
		faces = append(faces, k.cut(field, lo, hi)...)
	}
	return faces
}

// start compares the values at step 0.
func (k *knownBlock) start() error {
	if err := k.run(); err != nil {
		return err
	}
	return k.compare("start", k.now, k.before)
}

// secondStep sets the tensors to those of the second step: the first leaves all that differs
// from step 0. It returns the cells after it.
func (k *knownBlock) secondStep() (after []float32) {
	k.reference.Step(1)
	k.now, k.before = k.cut(k.reference.now, [3]int{}, k.block.size), k.cut(k.reference.previous, [3]int{}, k.block.size)
	k.in = k.faces(k.reference.now, true)
	k.reference.Step(1)
	return k.cut(k.reference.now, [3]int{}, k.block.size)
}

// step compares the second step.
func (k *knownBlock) step() error {
	k.secondStep()
	if err := k.run(); err != nil {
		return err
	}
	return k.compare("step", k.before)
}

// interior compares the second step of the cells without neighbours in other blocks, and that
// the others stay.
func (k *knownBlock) interior() error {
	after := k.secondStep()
	want := slices.Clone(k.before)
	for axis := range k.part.hi {
		k.part.hi[axis]--
	}
	for z := range k.part.hi[2] {
		for y := range k.part.hi[1] {
			row := (z*k.block.size[1] + y) * k.block.size[0]
			copy(want[row:row+k.part.hi[0]], after[row:])
		}
	}
	if err := k.run(); err != nil {
		return err
	}
	if !slices.Equal(k.before, want) {
		return errors.New("wave3d: the interior of a known block gives other cells than the CPU")
	}
	return nil
}

// compare compares fields of the block, and the faces that were written, with the volume.
func (k *knownBlock) compare(kernel string, fields ...[]float32) error {
	for _, cells := range fields {
		if !slices.Equal(cells, k.cut(k.reference.now, [3]int{}, k.block.size)) {
			return fmt.Errorf("wave3d: %s of a known block gives other cells than the CPU", kernel)
		}
	}
	if !slices.Equal(k.out, k.faces(k.reference.now, false)) {
		return fmt.Errorf("wave3d: %s of a known block gives other faces than the CPU", kernel)
	}
	return nil
}

// run runs the program on the block.
func (k *knownBlock) run() error {
	data := [][]float32{k.now, k.before, k.in, k.out}
	buffers := make([]glctx.Buffer, len(data))
	for i, cells := range data {
		var err error
		if buffers[i], err = k.gl.NewBuffer(4*len(cells), glctx.Bytes(cells)); err != nil {
			return err
		}
		defer k.gl.DeleteBuffer(buffers[i])
		k.gl.BindStorage(uint32(i), buffers[i])
	}
	k.gl.UseProgram(k.program)
	k.block.eachInt(k.part, func(name string, v int32) { executor.SetUniform(k.gl, k.program, job.Int(name, v)) })
	executor.SetUniform(k.gl, k.program, job.Float("courant2", k.volume.Courant*k.volume.Courant))
	executor.SetUniform(k.gl, k.program, job.Uint("seed", k.volume.Seed))
	d := k.block.dispatch(kernel{planes: k.planes}, k.volume, k.part, nil)
	k.gl.Dispatch(d.Groups[0], d.Groups[1], d.Groups[2])
	k.gl.MemoryBarrier(glctx.BarrierUpdate)
	for i, cells := range data {
		k.gl.Download(buffers[i], 0, glctx.Bytes(cells))
	}
	return k.gl.Err()
}
