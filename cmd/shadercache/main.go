// Command shadercache fills, shows and trims the cache of compiled GPU
// programs, filters pictures with it, and measures what it saves.
package main

import (
	"os"

	"github.com/shadercache/shadercache/internal/cli"
)

func main() { os.Exit(Main()) }

// Main runs the command with os.Args and returns its exit code.
func Main() int {
	out := &cli.Output{Writer: os.Stdout}
	o := &options{cli.Options{Stdout: out, Stderr: os.Stderr}}
	err := newRoot(o).Execute()
	if err == nil {
		err = out.Err
	}
	return cli.Report(o.Stderr, err)
}
