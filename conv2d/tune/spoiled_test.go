//go:build linux

package tune

import (
	"flag"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random inputs; 0 takes a new one")

// newSeed returns a seed and logs it, so that a failure can be repeated.
func newSeed(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("inputs are those of -seed %d", seed)
	return seed
}

// sampleConv and sampleShapes have one of everything.
var (
	sampleConv   = conv2d.Problem{N: 1, C: 3, H: 12, W: 14, K: 5, R: 3, S: 3, PadH: 1, PadW: 1}
	sampleShapes = []conv2d.Shape{
		sampleConv.Shape(),
		conv2d.Problem{N: 2, C: 4, H: 11, W: 9, K: 8, R: 2, S: 3, StrideH: 2, StrideW: 1, Groups: 2, Bias: true, Activation: conv2d.ReLU}.Shape(),
		conv2d.Problem{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1}.Shape(),
		conv2d.GEMMProblem{M: 17, N: 33, K: 9}.Shape(),
		conv2d.GEMMProblem{M: 16, N: 20, K: 24, TransA: true, TransB: true, Factors: conv2d.AlphaBeta(0.5, 0), Bias: conv2d.ColumnBias, Activation: conv2d.SiLU}.Shape(),
		conv2d.GEMMProblem{M: 8, N: 7, K: 6, Factors: conv2d.AlphaBeta(1, 2), LDC: 9, Batch: 2, StrideA: 48, StrideB: 0, StrideC: 80, Bias: conv2d.RowBias}.Shape(),
		conv2d.GEMMProblem{M: 1, N: 1, K: 1}.Shape(),
	}
)

// directChoice is the algorithm direct under a name.
func directChoice(name string, local int) conv2d.Choice {
	return conv2d.Choice{Algorithm: name, Params: conv2d.DirectParams{Local: local}}
}

// spoiled is a search space with choices of its own. Those of an algorithm in spoil
// are direct with a changed sequence.
type spoiled struct {
	conv2d.SearchSpace
	choices []conv2d.Choice
	spoil   map[string]func(s *kernel.Sequence)
}

func (s spoiled) Choices() []conv2d.Choice { return s.choices }

func (s spoiled) Build(c conv2d.Choice) (kernel.Sequence, float64, error) {
	spoil, ok := s.spoil[c.Algorithm]
	if !ok {
		return s.SearchSpace.Build(c)
	}
	made, tolerance, err := s.SearchSpace.Build(conv2d.Choice{Algorithm: "direct", Params: c.Params})
	if err != nil {
		return made, 0, err
	}
	spoil(&made)
	return made, tolerance, made.Validate(math.MaxInt64)
}

// searchSpoiled searches among spoiled algorithms, in the order of names, and direct.
func searchSpoiled(
	t *testing.T, c *glctx.Context, s conv2d.Shape, o Options, spoil map[string]func(s *kernel.Sequence), names ...string,
) (Result, error) {
	t.Helper()
	search, err := newSpoiledSearch(c, nil, s, o, spoil, names...)
	if err != nil {
		t.Fatal(err)
	}
	return search.run(t.Context())
}

func newSpoiledSearch(
	c *glctx.Context, programs executor.Programs, s conv2d.Shape, o Options, spoil map[string]func(s *kernel.Sequence), names ...string,
) (*search, error) {
	space, err := conv2d.NewSearchSpace(s, c.Info(), o.restriction())
	if err != nil {
		return nil, err
	}
	b := spoiled{SearchSpace: space, spoil: spoil}
	for _, name := range names {
		b.choices = append(b.choices, directChoice(name, 64))
	}
	search, err := newSearch(c, programs, space, o)
	if err != nil {
		return nil, err
	}
	search.builder = b
	return search, nil
}

// rewritten replaces a piece of the kernel.
func rewritten(old, fresh string) func(s *kernel.Sequence) {
	return func(s *kernel.Sequence) {
		text := strings.Replace(s.Steps[0].Source.Text(), old, fresh, 1)
		for i := range s.Steps {
			s.Steps[i].Source = shader.MustSource("spoiled", text, nil)
		}
	}
}
