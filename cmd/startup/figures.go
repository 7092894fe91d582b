package startup

import (
	"slices"
	"strings"

	"github.com/shadercache/shadercache/cmd/bench/stats"
)

// Figures are those of a scenario, in milliseconds. The first three are medians per
// program.
type Figures struct {
	GetMillis           float64 `json:"get_ms"`             // getting the program: load or compile, and prime
	FirstDispatchMillis float64 `json:"first_dispatch_ms"`  // the first dispatch until its result is in host memory
	ToFirstResultMillis float64 `json:"to_first_result_ms"` // both
	TotalMillis         float64 `json:"total_ms"`           // from the first get to the last result
	LeastTotalMillis    float64 `json:"least_total_ms"`
	MostTotalMillis     float64 `json:"most_total_ms"`
	ContextMillis       float64 `json:"context_ms"`   // opening EGL and the context
	ProcessMillis       float64 `json:"process_ms"`   // from the start of the process to all results verified
	Compiles            uint64  `json:"compiles"`     // programs that the driver compiled
	DriverCache         string  `json:"driver_cache"` // its state when the process started
	Verified            bool    `json:"verified"`     // every result is right

	// Of a start from a remote: how it ended, "pulled" for instance, and how long the
	// start waited for it.
	Outcome      string  `json:"outcome,omitempty"`
	WaitedMillis float64 `json:"waited_ms,omitempty"`

	leastCompiles uint64 // of several runs
}

// times returns the times of which several runs have a median.
func (f *Figures) times() []*float64 {
	return []*float64{&f.GetMillis, &f.FirstDispatchMillis, &f.ToFirstResultMillis, &f.TotalMillis,
		&f.ContextMillis, &f.ProcessMillis, &f.WaitedMillis}
}

// medianFigures returns the median of each time, the most compiles, and whether every
// run was verified.
func medianFigures(runs []Figures) Figures {
	first := runs[0]
	m := Figures{DriverCache: first.DriverCache, Verified: true, leastCompiles: first.Compiles,
		LeastTotalMillis: first.TotalMillis, MostTotalMillis: first.TotalMillis}
	for i, median := range m.times() {
		values := make([]float64, len(runs))
		for n := range runs {
			values[n] = *runs[n].times()[i]
		}
		*median = stats.Median(values)
	}
	var outcomes []string
	for _, r := range runs {
		if r.Outcome != "" && !slices.Contains(outcomes, r.Outcome) {
			outcomes = append(outcomes, r.Outcome)
		}
		m.LeastTotalMillis, m.MostTotalMillis = min(m.LeastTotalMillis, r.TotalMillis), max(m.MostTotalMillis, r.TotalMillis)
		m.Compiles, m.leastCompiles = max(m.Compiles, r.Compiles), min(m.leastCompiles, r.Compiles)
		m.Verified = m.Verified && r.Verified
	}
	m.Outcome = strings.Join(outcomes, ", ")
	return m
}

// speedup returns slow / fast, or 0 where a scenario did not run.
func speedup(slow, fast float64) float64 {
	if slow == 0 || fast == 0 {
		return 0
	}
	return slow / fast
}
