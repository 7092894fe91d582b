package main

import "github.com/spf13/cobra"

const rootUsage = `shadercache keeps compiled OpenGL compute programs from one start to the next,
together with the driver's own cache of machine code.

The cache is at --dir, else $SHADERCACHE_DIR, else "shadercache" in the user's
cache directory. Where none of them can be used, programs are kept in memory
only, with one message.

Results go to standard output, messages and progress to standard error. With
--json the result is one JSON object, and each error or warning is one on a line
of its own, with a schema number and a code that does not change.

Exit codes:
  0  success
  1  failure: the message says what failed, a hint says what to do
  2  wrong command line`

// commands has the commands by their group in the help, in this order; hidden ones have none.
var commands = []struct {
	title string
	make  []func(*options) *cobra.Command
}{
	{"Begin with", []func(*options) *cobra.Command{newRun, newPreload, newStats, newDoctor, newExec}},
	{"Cache", []func(*options) *cobra.Command{newList, newInspect, newWhy, newVerify, newPrune, newRm, newClear, newConfig, newRebuild}},
	{"Fleet", []func(*options) *cobra.Command{newExport, newImport, newPush, newPull, newRemote, newKeygen}},
	{"Server", []func(*options) *cobra.Command{newServe, newTop}},
	{"Applications", []func(*options) *cobra.Command{newEnv, newRecording, newLint, newReport, newAssert}},
	{"Measure", []func(*options) *cobra.Command{newDevices, newSelftest, newTune, newBench}},
	{"", []func(*options) *cobra.Command{newServeWorker, newServeAll, newPreloadChild}},
}

func newRoot(o *options) *cobra.Command {
	root := &cobra.Command{
		Use:     "shadercache",
		Short:   "Keep compiled OpenGL compute programs from one start to the next",
		Long:    rootUsage,
		Example: "  shadercache preload kernels/ && shadercache stats",
	}
	for _, group := range commands {
		if group.title != "" {
			root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		}
		for _, newCommand := range group.make {
			cmd := newCommand(o)
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	addMoved(root)
	return o.NewRoot(root)
}
