package cli

import (
	"errors"
	"io"
	"log"
	"log/slog"
	"os"
	"reflect"
	"slices"

	"github.com/spf13/cobra"
)

// Process returns the options of a command with the streams of this process. Package log prints
// nothing from then on: net/http has it print what a server sends unasked.
func Process() Options {
	log.SetOutput(io.Discard)
	return Options{Stdout: &Output{Writer: os.Stdout}, Stderr: os.Stderr}
}

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

// NewRoot completes the root of a program, which has its name and its texts: with the commands
// of a table, the global flags, version, help, man and completion. It returns the root.
func (o *Options) NewRoot(root *cobra.Command, commands ...Command) *cobra.Command {
	version := false
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Args = usageArgs(KnownCommand)
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if version {
			return o.printVersion(cmd)
		}
		return cmd.Help()
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		o.startTrace(cmd)
		return checkFlags(cmd)
	}
	root.SetOut(o.Stdout)
	root.SetErr(o.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version, as the command version does")
	o.DriverCache, o.LogLevel = true, LogLevel(slog.LevelWarn)
	addFlags(root, root.PersistentFlags(), reflect.ValueOf(o).Elem())
	o.Add(root, append(commands, o.version(root.Name()), o.man(root.Name()))...)
	o.addCompletion(root)
	root.SetHelpCommand(o.build(o.help(root.Name())))
	o.setHelp(root)
	return root
}
