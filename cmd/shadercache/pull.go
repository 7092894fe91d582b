package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
)

const pullUsage = `Bring what a remote has for this driver into the cache, so that the first start
here is as fast as a second one. Packs that were brought before are left out;
--again brings them too, after a prune for example.

` + remoteUsage + `

Packs are executable code: the driver executes the machine code in them. So the
remote must be signed with the private half of one of the keys that --verify or
$SHADERCACHE_REMOTE_KEYS names. --trust accepts what is not signed: who can
write to the remote then decides what the driver executes here.

--any-driver brings the packs of all drivers and needs no OpenGL, for an image
that is built without a GPU.

Programs that use the cache pull by themselves, within the time of
$SHADERCACHE_REMOTE_BUDGET. This command ends with an error when it has waited
for the remote for 30 s in all; a transfer of 16 KiB a second or more adds to
that and goes on.

The exit code is 1 when the remote has nothing for this driver.`

// pullFlags are the flags of pull.
type pullFlags struct {
	remoteFlags
	AnyDriver bool         `flag:"any-driver" help:"bring the packs of all drivers" excludes:"device" because:"--any-driver opens no GPU"`
	Again     bool         `flag:"again" help:"bring also what was brought before"`
	MaxBytes  cli.ByteSize `flag:"max-bytes" help:"refuse packs that unpack to more (default 4G)" must:"above 0"`
}

// pullResult is what pull prints.
type pullResult struct {
	Remote string `json:"remote"` // its URL, without credentials
	Dir    string `json:"dir"`    // the cache directory
	fleet.PullReport
}

func (o *options) pullCommand() cli.Command {
	var f pullFlags
	return cli.Command{
		Use:     "pull [--verify KEY|--trust] [--any-driver] [--again] [--max-bytes SIZE] [URL]",
		Short:   "Bring what a remote has into the cache",
		Long:    pullUsage,
		Example: "  shadercache pull --verify release.key.pub https://cache.example.com/app",
		Args:    maybeURL,
		Flags:   &f, GPUs: cli.EachModel, Result: pullResult{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) { return o.pull(args, f) },
	}
}

func (o *options) pull(args []string, f pullFlags) (*pullResult, error) {
	ro, err := f.options(args, fleet.Read)
	if err != nil {
		return nil, err
	}
	ro.MaxBytes = int64(f.MaxBytes)
	po := fleet.PullOptions{AnyDriver: f.AnyDriver, Again: f.Again}
	if !f.AnyDriver {
		current, err := o.CurrentFingerprint()
		if err != nil {
			return nil, cli.Hint(err, "--any-driver pulls without OpenGL")
		}
		po.Current = &current
	}
	bar := o.NewBar("pulling")
	po.Progress = bar.Set
	r := &pullResult{Remote: fleet.ShownURL(ro.URL)}
	if r.Dir, err = o.Directory(); err != nil {
		return nil, err
	}
	err = o.onRemote(ro, func(ctx context.Context, from *fleet.Remote) error {
		r.PullReport, err = from.Pull(ctx, po)
		return err
	})
	bar.Finish()
	if err == nil && r.Heads == 0 || errors.Is(err, fleet.ErrNotFound) {
		err = nothingThere(r.Remote, f.AnyDriver)
	}
	return r, err
}

// nothingThere returns the error of a remote that has nothing to pull.
func nothingThere(url string, anyDriver bool) error {
	if anyDriver {
		return cli.Hint(fmt.Errorf("%s has no pack: %w", url, fleet.ErrNotFound), "push to it: shadercache push --help")
	}
	return cli.Hint(fmt.Errorf("%s has no pack for this driver: %w", url, fleet.ErrNotFound),
		"push to it from a machine with this driver and GPU; shadercache remote list shows what it has")
}

func (r *pullResult) Print(w io.Writer) {
	if r.Packs == 0 {
		fmt.Fprintf(w, "%s: nothing is new, %s there before\n", r.Remote, cli.Plural(r.Present, "pack"))
	} else {
		fmt.Fprintf(w, "%s and %s of the driver are new, from %s of %s (%s)\n", cli.Plural(r.Programs, "program"),
			cli.Plural(r.DriverFiles, "file"), cli.Plural(r.Packs, "pack"), r.Remote, cli.ReadableBytes(r.Bytes))
	}
	fmt.Fprintf(w, "in %s\n", cli.EscapeName(r.Dir))
}
