//go:build linux

package wave

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident"
	"github.com/shadercache/shadercache/shader"
)

// Kernel returns the simulation as a kernel of package resident, with the state of the
// reference, for any mode of a session. A step of the session is two steps of the wave.
// It returns an error when the reference has done an odd number of steps.
func (r *Reference) Kernel() (resident.Kernel, error) {
	if r.steps%2 != 0 {
		return resident.Kernel{}, fmt.Errorf("wave: a kernel starts from an even number of steps, not %d", r.steps)
	}
	o := r.options
	source, err := sessionSource(shader.Defines{
		"LOCAL":         strconv.Itoa(o.Local),
		"WAVE_WIDTH":    strconv.Itoa(o.Width),
		"WAVE_HEIGHT":   strconv.Itoa(o.Height),
		"WAVE_TILES_X":  strconv.Itoa(o.TilesX),
		"WAVE_BLOCK_W":  strconv.Itoa(o.blockW()),
		"WAVE_BLOCK_H":  strconv.Itoa(o.blockH()),
		"WAVE_COURANT2": strconv.FormatUint(uint64(math.Float32bits(o.courant2())), 10) + "u",
		"WAVE_DAMPING":  strconv.Itoa(len(r.damping) / 2),
	})
	if err != nil {
		return resident.Kernel{}, fmt.Errorf("wave: %w", err)
	}
	even, evenFaces := o.blocks(r.u)
	odd, oddFaces := o.blocks(r.previous)
	return resident.Kernel{
		Source: source,
		Groups: uint32(o.tiles()),
		Phases: 2,
		Loops:  2 * uint32(o.cellsEach()+1), // a loop over its cells in each phase
		State: []resident.State{
			{Block: "Even", Init: glctx.Bytes(even)}, {Block: "Odd", Init: glctx.Bytes(odd)},
			{Block: "EvenFaces", Init: glctx.Bytes(evenFaces)}, {Block: "OddFaces", Init: glctx.Bytes(oddFaces)},
			{Block: "Damping", Init: glctx.Bytes(r.damping), Constant: true},
			{Block: "Tiles", Init: glctx.Bytes(r.tiles())},
		},
		Check: o.checkSession,
	}, nil
}

// tiles returns the counters of the tiles, without the impulses so far.
func (r *Reference) tiles() []uint32 {
	words := make([]uint32, tileWords*r.options.tiles())
	for at := 0; at < len(words); at += tileWords {
		words[at] = r.steps
	}
	return words
}

// FieldOf returns the surface of a session with a Kernel of this simulation, row by row,
// between two steps of the session.
func FieldOf(ctx context.Context, s *resident.Session, o Options) ([]float32, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	blocks := make([]float32, o.cells())
	if err := s.Read(ctx, "Even", 0, glctx.Bytes(blocks)); err != nil {
		return nil, fmt.Errorf("wave: %w", err)
	}
	return o.rows(blocks), nil
}

// blocks returns the blocks and faces of a field.
func (o Options) blocks(field []float32) (blocks, faces []float32) {
	blocks, faces = make([]float32, o.cells()), make([]float32, o.faces())
	bw, bh := o.blockW(), o.blockH()
	for i, v := range field {
		x, y := i%o.Width, i/o.Width
		blocks[o.index(x, y)] = v
		tile := faces[(y/bh*o.TilesX+x/bw)*2*(bw+bh):]
		if y%bh == 0 {
			tile[x%bw] = v
		}
		if y%bh == bh-1 {
			tile[bw+x%bw] = v
		}
		if x%bw == 0 {
			tile[2*bw+y%bh] = v
		}
		if x%bw == bw-1 {
			tile[2*bw+bh+y%bh] = v
		}
	}
	return blocks, faces
}

// kernelFolder is the folder of the kernels in the project, below which they include
// resident.glsl by the same path as on disk.
const kernelFolder = "lab/demo/wave/kernels/"

// sessionSource returns the source of wave_session.comp.
func sessionSource(defines shader.Defines) (*shader.Source, error) {
	files, err := kernels.ReadDir("kernels")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := kernels.ReadFile("kernels/" + file.Name())
		if err != nil {
			return nil, err
		}
		texts[kernelFolder+file.Name()] = string(text)
	}
	return resident.ReadSource(shader.Overlay{Texts: texts}, kernelFolder+"wave_session.comp", defines)
}
