//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/executor"
)

//go:embed kernels/gemm_register.comp
var gemmRegister string

// gemmRegisterAlgorithm is gemm_register.comp: a matrix product for GPUs that are
// the CPU, every sum in the registers and the first-level cache of one thread.
var gemmRegisterAlgorithm = algorithm[GEMMProblem]{
	name:       "gemm_register",
	candidates: gemmRegisterCandidates,
	recipe: func(p GEMMProblem, params Params, on device) (recipe, error) {
		steps, err := gemmRegisterSteps(p, params, on, gemmRoles)
		return recipe{steps: steps}, err
	},
	tolerance: func(p GEMMProblem) float64 { return Tolerance(p.ReductionLen()) },
}

// registerTile is how the register kernels divide their work: each invocation has
// rows x columns sums, and lanesM of the lanes of a group stand one above the
// other.
type registerTile struct{ rows, columns, lanesM, lanes int }

// maxRegisterSide is the most rows or columns of one invocation. Programs with
// more take seconds to compile and do not fit into the instruction cache.
const maxRegisterSide = 32

// The parameters of a registerTile.
const (
	rowsParam    = "rows"
	columnsParam = "columns"
	lanesMParam  = "lanes_m"
)

func (t registerTile) params() Params {
	return Params{rowsParam: t.rows, columnsParam: t.columns, lanesMParam: t.lanesM}
}

