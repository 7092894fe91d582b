// Command shadercache-lab has the benchmarks of shadercache but that of a start, and the
// demonstrations of kernels that keep running.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	_ "github.com/shadercache/shadercache/cmd/cli/schemes"
)

func main() {
	o := &options{cli.Process()}
	os.Exit(o.Main(newRoot(o)))
}

// options holds the global flags and the streams. Commands are its methods.
type options struct{ cli.Options }

const rootUsage = `shadercache-lab measures what jobs, kernels and sessions take on this machine,
and runs demonstrations of kernels that keep running. What the cache saves is
measured by shadercache bench startup.

The cache, the results, the messages and the exit codes are those of
shadercache: see its help.`

func newRoot(o *options) *cobra.Command {
	return o.NewRoot(&cobra.Command{
		Use:     "shadercache-lab",
		Short:   "Measure jobs, kernels and sessions",
		Long:    rootUsage,
		Example: "  shadercache-lab bench gemm --json",
	}, newBench(o), newRun(o), newCheckpoint(o), newLint(o))
}

func newRun(o *options) cli.Command {
	return cli.Command{
		Use:     "run [flags]",
		Short:   "Run a demonstration on the GPU",
		Long:    "Run a demonstration of kernels that keep running.",
		Example: "  shadercache-lab run wave --out frames --verify",
		Below:   []cli.Command{newRunInterpreter(o), newRunWave(o)},
	}
}
