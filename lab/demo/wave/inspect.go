//go:build linux

package wave

import (
	"context"
	"fmt"
	"image"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// TileReport has the measurements of a tile.
type TileReport struct {
	Energy   float32 `json:"energy"`
	Largest  float32 `json:"largest"` // largest absolute height
	Steps    uint32  `json:"steps"`   // that were done
	Impulses uint32  `json:"pokes"`   // impulses at cells of the tile
}

// tileReportWords is the size of a TileReport on the device.
const tileReportWords = 4

// Tiles returns the reports of all tiles, row by row, between two steps.
func (s *Sim) Tiles(ctx context.Context) ([]TileReport, error) {
	reports := make([]TileReport, s.options.tiles())
	pending, err := s.submit(ctx, func() job.Job {
		m, now, before := &s.memory, s.now, 1-s.now
		return job.Job{
			Dispatch: s.tileDispatch(job.Dispatch{
				Program: s.programs.inspect,
				Buffers: []job.Bound{
					m.fields[now].BindReadOnly(0), m.fields[before].BindReadOnly(1), m.faces[before].BindReadOnly(3), m.tiles.BindReadOnly(5),
				},
			}),
			Outputs: []job.Output{{Binding: 7, Dirty: true, Size: 4 * tileReportWords * len(reports), Read: func(src []byte) {
				readReports(reports, src)
			}}},
		}
	})
	if err != nil {
		return nil, err
	}
	if err := pending.Wait(ctx); err != nil {
		return nil, fmt.Errorf("wave: inspect: %w", err)
	}
	return reports, nil
}

func readReports(reports []TileReport, src []byte) {
	words := make([]float32, tileReportWords*len(reports))
	copy(glctx.Bytes(words), src)
	counts := make([]uint32, len(words))
	copy(glctx.Bytes(counts), src)
	for i := range reports {
		at := tileReportWords * i
		reports[i] = TileReport{words[at], words[at+1], counts[at+2], counts[at+3]}
	}
}

// Energy returns the energy of all tiles.
func (s *Sim) Energy(ctx context.Context) (float64, error) {
	reports, err := s.Tiles(ctx)
	sum := 0.0
	for _, r := range reports {
		sum += float64(r.Energy)
	}
	return sum, err
}

// Heights returns the heights of cells, between two steps.
func (s *Sim) Heights(ctx context.Context, cells ...image.Point) ([]float32, error) {
	if len(cells) == 0 {
		return nil, nil
	}
	places, heights := make([]uint32, len(cells)), make([]float32, len(cells))
	for i, c := range cells {
		if !c.In(image.Rect(0, 0, s.options.Width, s.options.Height)) {
			return nil, fmt.Errorf("wave: cell %v is outside of %dx%d cells", c, s.options.Width, s.options.Height)
		}
		places[i] = uint32(s.options.index(c.X, c.Y))
	}
	pending, err := s.submit(ctx, func() job.Job {
		return job.Job{
			Dispatch: job.Dispatch{
				Program: s.programs.read,
				Groups:  [3]uint32{uint32(len(cells)+63) / 64, 1, 1},
				Buffers: []job.Bound{s.memory.fields[s.now].BindReadOnly(0)},
			},
			Inputs:  []job.Input{{Binding: 4, Data: glctx.Bytes(places)}},
			Outputs: []job.Output{{Binding: 7, Dirty: true, To: glctx.Bytes(heights)}},
		}
	})
	if err != nil {
		return nil, err
	}
	if err := pending.Wait(ctx); err != nil {
		return nil, fmt.Errorf("wave: read: %w", err)
	}
	return heights, nil
}

// Field returns the surface, row by row, and its step. It waits for submitted jobs and
// blocks other calls and the GL thread, so it is for frames rather than for every step.
func (s *Sim) Field(ctx context.Context) ([]float32, uint32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, 0, ErrClosed
	}
	blocks := make([]float32, s.options.cells())
	if err := s.memory.fields[s.now].Download(ctx, 0, blocks); err != nil {
		return nil, 0, fmt.Errorf("wave: %w", err)
	}
	return s.options.rows(blocks), s.steps, nil
}

// rows returns the rows of a field in blocks.
func (o Options) rows(blocks []float32) []float32 {
	bw := o.blockW()
	field := make([]float32, o.Width*o.Height)
	for y := range o.Height {
		for x := 0; x < o.Width; x += bw {
			n := min(bw, o.Width-x)
			copy(field[y*o.Width+x:][:n], blocks[o.index(x, y):])
		}
	}
	return field
}

// Tile returns the block of a tile, row by row. Cells outside the grid are 0.
func (s *Sim) Tile(ctx context.Context, x, y int) ([]float32, error) {
	o := s.options
	if x < 0 || y < 0 || x >= o.TilesX || y >= o.TilesY {
		return nil, fmt.Errorf("wave: no tile %d,%d in %dx%d tiles", x, y, o.TilesX, o.TilesY)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	block := make([]float32, o.blockW()*o.blockH())
	if err := s.memory.fields[s.now].Download(ctx, (y*o.TilesX+x)*len(block), block); err != nil {
		return nil, fmt.Errorf("wave: %w", err)
	}
	return block, nil
}
