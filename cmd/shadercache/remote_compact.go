package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/shader"
)

const remoteCompactUsage = `Make one pack of the packs of each driver in a remote, so that a machine that
starts fetches one object. push does so by itself where there are many.

` + remoteUsage + `

Machines that read the remote meanwhile are not disturbed: the old packs stay
for a day. --fingerprint chooses drivers by the first digits in remote list.`

// remoteCompactResult is what remote compact prints.
type remoteCompactResult struct {
	Remote  string           `json:"remote"` // its URL, without credentials
	Drivers []compactionLine `json:"drivers"`
	partial
}

// compactionLine is one driver.
type compactionLine struct {
	Label       string        `json:"label"`
	Fingerprint shader.Digest `json:"fingerprint"`
	Before      int           `json:"before"` // packs
	fleet.PushReport
}

func (o *options) remoteCompactCommand() cli.Command {
	var f struct {
		Sign    string   `flag:"sign" help:"sign with this private key" value:"key"`
		Drivers []string `flag:"fingerprint" help:"only this driver (default all)" value:"driver" list:"commas"`
	}
	return cli.Command{
		Use:     "compact [--sign KEY] [--fingerprint DRIVER] [URL]",
		Short:   "Make one pack of all packs of a driver",
		Long:    remoteCompactUsage,
		Example: "  shadercache remote compact --sign release.key",
		Args:    maybeURL,
		Flags:   &f, Unused: cli.GPUFlags, Result: remoteCompactResult{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) {
			return o.compactRemote(f.Sign, args, f.Drivers)
		},
	}
}

func (o *options) compactRemote(sign string, args, digits []string) (*remoteCompactResult, error) {
	ro, err := writerOptions(sign, args)
	if err != nil {
		return nil, err
	}
	r := &remoteCompactResult{Remote: fleet.ShownURL(ro.URL), Drivers: []compactionLine{}}
	return r, o.onRemote(ro, func(ctx context.Context, in *fleet.Remote) error {
		heads, err := r.heads(ctx, in)
		if err != nil {
			return err
		}
		chosen, err := chosenHeads(heads, digits...)
		if err != nil {
			return err
		}
		for _, h := range heads {
			if len(h.Packs) < 2 || len(digits) > 0 && !slices.Contains(chosen, h.Fingerprint) {
				continue
			}
			line := compactionLine{Label: h.Driver.Label(), Fingerprint: h.Fingerprint, Before: len(h.Packs)}
			if line.PushReport, err = in.Compact(ctx, h.Fingerprint); err != nil {
				r.failed = errors.Join(r.failed, fmt.Errorf("%s: %w", line.Fingerprint.Short(), err))
				continue
			}
			if line.Heads > 0 {
				r.Drivers = append(r.Drivers, line)
			}
		}
		return nil
	})
}

func (r *remoteCompactResult) Print(w io.Writer) {
	if len(r.Drivers) == 0 && r.failed == nil {
		fmt.Fprintf(w, "no driver of %s has two packs that one can hold\n", cli.EscapeName(r.Remote))
		return
	}
	for _, d := range r.Drivers {
		fmt.Fprintf(w, "%s\t%s\t%s compacted (%s written)\n", d.Fingerprint.Short(), cli.EscapeName(d.Label), cli.Plural(d.Before, "pack"), cli.ReadableBytes(d.Bytes))
	}
	fmt.Fprintf(w, "in %s\n", cli.EscapeName(r.Remote))
}
