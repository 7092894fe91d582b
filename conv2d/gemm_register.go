//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/shader"
)

var (
	//go:embed kernels/gemm_register.comp
	gemmRegister string
	//go:embed kernels/gemm_register_even.comp
	gemmRegisterEven string
)

// gemmRegisterAlgorithm is gemm_register.comp: a matrix product for GPUs that are
// the CPU, every sum in the registers and the first-level cache of one thread.
var gemmRegisterAlgorithm = newAlgorithm("gemm_register", gemmRegisterCandidates,
	func(p GEMMProblem, params RegisterParams, on device) (kernel.Sequence, error) {
		return gemmRegisterSequence(p, params, on, gemmRoles)
	}, sumTolerance[GEMMProblem])

func gemmRegisterCandidates(p GEMMProblem, on device) []RegisterParams {
	if !on.software {
		return nil
	}
	tiles := registerTiles([]int{32, 16, 14, 12, 10, 8, 6, 4, 2}, on.simdLanes())
	tiles = slices.DeleteFunc(tiles, func(t registerTile) bool {
		return checkGrids(p, on, gemmRegisterGrid(p, t)) != nil
	})
	return likeliestTiles(tiles, on, func(t registerTile) registerWork { return gemmRegisterWork(p, t) })
}

func gemmRegisterGrid(p GEMMProblem, t registerTile) [3]int {
	return [3]int{ceilDiv(p.N, t.tileN()), ceilDiv(p.M, t.tileM()), orOne(p.Batch)}
}

func gemmRegisterWork(p GEMMProblem, t registerTile) registerWork {
	grid := gemmRegisterGrid(p, t)
	a, b := p.registerOperands(t, gemmRoles)
	return registerWork{
		groups:   grid[0] * grid[1] * grid[2],
		steps:    float64(p.K),
		loads:    float64(t.rows)*loadShare(a.pairs) + float64(t.columns)*loadShare(b.pairs),
		products: float64(t.rows * t.columns),
		stores:   float64(t.rows*t.columns) * loadShare(p.c().pairs()),
		copied:   a.copied() + b.copied(),
	}
}

// pairs reports whether neighbours in a row can be loaded as one double: every
// row has pairs alone and starts at an even element.
func (s stored) pairs() bool {
	return s.columns%2 == 0 && (s.rows == 1 || s.ld%2 == 0) && (s.batch == 1 || s.stride%2 == 0)
}

// productRoles says which buffers a matrix product is about.
type productRoles struct{ a, b, c, bias kernel.Role }

var gemmRoles = productRoles{a: kernel.Input, b: kernel.Weights, c: kernel.Output, bias: kernel.Bias}

// registerOperand is a factor of a product as gemm_register.comp reads it.
type registerOperand struct {
	stored
	role  kernel.Role
	pairs bool

	original *registerOperand // what has to be copied first, nil where nothing has
}

// minReuse is how often each element of an odd matrix must be loaded before it
// pays to make the matrix even first.
const minReuse = 4

// registerOperands are both factors, made even where that pays.
func (p GEMMProblem) registerOperands(t registerTile, roles productRoles) (a, b registerOperand) {
	grid := gemmRegisterGrid(p, t)
	a = registerOperand{stored: p.a(), role: roles.a, pairs: p.a().pairs()}
	b = registerOperand{stored: p.b(), role: roles.b, pairs: p.b().pairs()}
	if p.depth() == 0 {
		return a, b // neither is read
	}
	switch {
	case p.TransA && t.rows%2 != 0: // a turned matrix is loaded two rows at a time
		a.pairs = false
	case !a.pairs && grid[0]*(t.lanes/t.lanesM) >= minReuse:
		a = a.even()
	}
	if !b.pairs && grid[1]*t.lanesM >= minReuse {
		b = b.even()
	}
	return a, b
}

// even is a copy of the operand with rows that start at even elements. That of
// the weights is made once.
func (o registerOperand) even() registerOperand {
	copied := registerOperand{stored: o.stored, role: kernel.Workspace, pairs: true, original: &o}
	if o.role == kernel.Weights {
		copied.role = kernel.Packed
	}
	copied.ld = o.columns + o.columns%2
	if o.stride == 0 {
		copied.original.batch = 1
	} else {
		copied.stride = o.rows * copied.ld
	}
	return copied
}

// copied is the number of elements that a run has to copy first.
func (o registerOperand) copied() int {
	if o.original == nil {
		return 0
	}
	return o.original.batch * o.rows * o.ld
}

