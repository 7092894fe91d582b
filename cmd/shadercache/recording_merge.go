package main

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/recording"
)

const recordingMergeUsage = `Add the programs and logs of recordings to another, which is made where it is
missing: of several machines, or of several runs. A program that both have is
there once. Programs and logs that are damaged are left out and named, and the
exit code is 1.`

// recordingMerge is what recording merge prints.
type recordingMerge struct {
	Recording string `json:"recording"` // path of the result
	Programs  int    `json:"programs"`  // added
	Present   int    `json:"present"`   // that it had before
	Processes int    `json:"processes"` // added
	Damaged   int    `json:"damaged"`   // left out
	partial
}

func (o *options) recordingMergeCommand() cli.Command {
	return cli.Command{
		Use:     "merge TO FROM ... [flags]",
		Short:   "Add recordings to another",
		Long:    recordingMergeUsage,
		Example: "  shadercache recording merge recordings/app /mnt/node1/app /mnt/node2/app",
		Args:    cli.CountArguments(2, math.MaxInt, "name the recording to add to, and at least one other"),
		Unused:  cli.DirFlags + cli.GPUFlags, Result: recordingMerge{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) {
			return o.mergeRecordings(args[0], args[1:])
		},
	}
}

func (o *options) mergeRecordings(path string, others []string) (*recordingMerge, error) {
	list, err := openRecordings(others)
	if err != nil {
		return nil, err
	}
	to, err := recording.Create(path)
	if err != nil {
		return nil, err
	}
	r := &recordingMerge{Recording: path}
	var damaged []error
	for _, from := range list {
		bar := o.NewBar("merging " + from.Path())
		m, err := to.Merge(from, func(done, total int) { bar.Set(int64(done), int64(total)) })
		bar.Finish()
		if err != nil {
			return nil, err
		}
		r.Programs += m.Programs
		r.Present += m.Present
		r.Processes += m.Processes
		damaged = append(damaged, m.Damaged...)
	}
	r.Damaged, r.failed = len(damaged), cli.Several(damaged)
	return r, nil
}

func (r *recordingMerge) Print(w io.Writer) {
	fmt.Fprintf(w, "%s and %s are new in %s, %d there before, %d damaged\n", cli.Plural(r.Programs, "program"),
		cli.Plural(r.Processes, "process"), r.Recording, r.Present, r.Damaged)
}
