package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// tunedRow is a problem with the tuner's time, the benchmark's and the peer's.
type tunedRow struct {
	kernelRow
	by          string
	tunerMillis float64
	tflops      float64
	err         float64
}

// tunerRatio compares the fastest that the tuner saw with the peer.
func (r tunedRow) tunerRatio() float64 { return r.PeerMillis / r.tunerMillis }

// tuned joins what a benchmark and a tuner measured.
func tuned(l *logs, bench, tuner string) []tunedRow {
	var rows []tunedRow
	found := readLog[tuneLog](l, tuner)
	for _, r := range l.kernels(bench).Rows {
		row := tunedRow{kernelRow: r}
		for _, p := range found.Problems {
			if p.Problem == r.Shape {
				best := p.Best
				row.by = shortName(best.Choice.Algorithm, best.Choice.Params)
				row.tunerMillis, row.tflops, row.err = best.Nanos/1e6, best.GFLOPS/1e3, best.MaxError
			}
		}
		if row.by == "" {
			l.err = fmt.Errorf("%s has no %s", tuner, r.Shape)
		}
		rows = append(rows, row)
	}
	return rows
}

func tunedTable(l *logs, what, bench, tuner string) string {
	rows := tuned(l, bench, tuner)
	if len(rows) == 0 {
		return ""
	}
	peer := rows[0].Peer + ", us"
	t := newTable(what, "by", "tuner, us", "TFLOP/s", "error", peer, "ratio", "bench, us", "ratio")
	for _, r := range rows {
		t.row(r.name(), r.by, fmt.Sprintf("%.1f", 1e3*r.tunerMillis), fmt.Sprintf("%.1f", r.tflops), fmt.Sprintf("%.0e", r.err),
			fmt.Sprintf("%.1f", 1e3*r.PeerMillis), fmt.Sprintf("**%.2f**", r.tunerRatio()),
			fmt.Sprintf("%.1f", 1e3*r.Millis), fmt.Sprintf("%.2f", r.Ratio))
	}
	return t.String()
}

// shippedTable is what was measured without a search, in milliseconds.
func shippedTable(all ...kernelsLog) string {
	t := newTable("problem", "by", "ms", "GFLOP/s", "error", "gonum, ms", "ratio")
	for _, l := range all {
		for _, r := range l.Rows {
			t.row(r.name(), strings.Replace(r.Algorithm, "_register", "", 1), fmt.Sprintf("%.2f", r.Millis), fmt.Sprintf("%.1f", 1e3*r.TFLOPS),
				fmt.Sprintf("%.0e", r.Error), fmt.Sprintf("%.2f", r.PeerMillis), fmt.Sprintf("**%.2f**", r.Ratio))
		}
	}
	return t.String()
}

// shortName is an algorithm with the parameters that say most: the sizes of its
// blocks, and into how many parts sums are cut.
func shortName(algorithm string, params map[string]int) string {
	name := algorithm
	var sizes []string
	for _, side := range []string{"bm", "bn", "bk"} {
		if n, ok := params[side]; ok {
			sizes = append(sizes, strconv.Itoa(n))
		}
	}
	if len(sizes) > 0 {
		name += " " + strings.Join(sizes, "x")
	}
	if n := params["slices"]; n > 1 {
		name += fmt.Sprintf(", %d slices", n)
	}
	if n := params["split"]; n > 1 {
		name += fmt.Sprintf(", split %d", n)
		if params["fused"] > 0 {
			name += " fused"
		}
	}
	for _, side := range []string{"a", "b"} {
		if params["pack_"+side] > 0 {
			name += ", " + strings.ToUpper(side) + " packed"
		}
	}
	return name
}

// geomean is the geometric mean, the least and the most.
func geomean(values []float64) (mean, least, most float64) {
	logs := 0.0
	least, most = math.Inf(1), 0
	for _, v := range values {
		logs += math.Log(v)
		least, most = min(least, v), max(most, v)
	}
	return math.Exp(logs / float64(len(values))), least, most
}
