package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
)

const recordingDiffUsage = `List the programs that a start linked and a recording lacks: what a replay of
the recording could not prepare.

  shadercache exec --record now -- PROGRAM
  shadercache recording diff recordings/app now

Programs that the start did not link are counted. The same text in a context of
another version or other flags is another program.

The exit code is 1 when the recording lacks a program.`

// recordingDiff is what recording diff prints.
type recordingDiff struct {
	Programs []recordedProgram `json:"programs"` // that the recording lacks, in the order of their first link
	Common   int               `json:"common"`   // programs of both
	Unused   int               `json:"unused"`   // programs of the recording that the start did not link
	Damaged  int               `json:"damaged"`  // programs that cannot be read
	partial
}

func (o *options) recordingDiffCommand() cli.Command {
	return cli.Command{
		Use:     "diff RECORDING START [flags]",
		Short:   "List the programs that a recording lacks",
		Long:    recordingDiffUsage,
		Example: "  shadercache recording diff recordings/app now",
		Args:    cli.CountArguments(2, 2, "name a recording, and that of a start"),
		Unused:  cli.DirFlags + cli.GPUFlags, Result: recordingDiff{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) {
			return o.diffRecordings(args[0], args[1])
		},
	}
}

func (o *options) diffRecordings(before, start string) (*recordingDiff, error) {
	list, err := openRecordings([]string{before, start})
	if err != nil {
		return nil, err
	}
	missing, err := list[1].Missing(list[0])
	if err != nil {
		return nil, err
	}
	r := &recordingDiff{}
	var damaged []error
	r.Programs, damaged = o.readRecorded(list[1], missing, list[1].Logs())
	if r.Damaged, r.failed = len(damaged), cli.Several(damaged); len(damaged) == 0 && len(r.Programs) > 0 {
		r.failed = cli.ErrReported
	}
	ours, err := list[1].Digests()
	theirs, theirErr := list[0].Digests()
	r.Common = len(ours) - len(missing)
	r.Unused = len(theirs) - r.Common
	return r, errors.Join(err, theirErr)
}

func (r *recordingDiff) Print(w io.Writer) {
	printRecorded(w, r.Programs)
	fmt.Fprintf(w, "%s of the start not in the recording, %d in both, %d of the recording not linked\n",
		cli.Plural(len(r.Programs), "program"), r.Common, r.Unused)
}
