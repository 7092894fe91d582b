package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
)

// maxCompletions bounds the completions, and with them how much of a large cache is
// read.
const maxCompletions = 100

// errEnough ends a walk over the cache.
var errEnough = errors.New("enough completions")

// completeFingerprints completes --fingerprint with the drivers in the cache.
func (o *options) completeFingerprints(cmd *cobra.Command) {
	if err := cmd.RegisterFlagCompletionFunc("fingerprint", o.completeDrivers); err != nil {
		panic(err)
	}
}

// completeDrivers returns the drivers in the cache as completions.
func (o *options) completeDrivers(_ *cobra.Command, _ []string, typed string) (list []string, _ cobra.ShellCompDirective) {
	if _, dir, err := o.ReadDirectory(); err == nil && dir != nil {
		drivers, _ := dir.Drivers()
		for _, d := range drivers {
			if strings.HasPrefix(d.Dir, typed) {
				list = append(list, d.Dir)
			}
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completePrograms returns the names of programs in the cache as completions, beside
// those of fallback.
func (o *options) completePrograms(fallback cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		_, dir, err := o.ReadDirectory()
		if err != nil || dir == nil || len(args) > 0 {
			return nil, fallback
		}
		var list []string
		_ = o.ForStores(dir, func(_ string, store *binary.Store) error {
			for e, err := range store.All() {
				if err == nil && strings.HasPrefix(e.Name, typed) && cli.EscapeName(e.Name) == e.Name && !slices.Contains(list, e.Name) {
					list = append(list, e.Name)
				}
				if len(list) == maxCompletions {
					return errEnough
				}
			}
			return nil
		})
		return list, fallback
	}
}
