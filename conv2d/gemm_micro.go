//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"
	"strconv"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

var (
	//go:embed kernels/gemm_micro.comp
	gemmMicro string
	//go:embed kernels/gemm_micro_even.comp
	gemmMicroEven string
)

// gemmMicroAlgorithm is gemm_micro.comp, a CPU micro-kernel: a matrix product for
// GPUs that are the CPU, with every sum in the registers and the first-level cache of
// one thread.
var gemmMicroAlgorithm = newAlgorithm("gemm_register", gemmMicroCandidates,
	func(p GEMMProblem, params MicroParams, on device) (kernel.Sequence, error) {
		return gemmMicroSequence(p, params, on, gemmRoles)
	}, sumTolerance[GEMMProblem])

func gemmMicroCandidates(p GEMMProblem, on device) []MicroParams {
	if !on.software {
		return nil
	}
	fits := func(t microTile) error { return checkGrids(p, on, gemmMicroGrid(p, t)) }
	work := func(t microTile) microWork { return gemmMicroWork(p, t) }
	return likeliestTiles([]int{32, 16, 14, 12, 10, 8, 6, 4, 2}, on, fits, work)
}

func gemmMicroGrid(p GEMMProblem, t microTile) [3]int {
	return [3]int{ceilDiv(p.N, t.tileN()), ceilDiv(p.M, t.tileM()), orOne(p.Batch)}
}

func gemmMicroWork(p GEMMProblem, t microTile) microWork {
	grid := gemmMicroGrid(p, t)
	a, b := p.microOperands(t, gemmRoles)
	return microWork{
		groups:   grid[0] * grid[1] * grid[2],
		steps:    float64(p.K),
		loads:    float64(t.Rows)*loadShare(a.pairs) + float64(t.Columns)*loadShare(b.pairs),
		products: float64(t.Rows * t.Columns),
		stores:   float64(t.Rows*t.Columns) * loadShare(p.c().pairs()),
		copied:   a.copied() + b.copied(),
	}
}

// pairs reports whether neighbours in a row can be loaded as one double: every row
// consists of pairs and starts at an even element.
func (s stored) pairs() bool {
	return s.columns%2 == 0 && (s.rows == 1 || s.ld%2 == 0) && (s.batch == 1 || s.stride%2 == 0)
}

// productRoles are the buffers of a matrix product.
type productRoles struct{ a, b, c, bias kernel.Role }

var gemmRoles = productRoles{a: kernel.Input, b: kernel.Weights, c: kernel.Output, bias: kernel.Bias}

// microOperand is a factor of a product as gemm_micro.comp reads it.
type microOperand struct {
	stored
	role  kernel.Role
	pairs bool

	original *microOperand // what has to be copied first, nil where nothing has
}

// minReuse is how often each element of an odd matrix must be loaded for a copy with
// even rows to be faster.
const minReuse = 4

// microOperands returns both factors, copied to even rows where that is faster.
func (p GEMMProblem) microOperands(t microTile, roles productRoles) (a, b microOperand) {
	grid := gemmMicroGrid(p, t)
	a = microOperand{stored: p.a(), role: roles.a, pairs: p.a().pairs()}
	b = microOperand{stored: p.b(), role: roles.b, pairs: p.b().pairs()}
	if p.depth() == 0 {
		return a, b // neither is read
	}
	switch {
	case p.TransA && t.Rows%2 != 0: // a turned matrix is loaded two rows at a time
		a.pairs = false
	case !a.pairs && grid[0]*(t.lanes/t.LanesM) >= minReuse:
		a = a.even()
	}
	if !b.pairs && grid[1]*t.LanesM >= minReuse {
		b = b.even()
	}
	return a, b
}

