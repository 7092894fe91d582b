//go:build linux

package wave

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident"
	"github.com/shadercache/shadercache/shader"
)

// Kernel is the simulation as a kernel of package resident, which goes on from
// the reference's state: so it can run in every form that a session has, one
// dispatch that stays among them. A step of the session is two of the wave. It
// fails where the reference has done an odd number of steps.
func (r *Reference) Kernel() (resident.Kernel, error) {
	if r.steps%2 != 0 {
		return resident.Kernel{}, fmt.Errorf("wave: a kernel goes on from an even number of steps, not %d", r.steps)
	}
	o := r.options
	source, err := resident.ReadSource(besideResident{kernels}, besideResidentDir+"kernels/wave_session.comp", shader.Defines{
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
		Loops:  uint32((o.blockW()*o.blockH() + o.Local - 1) / o.Local),
		State: []resident.State{
			{Block: "Even", Init: glctx.Bytes(even)}, {Block: "Odd", Init: glctx.Bytes(odd)},
			{Block: "EvenFaces", Init: glctx.Bytes(evenFaces)}, {Block: "OddFaces", Init: glctx.Bytes(oddFaces)},
			{Block: "Damping", Init: glctx.Bytes(r.damping), Constant: true},
		},
	}, nil
}

// FieldOf is the surface of a session with a Kernel of this simulation, row by
// row, between two of its steps.
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

// blocks cuts a field into the tiles' blocks and faces.
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

// besideResident has the kernels where they are in the project, so that they
// include resident.glsl by the same path everywhere.
type besideResident struct{ fs.FS }

const besideResidentDir = "demo/wave/"

func (b besideResident) Open(name string) (fs.File, error) {
	below, ok := strings.CutPrefix(name, besideResidentDir)
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return b.FS.Open(below)
}