// registerTileOf reads a tile from parameters.
func registerTileOf(params Params, on device) (registerTile, error) {
	t := registerTile{params[rowsParam], params[columnsParam], params[lanesMParam], on.simdLanes()}
	switch {
	case len(params) != 3:
		return t, fmt.Errorf("conv2d: parameters %q are not %s, %s and %s", params, rowsParam, columnsParam, lanesMParam)
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

func (t registerTile) defines() binary.Defines {
	d := t.params().defines()
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
)

// registerWork is what the invocations of a group do.
type registerWork struct {
	groups   int
	steps    float64 // of the reduction
	loads    float64 // in a step
	products float64 // in a step
	stores   float64
}

// cycles estimates how long the CPUs need. Groups are handed out evenly.
func (w registerWork) cycles() float64 {
	rounds := float64(ceilDiv(w.groups, runtime.NumCPU()))
	return rounds * (groupCycles + w.steps*(w.loads*loadCycles+w.products*productCycles) + w.stores*storeCycles)
}

// registerCandidates is how many tiles are worth trying: the estimate is good to
// a few tens of percent.
const registerCandidates = 4

// likeliestTiles are the tiles with the least work, the best first.
func likeliestTiles(tiles []registerTile, work func(registerTile) registerWork) []Params {
	slices.SortStableFunc(tiles, func(a, b registerTile) int {
		return compareFloat(work(a).cycles(), work(b).cycles())
	})
	var params []Params
	for _, t := range tiles[:min(len(tiles), registerCandidates)] {
		params = append(params, t.params())
	}
	return params
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// registerTiles are all tiles with these sides.
func registerTiles(rows, columns []int, lanes int) []registerTile {
	var tiles []registerTile
	for _, r := range rows {
		for _, c := range columns {
			for m := 1; m <= lanes; m *= 2 {
				tiles = append(tiles, registerTile{r, c, m, lanes})
			}
		}
	}
	return tiles
}

func gemmRegisterCandidates(p GEMMProblem, on device) []Params {
	if !on.software {
		return nil
	}
	tiles := registerTiles([]int{16, 8, 4, 2, 1}, []int{16, 8, 4, 2}, on.simdLanes())
	tiles = slices.DeleteFunc(tiles, func(t registerTile) bool {
		return checkGrid(p, gemmRegisterGrid(p, t), on.maxGroups) != nil
	})
	return likeliestTiles(tiles, func(t registerTile) registerWork { return gemmRegisterWork(p, t) })
}

func gemmRegisterGrid(p GEMMProblem, t registerTile) [3]int {
	return [3]int{ceilDiv(p.N, t.tileN()), ceilDiv(p.M, t.tileM()), orOne(p.Batch)}
}

func gemmRegisterWork(p GEMMProblem, t registerTile) registerWork {
	grid := gemmRegisterGrid(p, t)
	return registerWork{
		groups:   grid[0] * grid[1] * grid[2],
		steps:    float64(p.K),
		loads:    float64(t.rows)*loadShare(p.pairsA(t)) + float64(t.columns)*loadShare(p.b().pairs()),
		products: float64(t.rows * t.columns),
		stores:   float64(t.rows*t.columns) * loadShare(p.c().pairs()),
	}
}

// loadShare is how many loads an element costs.
func loadShare(pairs bool) float64 {
	if pairs {
		return 0.5
	}
	return 1
}

// pairs reports whether neighbours in a row can be loaded as one double: every
// row has pairs alone and starts at an even element.
func (s stored) pairs() bool {
	return s.columns%2 == 0 && (s.rows == 1 || s.ld%2 == 0) && (s.batch == 1 || s.stride%2 == 0)
}

// pairsA is pairs of A. A turned matrix is loaded two rows at a time.
func (p GEMMProblem) pairsA(t registerTile) bool {
	return p.a().pairs() && (!p.TransA || t.rows%2 == 0)
}

// productRoles says which buffers a matrix product is about.
type productRoles struct{ a, b, c, bias role }

var gemmRoles = productRoles{a: inputRole, b: weightsRole, c: outputRole, bias: biasRole}

// gemmRegisterSteps are the dispatches of a valid matrix product.
func gemmRegisterSteps(p GEMMProblem, params Params, on device, roles productRoles) ([]step, error) {
	t, err := registerTileOf(params, on)
	if err != nil {
		return nil, err
	}
	grid := gemmRegisterGrid(p, t)
	if err := checkGrid(p, grid, on.maxGroups); err != nil {
		return nil, err
	}
	// A step of the loop takes two elements of K.
	r := reduction{length: p.K, step: 2 * (maxLoopIterations - 1)}
	var steps []step
	for i := range r.dispatches() {
		part := p.part(i, r.dispatches())
		source, err := gemmRegisterSource(part, t)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{
			source:   source,
			groups:   grid,
			uniforms: gemmRegisterUniforms(part, r.span(i)),
			bound:    roles.bound(part.Bias),
		})
	}
	return steps, nil
}

// part is the i-th of n dispatches that add up to the product: later ones add to
// what earlier ones left, bias and activation come last.
func (p GEMMProblem) part(i, n int) GEMMProblem {
	if i > 0 {
		p.Beta = 1
	}
	if i < n-1 {
		p.Bias, p.Activation = NoBias, None
	}
	return p
}

func (r productRoles) bound(bias Bias) []bound {
	b := []bound{{0, r.a}, {1, r.b}, {2, r.c}}
	if bias != NoBias {
		b = append(b, bound{3, r.bias})
	}
	return b
}

func gemmRegisterUniforms(p GEMMProblem, s span) []executor.Uniform {
	a, b, c := p.a(), p.b(), p.c()
	ints := []struct {
		name  string
		value int
	}{
		{"M", p.M}, {"N", p.N},
		{"lda", a.ld}, {"ldb", b.ld}, {"ldc", c.ld},
		{"strideA", a.stride}, {"strideB", b.stride}, {"strideC", c.stride},
		{"firstK", s.first}, {"lastK", s.last},
	}
	uniforms := []executor.Uniform{executor.Float("alpha", p.alpha()), executor.Float("beta", p.Beta)}
	for _, u := range ints {
		uniforms = append(uniforms, executor.Int(u.name, int32(u.value)))
	}
	return uniforms
}

func gemmRegisterSource(p GEMMProblem, t registerTile) (*binary.Source, error) {
	if t.columns%2 != 0 {
		return nil, fmt.Errorf("conv2d: a tile with %d columns: they must be even", t.columns)
	}
	d := t.defines()
	flags := map[string]bool{
		"TRANS_A":    p.TransA,
		"TRANS_B":    p.TransB,
		"PAIRS_A":    p.pairsA(t),
		"PAIRS_B":    p.b().pairs(),
		"PAIRS_C":    p.c().pairs(),
		"ODD_K":      p.K%2 != 0,
		"ACCUMULATE": p.Beta != 0,
	}
	for name, set := range flags {
		d[name] = flagDefine(set)
	}
	d["BIAS"] = strconv.Itoa(int(p.Bias))
	d["ACTIVATION"] = activations[p.Activation].define
	return binary.NewSource(fmt.Sprintf("gemm_register_%dx%d", t.tileM(), t.tileN()), gemmRegister, d)
}

// flagDefine is a condition as a kernel takes it.
func flagDefine(set bool) string {
	if set {
		return "1"
	}
	return "0"
}
