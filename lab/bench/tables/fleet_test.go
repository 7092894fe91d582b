package tables

import "fmt"

// fleetLog is a log of bench startup --remote.
type fleetLog struct {
	Scenarios map[string]struct {
		Process  float64 `json:"process_ms"`
		Compiles int     `json:"compiles"`
		Outcome  string  `json:"outcome"`
		Waited   float64 `json:"waited_ms"`
	} `json:"scenarios"`
	Fleet struct {
		Latency     float64 `json:"latency_ms"`
		Bandwidth   string  `json:"bandwidth"`
		Budget      float64 `json:"budget_ms"`
		RatioToWarm float64 `json:"ratio_to_warm"`
		Extra       float64 `json:"extra_ms"`
	} `json:"fleet"`
	Origin struct {
		Load float64 `json:"load"`
	} `json:"origin"`
}

func (l *logs) fleets(names ...string) (list []fleetLog) {
	for _, name := range names {
		list = append(list, readLog[fleetLog](l, name))
	}
	return list
}

// fleetTable returns starts from a remote beside a warm and a cold one, from the start of
// the process, in milliseconds.
func fleetTable(list []fleetLog) string {
	t := newTable("link", "budget", "load", "cold", "warm", "from the remote", "to warm", "waited", "outcome", "compiles", "next start", "compiles")
	for _, l := range list {
		s, f := l.Scenarios, l.Fleet
		link := fmt.Sprintf("%g ms", f.Latency)
		if f.Bandwidth != "" {
			link += ", " + f.Bandwidth
		}
		budget := "150 ms"
		if f.Budget > 0 {
			budget = fmt.Sprintf("%g ms", f.Budget)
		}
		far, next := s["remote"], s["remote_next"]
		t.row(link, budget, fmt.Sprintf("%.0f", l.Origin.Load), ms(s["cold"].Process), ms(s["both"].Process), ms(far.Process),
			fmt.Sprintf("%.2f times, %+.0f", f.RatioToWarm, f.Extra), ms(far.Waited), far.Outcome, fmt.Sprint(far.Compiles), ms(next.Process), fmt.Sprint(next.Compiles))
	}
	return t.String()
}
