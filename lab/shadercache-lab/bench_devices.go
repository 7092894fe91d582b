package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/group"
)

const benchDevicesUsage = `Compare several GPUs with the first of them. --device names them: all by
default, and one that is named twice stands for two, with a context each.

Workloads:
  start     processes that load --programs programs, warm: with one GPU, and on
            all at the same time; medians by process
  small     independent jobs of 4 KiB each way, with a kernel of --kernel-us
  large     the same with --large-bytes each way, copied from and to memory of
            the caller; and the same made and read in place
  conv      convolutions of ResNet for --images images, split by images; tensors
            stay on the GPUs. "a share" is what one GPU reaches with its part of
            the images alone
  gemm      a product of square matrices with a side of --matrix, split by rows;
            matrices stay on the GPUs, and from slices, which the host gathers
  wave      a 3-D wave, --side cells cubed, divided into blocks whose faces go
            from GPU to GPU in each step; both forms must agree in every bit
  messages  from a session on the first GPU to one on the second, and back,
            while their kernels run, and with a tick for each; and from actor to
            actor. Also the CPU time of both without a message
  move      a session of integers and one of floats, saved on the first GPU and
            continued on the second, where every bit must be that of the first

One GPU and all are measured in turn, --repeat times; figures are medians. Every
word of some jobs is checked, and of the others one in 64 KiB; of products a
sample of the elements, against the CPU.

The exit code is 1 when a result was wrong.`

func newBenchDevices(o *options) cli.Command {
	b := group.DefaultOptions()
	return cli.Command{
		Use:     "devices [--workloads NAMES] [--seconds S] [--repeat N]",
		Short:   "Compare several GPUs with one",
		Long:    benchDevicesUsage,
		Example: "  shadercache-lab bench devices --device 0,1 --workloads small,conv --json | \\\n    jq '.rows[] | {detail, ratio}'",
		Result:  group.Result{},
		GPUs:    cli.SeveralGPUs,
		Flags:   &b,
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			return runBenchmark(o, cmd, b, group.Run)
		},
	}
}

// newDevicesChild is the command of a process that bench devices starts.
func newDevicesChild(o *options) cli.Command {
	f := struct {
		Programs int  `flag:"programs" help:"number of programs"`
		First    bool `flag:"first" help:"on the first GPU alone"`
	}{Programs: 48}
	return cli.Command{
		Use:     group.ChildCommand + " [flags]",
		Short:   "Run one start of bench devices in this process",
		Hidden:  true,
		Example: "  shadercache-lab bench devices-child --first",
		Flags:   &f, GPUs: cli.SeveralGPUs,
		Run: func(*cobra.Command, []string) (cli.Result, error) {
			row, err := group.RunChild(&o.Options, f.Programs, f.First)
			if err != nil {
				return nil, err
			}
			return nil, json.NewEncoder(o.Stdout).Encode(row)
		},
	}
}
