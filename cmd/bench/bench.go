// Package bench holds what results of benchmarks share: their head, the failure of a wrong
// one, and the cache directory of all of them. Statistics are in stats.
package bench

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/shadercache/shadercache/cmd/cli"
)

// Header is where and when a result was measured. Results embed it.
type Header struct {
	GPU         string     `json:"gpu"`                    // its name
	Driver      string     `json:"driver"`                 // its name and build
	DriverCache string     `json:"driver_cache,omitempty"` // its state before the work
	Origin      cli.Origin `json:"origin"`                 // where and when it was measured
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

// Dir returns the cache directory of the benchmarks in the user's.
func Dir(user string) string { return filepath.Join(user, "bench") }
