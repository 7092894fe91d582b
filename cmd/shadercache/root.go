package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
)

const rootUsage = `shadercache keeps compiled OpenGL compute programs from one start to the next,
together with the driver's own cache of machine code.

The cache is at --dir, else $SHADERCACHE_DIR, else "shadercache" in the user's
cache directory. Where none of them can be used, programs are kept in memory
only, with one message.

Results go to standard output, messages and progress to standard error. With
--json the result is one JSON object, and each error or warning is one on a line
of its own, with a schema number; an error's has a code that does not change.

Exit codes:
  0  success
  1  failure: the message says what failed, a hint says what to do
  2  wrong command line`

// commands returns the commands in the order of their groups in the help; hidden ones have none.
func (o *options) commands() []cli.Command {
	return slices.Concat(
		grouped("Begin with", o.runCommand(), o.preloadCommand(), o.statsCommand(), o.doctorCommand(), o.execCommand()),
		grouped("Cache", o.listCommand(), o.inspectCommand(), o.whyCommand(), o.verifyCommand(), o.pruneCommand(), o.rmCommand(),
			o.clearCommand(), o.configCommand(), o.rebuildCommand()),
		grouped("Fleet", o.exportCommand(), o.importCommand(), o.pushCommand(), o.pullCommand(), o.auditCommand(), o.remoteCommand(), o.keygenCommand()),
		grouped("Server", o.serveCommand(), o.topCommand()),
		grouped("Applications", o.envCommand(), o.recordingCommand(), o.reportCommand(), o.assertCommand()),
		grouped("Measure", o.devicesCommand(), o.selftestCommand(), o.tuneCommand(), o.benchCommand()),
		grouped("", o.serveWorkerCommand(), o.serveAllCommand(), o.preloadChildCommand()),
	)
}

// grouped puts commands into a group.
func grouped(title string, commands ...cli.Command) []cli.Command {
	for i := range commands {
		commands[i].Group = title
	}
	return commands
}

func newRoot(o *options) *cobra.Command {
	return o.NewRoot(&cobra.Command{
		Use:     "shadercache",
		Short:   "Keep compiled OpenGL compute programs from one start to the next",
		Long:    rootUsage,
		Example: "  shadercache preload kernels/ && shadercache stats",
	}, o.commands()...)
}