// gemmRegisterRecipe is the recipe of a valid matrix product.
func gemmRegisterSequence(p GEMMProblem, params RegisterParams, on device, roles productRoles) (kernel.Sequence, error) {
	var made kernel.Sequence
	t, err := registerTileOf(params, on)
	if err != nil {
		return made, err
	}
	if t.columns%2 != 0 {
		return made, fmt.Errorf("conv2d: a tile with %d columns: a matrix product needs an even number", t.columns)
	}
	grid := gemmRegisterGrid(p, t)
	if err := checkGrids(p, on, grid); err != nil {
		return made, err
	}
	a, b := p.registerOperands(t, roles)
	for _, o := range []registerOperand{a, b} {
		if err := makeEven(&made, o, on); err != nil {
			return made, err
		}
	}
	// A step of the loop takes two elements of K.
	r := reduction{length: p.depth(), step: 2 * (maxLoopIterations - 1)}
	for i := range r.dispatches() {
		part := p.ofDispatch(i, r.dispatches())
		source, err := gemmRegisterSource(part, t, a, b)
		if err != nil {
			return made, err
		}
		made.Steps = append(made.Steps, kernel.Step{
			Source:   source,
			Groups:   grid,
			Uniforms: gemmRegisterUniforms(part, a, b, r.span(i)),
			Bindings: roles.bound(a, b, part.Bias),
		})
	}
	return made, nil
}

// makeEven adds the copying of an operand to the recipe, if it is a copy.
func makeEven(r *kernel.Sequence, o registerOperand, on device) error {
	if o.original == nil {
		return nil
	}
	if o.copied() > maxElements {
		return fmt.Errorf("conv2d: %d rows of %d make more than %d elements: split the problem", o.rows, o.ld, maxElements)
	}
	s, err := evenStep(*o.original, o.role, on)
	if err != nil {
		return err
	}
	if o.role == kernel.Packed {
		r.Prepare, r.PackedLen = append(r.Prepare, s), o.copied()
	} else {
		r.Steps, r.WorkspaceLen = append(r.Steps, s), o.copied()
	}
	return nil
}

// evenStep copies a matrix so that its rows start at even elements.
func evenStep(from registerOperand, to kernel.Role, on device) (kernel.Step, error) {
	grid := planesGrid(ceilDiv(from.columns, 2), from.batch*from.rows, on)
	source, err := shader.NewSource("gemm_register_even", gemmRegisterEven, planesDefines(on))
	return kernel.Step{
		Source: source,
		Groups: grid,
		Uniforms: kernel.Ints{
			{"rows", from.rows}, {"columns", from.columns},
			{"ld", from.ld}, {"stride", from.stride},
			{"allRows", from.batch * from.rows},
		}.Uniforms(),
		Bindings: []kernel.Binding{from.role.At(0), to.At(1)},
	}, err
}

// ofDispatch is the i-th of n dispatches that add up to the product: later ones add to
// what earlier ones left, bias and activation come last.
func (p GEMMProblem) ofDispatch(i, n int) GEMMProblem {
	if i > 0 {
		p.Factors = AlphaBeta(p.alpha(), 1)
	}
	if i < n-1 {
		p.Bias, p.Activation = NoBias, None
	}
	return p
}

func (r productRoles) bound(a, b registerOperand, bias Bias) []kernel.Binding {
	buffers := []kernel.Binding{a.role.At(0), b.role.At(1), r.c.At(2)}
	if bias != NoBias {
		buffers = append(buffers, r.bias.At(3))
	}
	return buffers
}

func gemmRegisterUniforms(p GEMMProblem, a, b registerOperand, s span) []executor.Uniform {
	c := p.c()
	return append(
		kernel.Ints{
			{"M", p.M}, {"N", p.N},
			{"lda", a.ld}, {"ldb", b.ld}, {"ldc", c.ld},
			{"strideA", a.stride}, {"strideB", b.stride}, {"strideC", c.stride},
			{"firstK", s.first}, {"lastK", s.last},
		}.Uniforms(),
		executor.Float("alpha", p.alpha()), executor.Float("beta", p.beta()),
	)
}

func gemmRegisterSource(p GEMMProblem, t registerTile, a, b registerOperand) (*shader.Source, error) {
	d := t.defines()
	d["TRANS_A"] = onOff(p.TransA)
	d["TRANS_B"] = onOff(p.TransB)
	d["PAIRS_A"] = onOff(a.pairs)
	d["PAIRS_B"] = onOff(b.pairs)
	d["PAIRS_C"] = onOff(p.c().pairs())
	d["ODD_K"] = onOff(p.K%2 != 0)
	d["ACCUMULATE"] = onOff(p.beta() != 0)
	d["BIAS"] = strconv.Itoa(int(p.Bias))
	d["ACTIVATION"] = activations[p.Activation].define
	return shader.NewSource(fmt.Sprintf("gemm_register_%dx%d", t.tileM(), t.tileN()), gemmRegister, d)
}
