//go:build linux

package conv2d

import (
	"fmt"
	"strconv"

	"github.com/shadercache/shadercache/shader"
)

// MicroParams are the parameters of gemm_register and conv2d_register, the CPU
// micro-kernels.
type MicroParams struct {
	Columns int `json:"columns"` // of the sums of an invocation
	LanesM  int `json:"lanes_m"` // lanes of a group along the rows
	Rows    int `json:"rows"`    // of the sums of an invocation
}

// String returns the parameters as text.
func (p MicroParams) String() string { return paramsText(p) }

// microTile is how the CPU micro-kernels divide their work: each invocation has Rows
// x Columns sums, and the lanes of a group stand in LanesM rows.
type microTile struct {
	MicroParams
	lanes int
}

// maxRegisterSide is the most rows or columns of one invocation.
const maxMicroSide = 32

// microTileOf reads a tile from parameters.
func microTileOf(params MicroParams, on device) (microTile, error) {
	t := microTile{params, on.simdLanes()}
	switch {
	case t.Rows < 1 || t.Rows > maxMicroSide || t.Columns < 1 || t.Columns > maxMicroSide:
		return t, fmt.Errorf("conv2d: a tile of %dx%d: both sides must be from 1 to %d", t.Rows, t.Columns, maxMicroSide)
	case t.LanesM < 1 || t.lanes%t.LanesM != 0:
		return t, fmt.Errorf("conv2d: %d rows of lanes do not divide %d lanes", t.LanesM, t.lanes)
	}
	return t, nil
}

// tileM and tileN are the rows and columns of a group.
func (t microTile) tileM() int { return t.Rows * t.LanesM }
func (t microTile) tileN() int { return t.Columns * (t.lanes / t.LanesM) }

func (t microTile) defines() shader.Defines {
	d := paramDefines(t.MicroParams)
	d["LANES"] = strconv.Itoa(t.lanes)
	return d
}

// What llvmpipe needs for eight lanes, in cycles of one CPU: measured, see
// docs/bench/kernels.md. A load is of a float or of a double, a store
// likewise; a product includes its addition.
const (
	loadCycles    = 35
	storeCycles   = 40
	productCycles = 0.9
	groupCycles   = 400
	copyCycles    = 10 // for one element, not eight
)

// microWork is the work of the invocations of a group.
type microWork struct {
	groups   int
	steps    float64 // of the reduction
	loads    float64 // in a step
	products float64 // in a step
	stores   float64
	copied   int // elements that are copied first, by all groups together
}

// cycles estimates how long the CPUs need. Groups are handed out evenly.
func (w microWork) cycles(cpus int) float64 {
	rounds := float64(ceilDiv(w.groups, cpus))
	copies := float64(w.copied) * copyCycles / float64(cpus)
	return copies + rounds*(groupCycles+w.steps*(w.loads*loadCycles+w.products*productCycles)+w.stores*storeCycles)
}

// microCandidates is the number of tiles that are candidates: the estimate is good to
// a few tens of percent.
const microCandidates = 4

// microRows are the candidates for the rows.
var microRows = []int{16, 14, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}

// maxMicroSums is the most sums of one invocation of a candidate. More make a program
// that takes seconds to compile and exceeds the instruction cache.
const maxMicroSums = 256

// likeliestTiles returns the tiles with these columns that have the least work, the best first.
func likeliestTiles(columns []int, on device, fits func(microTile) error, work func(microTile) microWork) []MicroParams {
	var all []timed[MicroParams]
	for _, r := range microRows {
		for _, c := range columns {
			for m := 1; r*c <= maxMicroSums && m <= on.simdLanes(); m *= 2 {
				t := microTile{MicroParams{Rows: r, Columns: c, LanesM: m}, on.simdLanes()}
				if fits(t) == nil {
					all = append(all, timed[MicroParams]{t.MicroParams, work(t).cycles(max(1, on.cpus))})
				}
			}
		}
	}
	best := fastest(all)
	return best[:min(len(best), microCandidates)]
}

// loadShare returns the loads of an element.
func loadShare(pairs bool) float64 {
	if pairs {
		return 0.5
	}
	return 1
}

// planesEach is EACH of the kernels that copy.
const planesEach = 8

// maxPlanesY is the most planes along y before z is used too: within the limits that
// OpenGL guarantees.
const maxPlanesY = 32_768

// planesGrid returns the grid of a kernel that copies planes of pairs pairs.
func planesGrid(pairs, planes int, on device) [3]int {
	return [3]int{ceilDiv(pairs, on.simdLanes()*planesEach), min(planes, maxPlanesY), ceilDiv(planes, maxPlanesY)}
}

func planesDefines(on device) shader.Defines {
	return shader.Defines{"LANES": strconv.Itoa(on.simdLanes()), "EACH": strconv.Itoa(planesEach)}
}
