package tables

import (
	"fmt"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/startup"
)

// startupTable returns the scenarios of bench startup, in milliseconds.
func startupTable(l startupLog) string {
	t := newTable("milliseconds", "get", "first dispatch", "to first result", "48 programs", "context", "process", "compiles", "driver's own cache")
	for _, name := range []string{"cold", "binary_only", "driver_only", "both"} {
		s := l.Scenarios[name]
		t.row(name, ms(s.Get), ms(s.Dispatch), ms(s.FirstResult), ms(s.Total), ms(s.Context), ms(s.Process), fmt.Sprint(s.Compiles), s.DriverCache)
	}
	return t.String()
}

// startupPicture returns the totals, drawn as bench startup draws them.
func startupPicture(l startupLog, log string) string {
	r := startup.Result{Header: bench.Header{GPU: l.GPU, Driver: l.Driver}, Programs: l.Programs, Repeat: l.Repeat, Preload: l.Preload,
		Scenarios: map[string]startup.Figures{}}
	for name, f := range l.Scenarios {
		r.Scenarios[name] = startup.Figures{TotalMillis: f.Total, LeastTotalMillis: f.LeastTotal, MostTotalMillis: f.MostTotal, ContextMillis: f.Context}
	}
	return r.Chart("Figures: docs/logs/" + log).SVG()
}

// ms returns a time in milliseconds with three to four digits.
func ms(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 20:
		return fmt.Sprintf("%.1f", v)
	case v >= 2:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// times returns the speed-up of both layers over another scenario.
func (l startupLog) times(than string) float64 {
	return l.Scenarios[than].Total / l.Scenarios["both"].Total
}
