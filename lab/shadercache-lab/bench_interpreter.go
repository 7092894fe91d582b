package main

import (
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/workloads"
)

const benchInterpreterUsage = `Measure how fast machines of the interpreter run, in every form of dispatch.

Programs that never end: tight counts in a register, store also writes the count
to memory, and vector has four instructions on vectors in a loop of six. Each
runs on one machine and on many side by side.

Workloads:
  forms    tight and store; standard, continuous, mega and chained, all with the
           same shader
  builds   tight, as mega: registers in an array instead of shared memory,
           64-bit integers of the driver, and the next instruction fetched while
           one is executed
  vectors  tight and vector, as mega: a machine on an invocation, which does the
           elements of a vector one by one, and on a group, which shares them
  lengths  tight on one machine: 10, 50 and 100 million instructions in batches
           of 10 million, or --cycles; standard, continuous and mega. Not by
           default: a GPU takes minutes

After each run every machine's registers, flags, counts and vectors are compared
with the CPU's.

Each row is the best of --repeat runs. instructions_per_second is of all
machines together.

The exit code is 1 when the state of a machine differs from the CPU's.`

func newBenchInterpreter(o *options) cli.Command {
	b := workloads.InterpreterOptions{Repeat: 2}
	return cli.Command{
		Use:     "interpreter [--workloads NAMES] [--machines N] [--cycles N] [--batch N] [--repeat N]",
		Short:   "Measure machines that run on the GPU",
		Long:    benchInterpreterUsage,
		Example: "  shadercache-lab bench interpreter --cycles 10000000 --batch 1000000 --json",
		Result:  workloads.InterpreterResult{},
		Flags:   &b,
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			return runBenchmark(o, cmd, b, workloads.RunInterpreter)
		},
	}
}
