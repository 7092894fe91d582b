//go:build linux

package conv2d

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/shadercache/shadercache/shader"
)

// RegisterParams are the parameters of gemm_register and conv2d_register.
type RegisterParams struct {
	Columns int `json:"columns"` // of the sums of an invocation
	LanesM  int `json:"lanes_m"` // lanes of a group along the rows
	Rows    int `json:"rows"`    // of the sums of an invocation
}

// String returns the parameters as text.
func (p RegisterParams) String() string { return paramsText(p) }

func (p RegisterParams) named() iter.Seq2[string, int] { return namedFields(p) }

// registerTile is how the CPU micro-kernels divide their work: each invocation has
// rows x columns sums, and lanesM of the lanes of a group stand one above the
// other.
type registerTile struct{ rows, columns, lanesM, lanes int }

// maxRegisterSide is the most rows or columns of one invocation.
const maxRegisterSide = 32

func (t registerTile) params() RegisterParams {
	return RegisterParams{Rows: t.rows, Columns: t.columns, LanesM: t.lanesM}
}

// registerTileOf reads a tile from parameters.
func registerTileOf(params RegisterParams, on device) (registerTile, error) {
	t := registerTile{params.Rows, params.Columns, params.LanesM, on.simdLanes()}
	switch {
	case t.rows < 1 || t.rows > maxRegisterSide || t.columns < 1 || t.columns > maxRegisterSide:
		return t, fmt.Errorf("conv2d: a tile of %dx%d: both sides must be from 1 to %d", t.rows, t.columns, maxRegisterSide)
	case t.lanesM < 1 || t.lanes%t.lanesM != 0:
		return t, fmt.Errorf("conv2d: %d rows of lanes do not divide %d lanes", t.lanesM, t.lanes)
	}
	return t, nil
}

// tileM and tileN are what a group computes.
func (t registerTile) tileM() int { return t.rows * t.lanesM }
func (t registerTile) tileN() int { return t.columns * (t.lanes / t.lanesM) }

func (t registerTile) defines() shader.Defines {
	d := paramDefines(t.params())
	d["LANES"] = strconv.Itoa(t.lanes)
	return d
}

// What llvmpipe needs for eight lanes, in cycles of one CPU: measured, see
// docs/bench/llvmpipe-kernels.md. A load is of a float or of a double, a store
// likewise; a product includes its addition.
const (
	loadCycles    = 35
	storeCycles   = 40
	productCycles = 0.9
	groupCycles   = 400
	copyCycles    = 10 // for one element, not eight
)

// registerWork is what the invocations of a group do.
type registerWork struct {
	groups   int
	steps    float64 // of the reduction
	loads    float64 // in a step
	products float64 // in a step
	stores   float64
	copied   int // elements that are copied first, by all groups together
}

// cycles estimates how long the CPUs need. Groups are handed out evenly.
func (w registerWork) cycles(cpus int) float64 {
	rounds := float64(ceilDiv(w.groups, cpus))
	copies := float64(w.copied) * copyCycles / float64(cpus)
	return copies + rounds*(groupCycles+w.steps*(w.loads*loadCycles+w.products*productCycles)+w.stores*storeCycles)
}

// registerCandidates is how many tiles are worth trying: the estimate is good to
// a few tens of percent.
const registerCandidates = 4

// likeliestTiles are the tiles with the least work, the best first.
func likeliestTiles(tiles []registerTile, on device, work func(registerTile) registerWork) []RegisterParams {
	cycles := map[registerTile]float64{}
	for _, t := range tiles {
		cycles[t] = work(t).cycles(max(1, on.cpus))
	}
	slices.SortStableFunc(tiles, func(a, b registerTile) int { return cmp.Compare(cycles[a], cycles[b]) })
	var params []RegisterParams
	for _, t := range tiles[:min(len(tiles), registerCandidates)] {
		params = append(params, t.params())
	}
	return params
}

// registerRows are the rows worth trying.
var registerRows = []int{16, 14, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}

// maxRegisterSums is the most sums of one invocation worth trying. More make a
// program that takes seconds to compile and leaves the instruction cache.
const maxRegisterSums = 256

// registerTiles are the tiles worth trying with these columns.
func registerTiles(columns []int, lanes int) []registerTile {
	var tiles []registerTile
	for _, r := range registerRows {
		for _, c := range columns {
			for m := 1; r*c <= maxRegisterSums && m <= lanes; m *= 2 {
				tiles = append(tiles, registerTile{r, c, m, lanes})
			}
		}
	}
	return tiles
}

// loadShare is how many loads an element costs.
func loadShare(pairs bool) float64 {
	if pairs {
		return 0.5
	}
	return 1
}

// planesEach is EACH of the kernels that copy.
const planesEach = 8

// maxPlanesY is how many planes stand along y before z is used too: within what
// OpenGL promises.
const maxPlanesY = 32_768

// planesGrid is the grid of a kernel that copies planes of so many pairs.
func planesGrid(pairs, planes int, on device) [3]int {
	return [3]int{ceilDiv(pairs, on.simdLanes()*planesEach), min(planes, maxPlanesY), ceilDiv(planes, maxPlanesY)}
}

func planesDefines(on device) shader.Defines {
	return shader.Defines{"LANES": strconv.Itoa(on.simdLanes()), "EACH": strconv.Itoa(planesEach)}
}
