package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Complete registers fixed completions for a flag.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err)
	}
}

// UsageArgs returns check with its errors as usage errors.
func UsageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usage(cmd, err)
		}
		return nil
	}
}

// KnownCommand returns an error for arguments of a command that only has subcommands,
// with similar names.
func KnownCommand(cmd *cobra.Command, args []string) error {
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

// NoArguments returns an error for any argument.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("no arguments are taken, but there is %q", args[0])
}
