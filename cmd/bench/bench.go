// Package bench holds what the benchmarks below it share: the head of a result, the
// failure of a wrong one, counters of the process, and a kernel that counts its
// dispatches. Statistics are in stats, charts in chart, bars in bars, and tables holds the
// documentation to its logs.
package bench

import (
	"errors"
	"fmt"
	"io"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/shader"
)

// Header is where and when a result was measured. Results embed it.
type Header struct {
	GPU         string     `json:"gpu"`                    // its name
	Driver      string     `json:"driver"`                 // its name and build
	DriverCache string     `json:"driver_cache,omitempty"` // its state before the work
	Origin      cli.Origin `json:"origin"`                 // where and when it was measured
}

// NewHeader returns the header for a GPU.
func NewHeader(g *cli.GPU, origin cli.Origin) Header {
	return Header{GPU: g.Name(), Driver: g.Driver(), Origin: origin}
}

// WithDriverCache returns the header with the state of the driver's own cache as it is
// now.
func (h Header) WithDriverCache(g *cli.GPU) Header {
	h.DriverCache = g.DriverCacheState()
	return h
}

// Print writes the header below a title that ends with the GPU's name.
func (h Header) Print(w io.Writer, title string) {
	fmt.Fprintf(w, "%s\ndriver %s\n", title, h.Driver)
	if h.DriverCache != "" {
		fmt.Fprintf(w, "driver's own cache: %s\n", h.DriverCache)
	}
	fmt.Fprintf(w, "%s\n", h.Origin)
}

// PrintVerified writes the last line of a result: good, or bad in capitals.
func PrintVerified(w io.Writer, verified bool, good, bad string) {
	if verified {
		fmt.Fprintln(w, good)
	} else {
		fmt.Fprintln(w, bad)
	}
}

// Unverified returns the failure of a benchmark whose results were wrong.
func Unverified(what string) error {
	return cli.Hint(errors.New("bench: "+what), "the figures mean nothing; the driver may be broken")
}

// Stalled returns the failure of a soak in which something took far too long.
func Stalled(what string) error {
	return cli.Hint(errors.New("bench: soak: stall: "+what), "repeat it while nothing else runs on the machine: if it stalls again, the driver or this program holds it up")
}

// countText adds STEP to one counter.
const countText = `
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Count { uint count; };
void main() { atomicAdd(count, uint(STEP)); }`

// CountSource returns a program that adds step to the counter at binding 0, the
// shortest dispatch whose execution can be verified.
func CountSource(step int) *shader.Source {
	return shader.MustSource(fmt.Sprintf("bench_count_%d", step), countText, shader.Defines{"STEP": fmt.Sprint(step)})
}
