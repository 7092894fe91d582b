package tables

import (
	"cmp"
	"fmt"
)

// togetherLog is a log of bench together.
type togetherLog struct {
	Programs int `json:"programs"`
	Repeat   int `json:"repeat"`
	Origin   struct {
		CPUs int     `json:"cpus"`
		Load float64 `json:"load"`
	} `json:"origin"`
	Rows []struct {
		Workload  string  `json:"workload"`
		Processes int     `json:"processes"`
		Remote    string  `json:"remote"`
		Latency   float64 `json:"latency_ms"`
		First     float64 `json:"first_ms"`
		Median    float64 `json:"median_ms"`
		Slowest   float64 `json:"slowest_ms"`
		Beside    float64 `json:"beside_ms"`
		Ratio     float64 `json:"ratio"`
		Starts    int     `json:"starts"`
		Missed    int     `json:"missed"`
	} `json:"rows"`
}

// atOnceTable has the rows of bench together in logs with some names, of all machines.
func atOnceTable(l *logs, names ...string) string {
	t := newTable("start", "programs", "at once", "first", "median", "slowest", "compared with", "ratio", "missed")
	besides := map[string]string{"warm": "a directory each", "cold": "one alone", "failures": "`--no-isolate`", "machines": "their median"}
	for _, name := range names {
		for _, m := range l.has(name) {
			log := readLog[togetherLog](l, m.folder+"/"+name)
			for _, r := range log.Rows {
				what := m.name + ", " + r.Workload
				if r.Remote != "" {
					what += fmt.Sprintf(", %s, %g ms", schemeOf(r.Remote), r.Latency)
				}
				t.row(what, fmt.Sprint(log.Programs), fmt.Sprint(r.Processes), ms(r.First), ms(r.Median), ms(r.Slowest),
					ms(r.Beside)+", "+besides[r.Workload], fmt.Sprintf("%.2f", r.Ratio), fmt.Sprintf("%d of %d", r.Missed, r.Starts))
			}
		}
	}
	return t.String()
}

// schemeOf returns the kind of a remote of bench together.
func schemeOf(remote string) string {
	return cmp.Or(map[string]string{"file": "`file:`", "loopback": "`http:`"}[remote], "`oci:`")
}
