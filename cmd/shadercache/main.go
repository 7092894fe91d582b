// Command shadercache fills, shows and trims the cache of compiled GPU
// programs, filters pictures with it, and measures what it saves.
package main

import (
	"errors"
	"os"
	"slices"

	"github.com/shadercache/shadercache/internal/cli"
)

func main() { os.Exit(Main()) }

// Main runs the command with os.Args and returns its exit code.
func Main() int {
	out := &cli.Output{Writer: os.Stdout}
	o := &options{cli.Options{Stdout: out, Stderr: os.Stderr}}
	err := newRoot(o).Execute()
	o.EndTrace()
	if err == nil {
		err = out.Err
	}
	if errors.As(err, new(cli.UsageError)) {
		// The flag may stand behind what could not be parsed.
		o.JSON = o.JSON || slices.Contains(os.Args[1:], "--json")
	}
	return o.Report(err)
}
