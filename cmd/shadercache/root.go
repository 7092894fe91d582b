package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/internal/cli"
)

const rootUsage = `shadercache keeps compiled OpenGL compute programs from one start to the next,
together with the driver's own cache of machine code.

The cache is at --dir, else $SHADERCACHE_DIR, else "shadercache" in the user's
cache directory. Where none of them can be used, programs are kept in memory
only, with one message.

Results go to standard output, messages and progress to standard error. With
--json the result is one JSON object, and each error or warning is one on a line
of its own, with a schema number and a code that does not change: see
docs/json.md.

Exit codes:
  0  success
  1  failure: the message says what failed, a hint says what to do
  2  wrong command line`

func newRoot(o *options) *cobra.Command {
	root := &cobra.Command{
		Use:           "shadercache",
		Short:         "Keep compiled OpenGL compute programs from one start to the next",
		Long:          rootUsage,
		Example:       "  shadercache preload kernels/ && shadercache stats",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.UsageArgs(cli.KnownCommand),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			o.StartTrace(cmd)
			return cli.CheckGlobalFlags(cmd, args)
		},
	}
	root.SetOut(o.Stdout)
	root.SetErr(o.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usage(cmd, err)
	})
	o.DriverCache, o.LogLevel = true, cli.LogLevel(slog.LevelWarn)
	flags := root.PersistentFlags()
	flags.BoolVar(&o.JSON, "json", false, "print the result as JSON")
	flags.StringVar(&o.Dir, "dir", "", "cache directory (default $SHADERCACHE_DIR or the user's cache)")
	flags.StringVar(&o.Device, "device", "", "GPU by index or UUID (default the first that works); most commands take several, with commas, and all")
	flags.Var(&o.API, "api", "context: gl or gles, version, flags: gles3.1, gl4.3,robust (default gl)")
	flags.Lookup("api").DefValue = ""
	flags.Var(&o.DriverCache, "driver-cache", "on: keep the driver's own cache in the cache directory too; off: leave it alone")
	flags.Var(&o.LogLevel, "log-level", "debug, info, warn or error")
	flags.StringVar(&o.Trace, "trace", "", "file for a trace of where the time goes, for Perfetto, speedscope or report (default $SHADERCACHE_TRACE; %p is the process id)")
	cli.Complete(root, "api", "gl", "gles", "gles3.1", "gl4.3", "gl4.5,compatibility")
	cli.Complete(root, "driver-cache", "on", "off")
	cli.Complete(root, "log-level", "debug", "info", "warn", "error")
	_ = root.MarkPersistentFlagDirname("dir")
	root.AddCommand(newRun(o), newServe(o), newServeWorker(o), newServeAll(o), newPreload(o), newPreloadChild(o), newStats(o), newTop(o), newList(o), newInspect(o),
		newWhy(o), newVerify(o), newDoctor(o), newDevices(o), newPrune(o),
		newRm(o), newClear(o), newConfig(o), newRebuild(o), newExport(o), newImport(o), newKeygen(o),
		newPush(o), newPull(o), newRemote(o), newRecording(o), newCheckpoint(o),
		newReport(o), newAssert(o), newExec(o), newEnv(o), newLint(o), newSelftest(o), newTune(o), newBench(o), newVersion(o), newMan(o))
	addCompletion(root)
	root.SetHelpCommand(newHelp())
	o.FitHelp(root)
	return root
}

// newHelp is cobra's help, but fails for a command that does not exist.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Example: "  shadercache help preload",
		RunE: func(cmd *cobra.Command, args []string) error {
			shown, rest, err := cmd.Root().Find(args)
			if err == nil {
				err = cli.KnownCommand(shown, rest)
			}
			if err != nil {
				return cli.Usage(cmd.Root(), err)
			}
			shown.InitDefaultHelpFlag()
			return shown.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
			shown, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, sub := range shown.Commands() {
				if !sub.Hidden && strings.HasPrefix(sub.Name(), typed) {
					names = append(names, sub.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// addCompletion adds the commands that write completions, with an example each.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	examples := map[string]string{
		"completion": "source <(shadercache completion bash)",
		"bash":       "shadercache completion bash > ~/.local/share/bash-completion/completions/shadercache",
		"zsh":        `shadercache completion zsh > "${fpath[1]}/_shadercache"`,
		"fish":       "shadercache completion fish > ~/.config/fish/completions/shadercache.fish",
		"powershell": "shadercache completion powershell | Out-String | Invoke-Expression",
	}
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Example = "  " + examples[cmd.Name()]
		cmd.Args = cli.UsageArgs(cli.KnownCommand)
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		for _, shell := range cmd.Commands() {
			shell.Long = fmt.Sprintf("Print the script that completes the commands, flags and names of programs of\nshadercache in %s. A new shell uses it once it is stored as below.", shell.Name())
			shell.Example = "  " + examples[shell.Name()]
		}
	}
}
