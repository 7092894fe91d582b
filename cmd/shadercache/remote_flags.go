package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/pack"
)

// remoteUsage is the part of the help that commands with a URL have in common.
const remoteUsage = `URL is $SHADERCACHE_REMOTE where it is left out: file:, http:, https:, s3: or
oci:, see docs/remotes.md. Credentials come from where other programs of that
kind find them, and are never printed.`

// remoteFlags are the flags of commands that read a remote.
type remoteFlags struct {
	Verify []string `flag:"verify" help:"public key that may have signed (default $SHADERCACHE_REMOTE_KEYS); may be repeated" value:"key" excludes:"trust"`
	Trust  bool     `flag:"trust" help:"accept what is not signed"`
}

// options returns the options of a remote whose URL is the argument, or the environment's.
func (f *remoteFlags) options(args []string, mode fleet.Mode) (fleet.Options, error) {
	ro := fleet.Options{Mode: mode, Unsigned: f.Trust}
	for _, file := range f.Verify {
		if err := ro.AddKey(file); err != nil {
			return ro, err
		}
	}
	ro, err := remoteURL(ro, args)
	if err == nil && !ro.Verifies() && !ro.Unsigned {
		err = cli.Hint(errors.New("no key is known, so nothing in the remote can be verified"),
			"--verify KEY.pub or $SHADERCACHE_REMOTE_KEYS names the keys; --trust accepts what is not signed")
	}
	return ro, err
}

// remoteURL sets the URL: the argument, or the environment's, and what else is there.
func remoteURL(ro fleet.Options, args []string) (fleet.Options, error) {
	if len(args) == 1 {
		ro.URL = args[0]
	}
	ro, err := fleet.FromEnvironment(ro)
	if err == nil && ro.URL == "" {
		err = cli.Hint(errors.New("no remote is chosen"), "name its URL, or set $SHADERCACHE_REMOTE")
	}
	return ro, err
}

// writerOptions returns the options of a remote that a command writes to, which signs with the
// private key of a file where there is one.
func writerOptions(sign string, args []string) (ro fleet.Options, err error) {
	if sign != "" {
		if ro.SignKey, err = pack.ReadPrivateKey(sign); err != nil {
			return ro, err
		}
	}
	ro.Mode = fleet.ReadWrite
	ro, err = remoteURL(ro, args)
	if err == nil && ro.SignKey == nil {
		if ro.Verifies() {
			err = cli.Hint(errors.New("machines with $SHADERCACHE_REMOTE_KEYS refuse what is not signed"), "--sign KEY signs it; see shadercache keygen")
		}
		ro.Unsigned = true
	}
	return ro, err
}

// partial is in the result of a command that does what it can: the result is printed, and then the
// command fails with what it could not do.
type partial struct{ failed error }

// Verdict returns what could not be done.
func (p *partial) Verdict() error { return p.failed }

// heads returns the heads of a remote. One that is refused holds up no other driver.
func (p *partial) heads(ctx context.Context, r *fleet.Remote) (heads []fleet.Head, err error) {
	if heads, p.failed = r.Heads(ctx); len(heads) == 0 {
		return nil, p.failed
	}
	return heads, nil
}

// onRemote calls use with a remote over the cache directory, which is made if it is missing, and with a
// context that an interrupt ends.
func (o *options) onRemote(ro fleet.Options, use func(ctx context.Context, r *fleet.Remote) error) (err error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	dir, err := o.MakeDirectory()
	if err != nil {
		return err
	}
	ro.Logger = o.Logger()
	r, err := fleet.Open(dir, ro)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return use(ctx, r)
}

// maybeURL accepts one URL or none.
func maybeURL(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return fmt.Errorf("there is one URL at most, not %d", len(args))
	case len(args) == 1 && args[0] == "":
		return errors.New("the URL is empty")
	}
	return nil
}
