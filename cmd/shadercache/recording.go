package main

import (
	"github.com/shadercache/shadercache/cmd/cli"
)

const recordingUsage = `Show and merge recordings: folders with every OpenGL program that an application
linked, in any language.

  shadercache exec --record DIR -- PROGRAM   records
  shadercache preload DIR                    has the driver here compile it
  shadercache push --recording DIR URL       the same, for other machines

docs/recording.md is the format. These commands need no OpenGL, and change no
recording that they read.`

func (o *options) recordingCommand() cli.Command {
	return cli.Command{
		Use:     "recording [flags]",
		Short:   "Show and merge recordings of applications",
		Long:    recordingUsage,
		Example: "  shadercache recording list recordings/app",
		Below: []cli.Command{
			o.recordingListCommand(), o.recordingInspectCommand(), o.recordingMergeCommand(), o.recordingDiffCommand(),
		},
	}
}
