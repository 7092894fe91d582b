package wave

import (
	"fmt"
	"math"
	"runtime"
	"sync"
)

// Reference is the simulation on the CPU, cell by cell in row order. It agrees with the
// GPU in every bit. It must be used from one goroutine.
type Reference struct {
	options        Options
	u, previous    []float32
	zeroRow        []float32 // a row outside the grid
	damping, pulse []float32
	steps          uint32
}

// NewReference makes a surface at rest. It returns an error for options out of range.
func NewReference(o Options) (*Reference, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Reference{
		options:  o,
		u:        make([]float32, o.Width*o.Height),
		previous: make([]float32, o.Width*o.Height),
		zeroRow:  make([]float32, o.Width),
		damping:  o.damping(),
		pulse:    pulse(),
	}, nil
}

// Step does n steps, on several cores for large grids.
func (r *Reference) Step(n int) {
	for range n {
		r.inBands(func(first, end int) {
			for y := first; y < end; y++ {
				r.row(y)
			}
		})
		r.u, r.previous = r.previous, r.u
		r.steps++
	}
}

// bandCells is the smallest number of cells of a band: starting a goroutine costs as much
// as some thousand cells.
const bandCells = 1 << 14

// inBands calls fn for all rows, concurrently for bands of them.
func (r *Reference) inBands(fn func(first, end int)) {
	h := r.options.Height
	bands := min(runtime.GOMAXPROCS(0), h*r.options.Width/bandCells, h)
	if bands < 2 {
		fn(0, h)
		return
	}
	var group sync.WaitGroup
	for band := range bands {
		group.Go(func() { fn(band*h/bands, (band+1)*h/bands) })
	}
	group.Wait()
}

// row writes a row of the next step over the previous one. The conversions to float32
// prevent the compiler from fusing operations.
func (r *Reference) row(y int) {
	w, c2 := r.options.Width, r.options.courant2()
	now, next := r.u[y*w:][:w], r.previous[y*w:][:w]
	north, south := r.zeroRow[:w], r.zeroRow[:w]
	if y > 0 {
		north = r.u[(y-1)*w:][:w]
	}
	if y+1 < r.options.Height {
		south = r.u[(y+1)*w:][:w]
	}
	west, u := float32(0), now[0]
	for x := range now {
		east := float32(0)
		if x+1 < w {
			east = now[x+1]
		}
		lap := float32(float32(north[x]+south[x])+float32(west+east)) - float32(4*u)
		a, b := r.dampingAt(x, y)
		v := float32(a*float32(float32(2*u)+float32(c2*lap))) - float32(b*next[x])
		if v > -tiny && v < tiny {
			v = 0
		}
		next[x] = v
		west, u = u, east
	}
}

// tiny is the bound below which numbers become 0: see the package documentation.
const tiny = 1e-25

func (r *Reference) laplacian(of []float32, x, y int) float32 {
	w, h := r.options.Width, r.options.Height
	var north, south, west, east float32
	i := y*w + x
	if y > 0 {
		north = of[i-w]
	}
	if y+1 < h {
		south = of[i+w]
	}
	if x > 0 {
		west = of[i-1]
	}
	if x+1 < w {
		east = of[i+1]
	}
	return float32(float32(north+south)+float32(west+east)) - float32(4*of[i])
}

func (r *Reference) dampingAt(x, y int) (a, b float32) {
	if len(r.damping) == 2 {
		return 1, 1
	}
	d := min(x, y, r.options.Width-1-x, r.options.Height-1-y, len(r.damping)/2-1)
	return r.damping[2*d], r.damping[2*d+1]
}

// Excite applies impulses as [Sim.Excite] does. It returns an error for an impulse outside
// the grid or of invalid height.
func (r *Reference) Excite(pokes ...Impulse) error {
	for _, p := range pokes {
		if err := p.check(r.options); err != nil {
			return err
		}
	}
	for _, p := range pokes {
		r.excite(p)
	}
	return nil
}

func (r *Reference) excite(p Impulse) {
	for i, height := range r.pulse {
		x, y := p.X+i%pulseSide-PulseRadius, p.Y+i/pulseSide-PulseRadius
		if x < 0 || y < 0 || x >= r.options.Width || y >= r.options.Height {
			continue
		}
		raise := float32(p.Amplitude * height)
		r.u[y*r.options.Width+x] += raise
		r.previous[y*r.options.Width+x] += raise
	}
}

// Steps returns the number of steps.
func (r *Reference) Steps() uint32 { return r.steps }

// Field returns the surface, row by row, without copying it.
func (r *Reference) Field() []float32 { return r.u }

// Energy returns the energy of the package documentation, summed in float64.
func (r *Reference) Energy() float64 {
	sum, c2 := 0.0, float64(r.options.courant2())
	for i := range r.u {
		u, p := float64(r.u[i]), float64(r.previous[i])
		lap := float64(r.laplacian(r.previous, i%r.options.Width, i/r.options.Width))
		sum += (u-p)*(u-p)/2 - c2*u*lap/2
	}
	return sum
}

// Compare compares every cell, bit by bit except for the sign of 0. It returns
// ErrDiffers, wrapped, with the first cell that differs and the number of them.
func (r *Reference) Compare(field []float32) error {
	if len(field) != len(r.u) {
		return fmt.Errorf("%w: %d cells, not %d", ErrDiffers, len(field), len(r.u))
	}
	wrong, first := 0, 0
	for i, v := range field {
		if v != r.u[i] { // NaN differs from everything
			if wrong == 0 {
				first = i
			}
			wrong++
		}
	}
	if wrong == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d cells after step %d; the first is %d,%d: %v (%#x), should be %v (%#x)", ErrDiffers, wrong, len(field), r.steps,
		first%r.options.Width, first/r.options.Width, field[first], math.Float32bits(field[first]), r.u[first], math.Float32bits(r.u[first]))
}