// even returns a copy of the operand with rows that start at even elements. The
// weights are copied once.
func (o microOperand) even() microOperand {
	copied := microOperand{stored: o.stored, role: kernel.Workspace, pairs: true, original: &o}
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
func (o microOperand) copied() int {
	if o.original == nil {
		return 0
	}
	return o.original.batch * o.rows * o.ld
}

// gemmMicroSequence returns the dispatches of a valid matrix product.
func gemmMicroSequence(p GEMMProblem, params MicroParams, on device, roles productRoles) (kernel.Sequence, error) {
	var made kernel.Sequence
	t, err := microTileOf(params, on)
	if err != nil {
		return made, err
	}
	if t.Columns%2 != 0 {
		return made, fmt.Errorf("conv2d: a tile with %d columns: a matrix product needs an even number", t.Columns)
	}
	grid := gemmMicroGrid(p, t)
	a, b := p.microOperands(t, roles)
	for _, o := range []microOperand{a, b} {
		if err := makeEven(&made, o, on); err != nil {
			return made, err
		}
	}
	// A step of the loop takes two elements of K.
	sum := reduction{length: p.depth(), step: 2 * (maxLoopIterations - 1)}
	if err := sum.check(1); err != nil {
		return made, err
	}
	spans := sum.spans()
	for i, s := range spans {
		part := p.ofDispatch(i, len(spans))
		made.Steps = append(made.Steps, kernel.Step{
			Source:   gemmMicroSource(part, t, a, b),
			Groups:   grid,
			Uniforms: gemmMicroUniforms(part, a, b, s),
			Bindings: roles.bound(a, b, part.Bias),
		})
	}
	return made, nil
}

// makeEven adds the copy of an operand to the sequence, if it has one.
func makeEven(r *kernel.Sequence, o microOperand, on device) error {
	if o.original == nil {
		return nil
	}
	if o.copied() > maxElements {
		return fmt.Errorf("conv2d: %d rows of %d make more than %d elements: split the problem", o.rows, o.ld, maxElements)
	}
	s := evenStep(*o.original, o.role, on)
	if o.role == kernel.Packed {
		r.Prepare, r.PackedLen = append(r.Prepare, s), o.copied()
	} else {
		r.Steps, r.WorkspaceLen = append(r.Steps, s), o.copied()
	}
	return nil
}

// evenStep copies a matrix so that its rows start at even elements.
func evenStep(from microOperand, to kernel.Role, on device) kernel.Step {
	return kernel.Step{
		Source: shader.MustSource("gemm_register_even", gemmMicroEven, planesDefines(on)),
		Groups: planesGrid(ceilDiv(from.columns, 2), from.batch*from.rows, on),
		Uniforms: kernel.Ints{
			{"rows", from.rows}, {"columns", from.columns},
			{"ld", from.ld}, {"stride", from.stride},
			{"allRows", from.batch * from.rows},
		}.Uniforms(),
		Bindings: []kernel.Binding{from.role.At(0), to.At(1)},
	}
}

// ofDispatch returns the i-th of n dispatches that add up to the product: later ones
// add to C, and only the last has bias and activation.
func (p GEMMProblem) ofDispatch(i, n int) GEMMProblem {
	if i > 0 {
		p.Factors = AlphaBeta(p.alpha(), 1)
	}
	if i < n-1 {
		p.Bias, p.Activation = NoBias, None
	}
	return p
}

func (r productRoles) bound(a, b microOperand, bias Bias) []kernel.Binding {
	buffers := []kernel.Binding{a.role.At(0), b.role.At(1), r.c.At(2)}
	if bias != NoBias {
		buffers = append(buffers, r.bias.At(3))
	}
	return buffers
}

func gemmMicroUniforms(p GEMMProblem, a, b microOperand, s span) []job.Uniform {
	c := p.c()
	return append(
		kernel.Ints{
			{"M", p.M}, {"N", p.N},
			{"lda", a.ld}, {"ldb", b.ld}, {"ldc", c.ld},
			{"strideA", a.stride}, {"strideB", b.stride}, {"strideC", c.stride},
			{"firstK", s.first}, {"lastK", s.last},
		}.Uniforms(),
		job.Float("alpha", p.alpha()), job.Float("beta", p.beta()),
	)
}

func gemmMicroSource(p GEMMProblem, t microTile, a, b microOperand) *shader.Source {
	d := t.defines()
	d["TRANS_A"] = onOff(p.TransA)
	d["TRANS_B"] = onOff(p.TransB)
	d["PAIRS_A"] = onOff(a.pairs)
	d["PAIRS_B"] = onOff(b.pairs)
	d["PAIRS_C"] = onOff(p.c().pairs())
	d["ODD_K"] = onOff(p.K%2 != 0)
	d["ACCUMULATE"] = onOff(p.beta() != 0)
	d["BIAS"] = strconv.Itoa(int(p.Bias))
	d["ACTIVATION"] = p.Activation.define()
	return shader.MustSource(fmt.Sprintf("gemm_register_%dx%d", t.tileM(), t.tileN()), gemmMicro, d)
}
