//go:build linux

package conv2d

import (
	_ "embed"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/shadercache/shadercache/glctx"
)

// defaults.json has the fastest choices on the GPUs that we have, for plans without a
// search: lists of problems with their choices, by model.
//
//	{"NVIDIA H200": [{"problem": "gemm:1024x1024x1024", "choice": {...}}], "llvmpipe": [...]}
//
//go:embed defaults.json
var defaultsJSON []byte

// tableEntry is one line of the shipped table.
type tableEntry struct {
	Problem string `json:"problem"`
	Choice  Choice `json:"choice"`

	shape Shape
}

// shippedTable returns the table by model. An entry that cannot be read counts as none; a
// test finds such entries.
var shippedTable = sync.OnceValue(func() map[string][]tableEntry {
	table := map[string][]tableEntry{}
	if json.Unmarshal(defaultsJSON, &table) != nil {
		return nil
	}
	for model, entries := range table {
		kept := entries[:0]
		for _, e := range entries {
			var err error
			if e.shape, err = ParseShape(e.Problem); err == nil {
				kept = append(kept, e)
			}
		}
		table[model] = kept
	}
	return table
})

// modelVendor begins the names of the GPUs whose models share their entries.
const modelVendor = "NVIDIA "

// TableModel returns the model under which the shipped table has the choices for a device:
// the name of an NVIDIA GPU, or "llvmpipe"; "" for others.
func TableModel(info glctx.Info) string {
	switch {
	case info.Software():
		return "llvmpipe"
	case strings.HasPrefix(info.GPU, modelVendor):
		model, _, _ := strings.Cut(info.GPU, "/")
		return model
	}
	return ""
}

// tableReach is the largest distance of a problem from an entry of the table that
// applies to it, in doublings of sizes: half to twice as large in one of them, less
// in several. Beyond it the algorithms' own estimates are better.
const tableReach = 1.0

// shipped returns the choice of the nearest problem in the table: of the device's model,
// and where that has none in reach, of another one of its vendor.
func shipped(t task, on device) (Choice, bool) {
	table := shippedTable()
	if choice, ok := nearest(t, table[on.model]); ok || !strings.HasPrefix(on.model, modelVendor) {
		return choice, ok
	}
	var others []tableEntry
	for _, model := range slices.Sorted(maps.Keys(table)) {
		if strings.HasPrefix(model, modelVendor) {
			others = append(others, table[model]...)
		}
	}
	return nearest(t, others)
}

// nearest returns the choice of the nearest problem in a list.
func nearest(t task, list []tableEntry) (Choice, bool) {
	best, nearest := Choice{}, math.Inf(1)
	for _, e := range list {
		distance := e.shape.distance(t.shape)
		if distance <= tableReach && distance < nearest && t.takes(e.Choice, e.shape) {
			best, nearest = e.Choice, distance
		}
	}
	return best, nearest <= tableReach
}

// distance returns the difference of two problems: infinity where they differ in more
// than sizes, else the length of the difference of sizes, in doublings. Bias and
// activation do not count.
func (s Shape) distance(other Shape) float64 {
	switch {
	case s.Conv2D != nil && other.Conv2D != nil:
		return s.Conv2D.distance(*other.Conv2D)
	case s.GEMM != nil && other.GEMM != nil:
		return s.GEMM.distance(*other.GEMM)
	}
	return math.Inf(1)
}

func (p Problem) distance(o Problem) float64 {
	p, o = p.canonical(), o.canonical()
	form := func(p Problem) [9]int {
		depthwise := 0
		if p.Groups > 1 && p.groupC() == 1 {
			depthwise = 1
		}
		return [9]int{p.R, p.S, p.StrideH, p.StrideW, p.DilationH, p.DilationW, depthwise, min(p.Groups, 2), p.groupC() % 4}
	}
	if form(p) != form(o) {
		return math.Inf(1)
	}
	return doublings(
		p.N*p.P()*p.Q(), o.N*o.P()*o.Q(),
		p.groupC(), o.groupC(),
		p.groupK(), o.groupK(),
		p.Groups, o.Groups)
}

func (p GEMMProblem) distance(o GEMMProblem) float64 {
	p, o = p.canonical(), o.canonical()
	form := func(p GEMMProblem) [5]bool {
		return [5]bool{p.TransA, p.TransB, p.beta() != 0, p.a().vector() == 1, p.b().vector() == 1}
	}
	if form(p) != form(o) {
		return math.Inf(1)
	}
	return doublings(p.M, o.M, p.N, o.N, p.K, o.K, p.Batch, o.Batch)
}

// doublings returns the length of the difference of pairs of sizes, in powers of two.
func doublings(pairs ...int) float64 {
	sum := 0.0
	for i := 0; i < len(pairs); i += 2 {
		d := math.Log2(float64(pairs[i]) / float64(pairs[i+1]))
		sum += d * d
	}
	return math.Sqrt(sum)
}
