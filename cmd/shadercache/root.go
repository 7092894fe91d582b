package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
)

const rootUsage = `shadercache keeps compiled OpenGL compute programs from one start to the next,
together with the driver's own cache of machine code.

The cache is at --dir, else $SHADERCACHE_DIR, else "shadercache" in the user's
cache directory. Where none of them can be used, programs are kept in memory
only, with one message.

Results go to standard output, messages and progress to standard error. With
--json the result is one JSON object.

Exit codes:
  0  good
  1  something failed: the message says what, a hint says what to do
  2  the command line is wrong`

// options are the global flags and the streams.
type options struct {
	json        bool
	dir         string
	device      string
	driverCache onOff
	logLevel    logLevel

	stdout, stderr io.Writer
}

func newRoot(o *options) *cobra.Command {
	root := &cobra.Command{
		Use:           "shadercache",
		Short:         "Keep compiled OpenGL compute programs from start to start",
		Long:          rootUsage,
		Example:       "  shadercache preload kernels/ && shadercache stats",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usageArgs(knownCommand),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(o.stdout)
	root.SetErr(o.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{err, cmd.CommandPath()}
	})
	o.driverCache, o.logLevel = true, logLevel(slog.LevelWarn)
	flags := root.PersistentFlags()
	flags.BoolVar(&o.json, "json", false, "print the result as JSON")
	flags.StringVar(&o.dir, "dir", "", "cache directory (default $SHADERCACHE_DIR or the user's cache)")
	flags.StringVar(&o.device, "device", "", "GPU by index or UUID (default the first that works)")
	flags.Var(&o.driverCache, "driver-cache", "on: keep the driver's own cache in the cache directory too; off: leave it alone")
	flags.Var(&o.logLevel, "log-level", "debug, info, warn or error")
	complete(root, "driver-cache", "on", "off")
	complete(root, "log-level", "debug", "info", "warn", "error")
	_ = root.MarkPersistentFlagDirname("dir")
	root.AddCommand(newRun(o), newPreload(o), newPreloadChild(o), newStats(o), newList(o), newInspect(o),
		newWhy(o), newVerify(o), newDoctor(o), newPrune(o), newRebuild(o), newExport(o), newImport(o), newKeygen(o),
		newExec(o), newLint(o), newSelftest(o), newTune(o), newBench(o), newVersion(o), newMan(o))
	addCompletion(root)
	return root
}

// addCompletion adds the command that writes completions, with an example for
// each shell.
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
		for _, shell := range cmd.Commands() {
			shell.Example = "  " + examples[shell.Name()]
		}
	}
}

// complete offers fixed words for a flag to the shell.
func complete(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err)
	}
}

// usageArgs makes a wrong number of arguments a mistake of usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err, cmd.CommandPath()}
		}
		return nil
	}
}

// knownCommand refuses what is left over where a command's name should be.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("there is no command %q", cmd.CommandPath()+" "+args[0])
	cmd.SuggestionsMinimumDistance = 2
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(similar, " or "))
	}
	return err
}

// noArguments refuses any argument.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("no arguments are taken, but there is %q", args[0])
}

// onOff is a flag whose values are on and off.
type onOff bool

func (v *onOff) Type() string { return "on|off" }

func (v *onOff) String() string {
	if *v {
		return "on"
	}
	return "off"
}

func (v *onOff) Set(text string) error {
	switch text {
	case "on":
		*v = true
	case "off":
		*v = false
	default:
		return fmt.Errorf("%q is neither on nor off", text)
	}
	return nil
}
