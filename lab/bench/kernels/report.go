package kernels

import (
	"context"
	"fmt"
	"io"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/lab/bench/peers"
)

// Result is what bench gemm and bench conv2d print.
type Result struct {
	bench.Header
	Timer        string  `json:"timer"`         // the clock of the times: gpu, or wall
	Rows         []Row   `json:"rows"`          // one for each problem
	LeftOut      int     `json:"left_out"`      // shapes too long for a software driver
	GeomeanRatio float64 `json:"geomean_ratio"` // geometric mean of the ratios; 0 without a peer
	WorstRatio   float64 `json:"worst_ratio"`   // the lowest
	WorstShape   string  `json:"worst_shape"`   // whose ratio it is
	Interrupted  bool    `json:"interrupted"`   // ended before all rows
	Verified     bool    `json:"verified"`      // every result equals the CPU's within the tolerance

	peerErr error
}

// Row is one problem.
type Row struct {
	Shape       string  `json:"shape"`                   // as tune and bench read it
	Algorithm   string  `json:"algorithm"`               // with its parameters
	Millis      float64 `json:"ms"`                      // median of batches; 0 where the result is wrong
	LeastMillis float64 `json:"least_ms"`                // shortest batch
	MostMillis  float64 `json:"most_ms"`                 // longest batch
	TFLOPS      float64 `json:"tflops"`                  // from the median
	MaxRelError float64 `json:"max_rel_error"`           // largest error, relative to the sum of magnitudes
	Peer        string  `json:"peer"`                    // its name
	PeerMillis  float64 `json:"peer_ms"`                 // its median
	PeerLeast   float64 `json:"peer_least_ms,omitempty"` // its shortest
	PeerMost    float64 `json:"peer_most_ms,omitempty"`  // its longest
	Ratio       float64 `json:"ratio"`                   // the peer's time / ours

	Basis    conv2d.Basis `json:"basis"`           // why the algorithm was chosen: docs/tuning.md
	Check    string       `json:"check"`           // what was compared with the CPU
	Verified bool         `json:"verified"`        // this row
	Error    string       `json:"error,omitempty"` // why there is no time
}

func (r *Result) shapes() []string {
	var list []string
	for _, row := range r.Rows {
		list = append(list, row.Shape)
	}
	return list
}

// compare puts the peer's times beside ours. A row that is wrong has no ratio.
func (r *Result) compare(times peers.Times) {
	for i := range r.Rows {
		row := &r.Rows[i]
		p, ok := times[row.Shape]
		if !ok || p.Millis <= 0 {
			continue
		}
		row.Peer, row.PeerMillis, row.PeerLeast, row.PeerMost = p.Peer, p.Millis, p.Least, p.Most
		if row.Verified {
			row.Ratio = p.Millis / row.Millis
		}
	}
}

// summarize sets the mean and the worst of the ratios.
func (r *Result) summarize() {
	var ratios []float64
	for _, row := range r.Rows {
		if row.Ratio == 0 {
			continue
		}
		ratios = append(ratios, row.Ratio)
		if r.WorstShape == "" || row.Ratio < r.WorstRatio {
			r.WorstRatio, r.WorstShape = row.Ratio, row.Shape
		}
	}
	r.GeomeanRatio = measure.Geomean(ratios)
}

// Verdict returns an error where a row is wrong, after an interrupt, and where the peer
// failed.
func (r *Result) Verdict() error {
	for _, row := range r.Rows {
		if !row.Verified {
			return cli.Hint(fmt.Errorf("bench: the result of %s is wrong: %s", row.Shape, row.Error), "shadercache tune "+row.Shape+" --again finds what is right")
		}
	}
	if r.Interrupted {
		return context.Canceled
	}
	return r.peerErr
}

// Print writes the result for people.
func (r *Result) Print(w io.Writer) {
	r.Header.Print(w, r.GPU)
	fmt.Fprint(w, "\nshape\tms\tleast\tmost\tTFLOP/s\terror\tpeer\tpeer ms\tratio\tbasis\talgorithm\n")
	for _, row := range r.Rows {
		peer, peerMillis, ratio := "-", "-", "-"
		if row.Peer != "" {
			peer, peerMillis = row.Peer, fmt.Sprintf("%.4f", row.PeerMillis)
		}
		if row.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", row.Ratio)
		}
		ms := fmt.Sprintf("%.4f\t%.4f\t%.4f\t%.3f\t%.1e", row.Millis, row.LeastMillis, row.MostMillis, row.TFLOPS, row.MaxRelError)
		if !row.Verified {
			ms = "wrong\t-\t-\t-\t-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Shape, ms, peer, peerMillis, ratio, row.Basis, row.Algorithm)
	}
	fmt.Fprintln(w)
	if r.GeomeanRatio > 0 {
		fmt.Fprintf(w, "geometric mean of the ratios %.2f, worst %.2f (%s)\n", r.GeomeanRatio, r.WorstRatio, r.WorstShape)
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(w, "%s too long for a software driver left out; name them to run them\n", cli.Plural(r.LeftOut, "shape"))
	}
	if r.Verified && len(r.Rows) > 0 {
		fmt.Fprintf(w, "every result was compared with the CPU's, before and after it was timed;\ntimes are by the %s clock\n", r.Timer)
	}
}
