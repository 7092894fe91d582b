package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

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
