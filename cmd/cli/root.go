package cli

import (
	"errors"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"
)

// Process returns the options of a command with the streams of this process.
func Process() Options { return Options{Stdout: &Output{Writer: os.Stdout}, Stderr: os.Stderr} }

// Main runs a command with os.Args and returns its exit code. The options are those of Process
// from which its root was made.
func (o *Options) Main(root *cobra.Command) int {
	err := root.Execute()
	o.EndTrace()
	if out, ok := o.Stdout.(*Output); ok && err == nil {
		err = out.Err
	}
	if errors.As(err, new(UsageError)) {
		// The flag may stand behind what could not be parsed.
		o.JSON = o.JSON || slices.Contains(os.Args[1:], "--json")
	}
	return o.Report(err)
}

// NewRoot completes the root of a command, which has its name, its texts, and the commands
// below it: with the global flags, version, help, man and completion. It returns the root.
func (o *Options) NewRoot(root *cobra.Command) *cobra.Command {
	version := false
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Args = UsageArgs(KnownCommand)
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if version {
			return o.printVersion(cmd)
		}
		return cmd.Help()
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		o.StartTrace(cmd)
		return CheckGlobalFlags(cmd, args)
	}
	root.SetOut(o.Stdout)
	root.SetErr(o.Stderr)
	root.SetFlagErrorFunc(FlagError)
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version, as the command version does")
	o.addGlobalFlags(root)
	root.AddCommand(o.newVersion(root.Name()), o.newMan(root.Name()))
	addCompletion(root)
	root.SetHelpCommand(newHelp(root.Name()))
	o.FitHelp(root)
	return root
}

func (o *Options) addGlobalFlags(root *cobra.Command) {
	o.DriverCache, o.LogLevel = true, LogLevel(slog.LevelWarn)
	flags := root.PersistentFlags()
	flags.BoolVar(&o.JSON, "json", false, "print the result as JSON")
	flags.StringVar(&o.Dir, "dir", "", "cache directory (default $SHADERCACHE_DIR or the user's cache)")
	flags.StringVar(&o.Device, "device", "", "GPU by index or UUID (default the first that works); most commands take several, with commas, and all")
	flags.Var(&o.API, "api", "context: gl or gles, version, flags: gles3.1, gl4.3,robust (default gl)")
	flags.Lookup("api").DefValue = ""
	flags.Var(&o.DriverCache, "driver-cache", "on: keep the driver's own cache in the cache directory too; off: leave it alone")
	flags.Var(&o.LogLevel, "log-level", "debug, info, warn or error")
	flags.StringVar(&o.Trace, "trace", "", "file for a trace of where the time goes, for Perfetto, speedscope or report (default $SHADERCACHE_TRACE; %p is the process id)")
	Complete(root, "api", "gl", "gles", "gles3.1", "gl4.3", "gl4.5,compatibility")
	Complete(root, "driver-cache", "on", "off")
	Complete(root, "log-level", "debug", "info", "warn", "error")
	_ = root.MarkPersistentFlagDirname("dir")
}

// NewParent returns a command that prints its help: its commands do the work.
func NewParent(cmd *cobra.Command) *cobra.Command {
	cmd.Args = UsageArgs(KnownCommand)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}
