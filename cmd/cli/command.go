package cli

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/spf13/cobra"
)

// Command is one command of a table: what its help says, what it takes, and what it does. A
// field that is left out has the usual value.
type Command struct {
	Use     string // the command line in the help; its first word is the name
	Aliases []string
	Short   string // in lists of commands
	Long    string // text of the help, broken into lines of at most HelpWidth
	Example string
	Group   string // title in the list of commands
	Hidden  bool

	Args     cobra.PositionalArgs // nil: there are none; all its errors are usage errors
	Words    []string             // completions of arguments
	Complete cobra.CompletionFunc // the same, where they have to be looked up

	Flags any                  // pointer to a struct with a field for each flag, see addFlags
	Setup func(*cobra.Command) // adds what is not known before the command runs
	GPUs  GPUs                 // that --device takes
	Files []string             // flags with files that the next of several GPUs would replace

	Unused     string         // global flags that are refused
	Result     any            // of the type that Run returns, for the help and the schema
	FlagResult map[string]any // the same with a flag, such as "--tuning"

	// Check returns an error for arguments and flags that exclude each other: all its errors
	// are usage errors.
	Check func(cmd *cobra.Command, args []string) error

	// Run does the work and returns what is printed: nil where it printed itself.
	Run func(cmd *cobra.Command, args []string) (Result, error)

	Below []Command // Without Run the command prints its help.
}

// GPUs is how a command treats a --device that names several.
type GPUs int

// EachGPU runs the command for each GPU, one after the other, and EachModel for one GPU of
// each model, of which all do the same.
const (
	OneGPU      GPUs = iota // refuses them
	SeveralGPUs             // has all of them
	EachGPU
	EachModel
)

// Add adds commands to root, or to another command, in their groups.
func (o *Options) Add(root *cobra.Command, commands ...Command) {
	for _, c := range commands {
		if c.Group != "" && !root.ContainsGroup(c.Group) {
			root.AddGroup(&cobra.Group{ID: c.Group, Title: c.Group})
		}
		root.AddCommand(o.build(c))
	}
}

func (o *Options) build(c Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: c.Use, DisableFlagsInUseLine: true, Aliases: c.Aliases, Short: c.Short, Long: c.Long, Example: c.Example,
		GroupID: c.Group, Hidden: c.Hidden, ValidArgs: c.Words, ValidArgsFunction: c.Complete,
		RunE: o.action(c), Annotations: map[string]string{unusedFlags: c.Unused},
	}
	switch {
	case c.Args != nil:
		cmd.Args = usageArgs(c.Args)
	case c.Run == nil:
		cmd.Args = usageArgs(KnownCommand)
	default:
		cmd.Args = usageArgs(noArguments)
	}
	if c.GPUs != OneGPU {
		cmd.Annotations[severalDevices] = "yes"
	}
	o.addResults(cmd, c)
	if c.Flags != nil {
		addFlags(cmd, cmd.Flags(), reflect.ValueOf(c.Flags).Elem())
	}
	if c.Setup != nil {
		c.Setup(cmd)
	}
	o.Add(cmd, c.Below...)
	return cmd
}

// addResults registers what a command prints with --json.
func (o *Options) addResults(cmd *cobra.Command, c Command) {
	if c.Result != nil {
		o.addResult(cmd, "", c.Result)
	}
	for _, flag := range slices.Sorted(maps.Keys(c.FlagResult)) {
		o.addResult(cmd, flag, c.FlagResult[flag])
	}
	if c.GPUs == EachGPU || c.GPUs == EachModel {
		o.addResult(cmd, "--device of several", TurnsResult{})
	}
}

// runFunc is what cobra calls.
type runFunc = func(cmd *cobra.Command, args []string) error

// action returns what a command does.
func (o *Options) action(c Command) runFunc {
	switch {
	case c.Run == nil:
		return func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	case c.GPUs == EachGPU || c.GPUs == EachModel:
		return o.takeTurns(o.runner(c), c.GPUs == EachModel, c.Files)
	}
	return o.runner(c)
}

// runner returns a function that checks the command line, does the work and prints the result.
func (o *Options) runner(c Command) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		if c.Check != nil {
			if err := c.Check(cmd, args); errors.As(err, new(UsageError)) {
				return err
			} else if err != nil {
				return Usage(cmd, err)
			}
		}
		r, err := c.Run(cmd, args)
		if r == nil {
			return err
		}
		return o.Show(r, err)
	}
}
