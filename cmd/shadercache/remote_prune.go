package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/shader"
)

const remotePruneUsage = `Delete drivers from a remote whose last push is older than an age, with their
packs, and packs that nothing refers to and that are older than a day.

` + remoteUsage + `

--keep takes the first digits of a fingerprint in remote list, or "current" for
the driver of this machine.`

// remotePruneFlags are the flags of remote prune.
type remotePruneFlags struct {
	remoteFlags
	MaxAge cli.Age  `flag:"max-age" help:"delete drivers whose last push is older than this" words:"30d 90d"`
	Keep   []string `flag:"keep" help:"never delete this driver (repeatable)" value:"driver" list:"commas"`
	DryRun bool     `flag:"dry-run" help:"list what would be deleted and delete nothing"`
}

// remotePruneResult is what remote prune prints.
type remotePruneResult struct {
	Remote string `json:"remote"` // its URL, without credentials
	DryRun bool   `json:"dry_run"`
	fleet.PruneReport
	partial
}

func (o *options) remotePruneCommand() cli.Command {
	var f remotePruneFlags
	return cli.Command{
		Use:     "prune --max-age AGE [--keep FINGERPRINT|current] [--dry-run] [--verify KEY|--trust] [URL]",
		Short:   "Delete old drivers from a remote",
		Long:    remotePruneUsage,
		Example: "  shadercache remote prune --max-age 90d --keep current",
		Args:    maybeURL,
		Flags:   &f, GPUs: cli.SeveralGPUs, Result: remotePruneResult{},
		Check: func(*cobra.Command, []string) error {
			if f.MaxAge <= 0 {
				return errors.New("--max-age must be given and above 0")
			}
			return nil
		},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) { return o.remotePrune(args, f) },
	}
}

func (o *options) remotePrune(args []string, f remotePruneFlags) (*remotePruneResult, error) {
	ro, err := f.options(args, fleet.ReadWrite)
	if err != nil {
		return nil, err
	}
	r := &remotePruneResult{Remote: fleet.ShownURL(ro.URL), DryRun: f.DryRun}
	err = o.onRemote(ro, func(ctx context.Context, from *fleet.Remote) error {
		heads, err := r.heads(ctx, from)
		if err != nil {
			return err
		}
		po := fleet.PruneOptions{Age: time.Duration(f.MaxAge), DryRun: f.DryRun}
		if po.Keep, err = o.keeps(heads, f.Keep); err != nil {
			return err
		}
		report, err := from.Prune(ctx, po)
		r.PruneReport, r.failed = report, cmp.Or(err, r.failed)
		return nil
	})
	return r, err
}

// keeps returns what names choose, by the head that prune reads: another may not have been read before.
func (o *options) keeps(heads []fleet.Head, named []string) (func(*fleet.Head) bool, error) {
	var current []binary.Fingerprint
	for _, name := range named {
		var err error
		if name == "current" {
			current, err = o.CurrentFingerprints()
		} else {
			_, err = chosenHeads(heads, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return func(h *fleet.Head) bool {
		isNamed := func(name string) bool { return names(name, h.Driver.DirName(), h.Fingerprint) }
		return slices.ContainsFunc(current, h.Driver.SameDriver) || slices.ContainsFunc(named, isNamed)
	}, nil
}

// chosenHeads returns the fingerprints that names choose, some by each.
func chosenHeads(heads []fleet.Head, named ...string) ([]shader.Digest, error) {
	var infos []binary.FingerprintInfo
	for _, h := range heads {
		infos = append(infos, binary.FingerprintInfo{Dir: h.Driver.DirName(), Digest: h.Fingerprint})
	}
	return chosenOf(infos, named, "the remote", "shadercache remote list shows them")
}

func (r *remotePruneResult) Print(w io.Writer) {
	verb := "deleted"
	if r.DryRun {
		verb = "would delete"
		for _, name := range r.Names {
			fmt.Fprintln(w, cli.EscapeName(name))
		}
	}
	for _, h := range r.Heads {
		fmt.Fprintf(w, "%s\t%s\t%s, last pushed to %s\n", h.Fingerprint.Short(), cli.EscapeName(h.Driver.Label()),
			cli.Plural(h.Programs(), "program"), h.Time.Local().Format(time.DateOnly))
	}
	fmt.Fprintf(w, "%s %s, %s, %s\n", verb, cli.Plural(len(r.Heads), "driver"), cli.Plural(len(r.Names), "object"), cli.ReadableBytes(r.Bytes))
	fmt.Fprintf(w, "in %s\n", cli.EscapeName(r.Remote))
}
