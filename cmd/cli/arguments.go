package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Complete registers fixed completions for a flag.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err)
	}
}

// usageArgs returns check with its errors as usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usage(cmd, err)
		}
		return nil
	}
}

// OneArgument returns an error with message unless there is one argument.
func OneArgument(message string) cobra.PositionalArgs { return CountArguments(1, 1, message) }

// CountArguments returns an error for fewer or more arguments.
func CountArguments(least, most int, message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return errors.New(message)
		}
		return nil
	}
}

// SomeArguments returns an error with message where there is no argument.
func SomeArguments(message string) cobra.PositionalArgs {
	return CountArguments(1, math.MaxInt, message)
}

// KnownCommand returns an error for arguments of a command that only has subcommands,
// with similar names.
func KnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("there is no command %q", cmd.CommandPath()+" "+args[0])
	cmd.SuggestionsMinimumDistance = 2
	similar := cmd.SuggestionsFor(args[0])
	for _, sub := range cmd.Commands() {
		if slices.Contains(sub.ValidArgs, args[0]) {
			similar = append(similar, sub.Name()+" "+args[0])
		}
	}
	return didYouMean(err, similar)
}

// didYouMean returns err with what is similar to what is not known, where there is any.
func didYouMean(err error, similar []string) error {
	if len(similar) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(similar, " or "))
	}
	return err
}

// flagError returns the usage error for flags that do not parse, with similar names.
func flagError(cmd *cobra.Command, err error) error {
	missing, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return Usage(cmd, err)
	}
	// -record is read as the flags r, e, c and so on.
	typed, _, _ := strings.Cut(cmp.Or(missing.GetSpecifiedShortnames(), missing.GetSpecifiedName()), "=")
	var similar []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if len(typed) > 2 && !f.Hidden && (strings.HasPrefix(f.Name, typed) || strings.HasPrefix(typed, f.Name)) {
			similar = append(similar, "--"+f.Name)
		}
	})
	return Usage(cmd, didYouMean(err, similar))
}

// noArguments returns an error for any argument.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("no arguments are taken, but there is %q", args[0])
}

// unusedFlags is the annotation with the global flags that a command does not use.
const unusedFlags = "unused flags"

// GPUFlags and DirFlags are the global flags of commands that open a GPU, or a directory.
const (
	GPUFlags = " device api driver-cache "
	DirFlags = " dir "
)

// Tags and annotations of flags: see addFlags.
const excludes, because = "excludes", "because"

// checkFlags returns a usage error for a global flag that cmd does not use, and for flags that
// exclude each other.
func checkFlags(cmd *cobra.Command) (err error) {
	for _, name := range strings.Fields(cmd.Annotations[unusedFlags]) {
		if cmd.Flags().Changed(name) {
			return Usage(cmd, fmt.Errorf("--%s has no effect here: %s does not use it", name, cmd.Name()))
		}
	}
	given := func(f *pflag.Flag) bool { return f.Changed && f.Value.String() != "false" }
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for _, other := range f.Annotations[excludes] {
			if given(f) && given(cmd.Flag(other)) {
				text := fmt.Sprintf("--%s and --%s exclude each other: %s", f.Name, other, f.Annotations[because][0])
				err = Usage(cmd, errors.New(strings.TrimSuffix(text, ": ")))
			}
		}
	})
	return cmp.Or(err, checkDevice(cmd))
}
