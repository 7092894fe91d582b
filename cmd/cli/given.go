package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// A value that a user gives is used or refused, never replaced.

// RefuseZero returns a usage error where one of the flags was given as 0, which stands for
// the default in the options behind them.
func RefuseZero(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f.Changed && (f.Value.String() == "0" || f.Value.String() == "0s") {
			return Usage(cmd, fmt.Errorf("--%s must be more than 0: leave it out for the default", name))
		}
	}
	return nil
}

// RefuseUnused returns a usage error where flags were given that have no effect, unless
// used is set. needs says what they are for.
func RefuseUnused(cmd *cobra.Command, used bool, needs string, names ...string) error {
	var given []string
	for _, name := range names {
		if cmd.Flags().Changed(name) && !used {
			given = append(given, "--"+name)
		}
	}
	switch len(given) {
	case 0:
		return nil
	case 1:
		return Usage(cmd, fmt.Errorf("%s has no effect here: it is for %s", given[0], needs))
	}
	return Usage(cmd, fmt.Errorf("%s have no effect here: they are for %s", strings.Join(given, " and "), needs))
}
