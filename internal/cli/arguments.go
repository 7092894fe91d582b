package cli

import (
	"errors"
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

// OneArgument returns a usage error with message unless there is one argument.
func OneArgument(message string) cobra.PositionalArgs {
	return UsageArgs(func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return errors.New(message)
		}
		return nil
	})
}

// SomeArguments returns a usage error with message where there is no argument.
func SomeArguments(message string) cobra.PositionalArgs {
	return UsageArgs(func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(message)
		}
		return nil
	})
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
