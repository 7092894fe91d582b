//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

var (
	//go:embed testdata/floors/empty.comp
	floorEmpty string
	//go:embed testdata/floors/read.comp
	floorRead string
	//go:embed testdata/floors/write.comp
	floorWrite string
	//go:embed testdata/floors/multiply.comp
	floorMultiply string
)

const (
	floorGroups      = 4 * blockGroups // of 256 invocations, as many as fill a large GPU
	floorInvocations = 256
	floorProducts    = 128 // of an invocation of multiply.comp in a step
)

// floors returns what bounds the first choice of a problem from below, to be timed beside
// it: dispatches that do nothing, as many and as large as its own; reading input and
// weights once; writing the output once; its multiply-adds in registers; and of several
// dispatches the first.
func (p *turns) floors(b *testing.B) []*timedChoice {
	first := p.entries[0].sequence
	empty := kernel.Sequence{}
	for _, s := range first.Steps {
		handle, err := p.rig.cache.Get(b.Context(), s.Source)
		if err != nil {
			b.Fatal(err)
		}
		size := handle.WorkGroup()
		handle.Release()
		local := func(axis int) string { return strconv.Itoa(int(size[axis])) }
		empty.Steps = append(empty.Steps, kernel.Step{
			Source: shader.MustSource("floor_empty", floorEmpty, shader.Defines{"LOCAL_X": local(0), "LOCAL_Y": local(1), "LOCAL_Z": local(2)}),
			Groups: s.Groups,
		})
	}
	list := []*timedChoice{
		{floor: fmt.Sprintf("%d empty dispatches of as many groups", len(empty.Steps)), sequence: empty},
		{floor: "reading input and weights", sequence: floorStep("floor_read", floorRead, p.input+p.weights, kernel.Ints{{"firstVectors", p.input / 4}, {"secondVectors", p.weights / 4}}.Uniforms())},
		{floor: "writing the output", sequence: floorStep("floor_write", floorWrite, p.output, kernel.Ints{{"vectors", p.output / 4}}.Uniforms())},
		p.floorProducts(),
	}
	if len(first.Steps) > 1 {
		list = append(list, &timedChoice{
			floor:    "the first dispatch alone, " + first.Steps[0].Source.Name(),
			sequence: kernel.Sequence{Steps: first.Steps[:1], WorkspaceLen: first.WorkspaceLen},
		})
	}
	if p.entries[0].choice.Algorithm == gemmBlockAlgorithm.name {
		list = append(list, &timedChoice{floor: "all of it but loads after the first step", sequence: withoutLoads(first)})
	}
	return list
}

// withoutLoads returns gemm_block with steps that compute what the first one loaded.
func withoutLoads(s kernel.Sequence) kernel.Sequence {
	s.Steps = slices.Clone(s.Steps)
	for i, step := range s.Steps {
		text := step.Source.Text()
		for _, load := range []string{"fetch(step + BK);", "fetch(step + 2 * BK);"} {
			text = strings.ReplaceAll(text, load, "")
		}
		s.Steps[i].Source = shader.MustSource("floor_"+step.Source.Name(), text, nil)
	}
	return s
}

// floorProducts is the multiply-adds of the problem, rounded up to whole steps of all
// groups.
func (p *turns) floorProducts() *timedChoice {
	groups := int(min(floorGroups, max(1, p.flops/2/(floorInvocations*floorProducts))))
	steps := int(max(1, p.flops/2/int64(groups*floorInvocations*floorProducts)))
	uniforms := append(kernel.Ints{{"steps", steps}}.Uniforms(), job.Float("factor", 0.5))
	made := floorStep("floor_multiply", floorMultiply, 4*floorInvocations*groups, uniforms)
	return &timedChoice{
		floor:    fmt.Sprintf("%.3f of its multiply-adds in registers", float64(2*groups*steps*floorInvocations*floorProducts)/float64(p.flops)),
		sequence: made,
	}
}

// floorStep is one dispatch over elements, of at most floorGroups groups.
func floorStep(name, text string, elements int, uniforms []job.Uniform) kernel.Sequence {
	return kernel.Sequence{Steps: []kernel.Step{{
		Source:   shader.MustSource(name, text, nil),
		Groups:   [3]int{min(floorGroups, ceilDiv(elements, 4*floorInvocations)), 1, 1},
		Uniforms: uniforms,
		Bindings: []kernel.Binding{kernel.Input.At(0), kernel.Weights.At(1), kernel.Output.At(2)},
	}}}
}
