package main

import (
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
)

const recordingUsage = `Show and merge recordings: folders with every OpenGL program that an application
linked, in any language.

  shadercache exec --record DIR -- PROGRAM   records
  shadercache preload DIR                    has the driver here compile it
  shadercache push --recording DIR URL       the same, for other machines

docs/recording.md is the format. These commands need no OpenGL, and change no
recording that they read.`

func newRecording(o *options) *cobra.Command {
	cmd := cli.NewParent(&cobra.Command{
		Use:     "recording",
		Short:   "Show and merge recordings of applications",
		Long:    recordingUsage,
		Example: "  shadercache recording list recordings/app",
	})
	cmd.AddCommand(newRecordingList(o), newRecordingInspect(o), newRecordingMerge(o), newRecordingDiff(o))
	for _, sub := range cmd.Commands() {
		cli.Without(sub, cli.DirFlags, cli.GPUFlags)
	}
	return cmd
}
