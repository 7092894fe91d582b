package tables

import (
	"fmt"
	"strconv"
	"strings"
)

// peakTFLOPS is that of fp32 on an H100 or H200 at 1980 MHz: 132 processors, each with 128
// multiply-adds in a cycle.
const peakTFLOPS = 132 * 128 * 2 * 1.98e-3

// peerTable returns the rows of a benchmark beside its peer, in microseconds, and for products
// what they reach of the peak.
func peerTable(what string, l kernelsLog) string {
	if len(l.Rows) == 0 {
		return ""
	}
	columns := []string{what, "by", "us", "TFLOP/s", "error", l.Rows[0].Peer + ", us", "ratio"}
	products := l.Rows[0].Peer == "cuBLAS"
	if products {
		columns = append(columns, "of the peak")
	}
	t := newTable(columns...)
	for _, r := range l.Rows {
		cells := []string{r.name(), r.by(), fmt.Sprintf("%.1f", 1e3*r.Millis), fmt.Sprintf("%.1f", r.TFLOPS), fmt.Sprintf("%.0e", r.Error),
			fmt.Sprintf("%.1f", 1e3*r.PeerMillis), fmt.Sprintf("**%.2f**", r.Ratio)}
		if products {
			cells = append(cells, fmt.Sprintf("%.2f", r.TFLOPS/peakTFLOPS))
		}
		t.row(cells...)
	}
	return t.String()
}

// by returns the algorithm with its most important parameters: see shortName.
func (r kernelRow) by() string {
	algorithm, rest, _ := strings.Cut(r.Algorithm, " ")
	params := map[string]int{}
	for _, field := range strings.Fields(rest) {
		name, value, _ := strings.Cut(field, "=")
		params[name], _ = strconv.Atoi(value)
	}
	return shortName(algorithm, params)
}

// shortName returns an algorithm with its most important parameters: the sizes of its
// blocks, the number of parts of a sum, and what is packed.
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
