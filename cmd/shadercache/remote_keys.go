package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/pack"
)

const remoteKeysUsage = `Show and change who may sign the heads of a remote. The list is signed by a
root key, which stays offline: keygen --root makes one. Nodes know its public
half alone, SHADERCACHE_REMOTE_KEYS=root.key.pub, so keys change without them.

A list is valid for 400 days; each change begins them anew. After revoke readers
refuse heads that the key signed, and compile until another one pushes with
--replace. Heads that another key signed since keep its packs; after leaked
readers refuse these too, and each driver needs a push with --replace. Clear
each cache that pushes before: one that pulled them sends them again.

` + remoteUsage

// remoteKeysResult is what remote keys prints: the list.
type remoteKeysResult struct {
	Remote  string      `json:"remote"` // its URL, without credentials
	Name    string      `json:"name"`
	Epoch   uint64      `json:"epoch"`           // of the list; 0: there is none
	Since   uint64      `json:"since,omitempty"` // heads of lists before are refused
	Expires time.Time   `json:"expires"`
	Keys    []remoteKey `json:"keys"`
}

// remoteKey is one key of a list.
type remoteKey struct {
	ID      string    `json:"id"`
	Added   time.Time `json:"added"`
	Revoked time.Time `json:"revoked,omitzero"`
}

func newRemoteKeys(url string, l *fleet.KeyList) *remoteKeysResult {
	r := &remoteKeysResult{Remote: fleet.ShownURL(url), Name: l.Name, Epoch: l.Epoch, Since: l.Since, Expires: l.Expires, Keys: []remoteKey{}}
	for _, k := range l.Keys {
		r.Keys = append(r.Keys, remoteKey{k.ID(), k.Added, k.Revoked})
	}
	return r
}

func (r *remoteKeysResult) Print(w io.Writer) {
	if r.Epoch == 0 {
		fmt.Fprintf(w, "%s has no list of keys\n", cli.EscapeName(r.Remote))
		return
	}
	fmt.Fprintf(w, "%s, the remote %q: list %d, valid until %s\n\nkey\tadded\trevoked\n", cli.EscapeName(r.Remote), r.Name, r.Epoch, r.Expires.Local().Format(time.DateOnly))
	for _, k := range r.Keys {
		revoked := ""
		if !k.Revoked.IsZero() {
			revoked = k.Revoked.Local().Format(time.DateOnly)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", k.ID, k.Added.Local().Format(time.DateOnly), revoked)
	}
}

func (o *options) remoteKeysCommand() cli.Command {
	return cli.Command{
		Use:     "keys [flags]",
		Short:   "Show and change who may sign",
		Long:    remoteKeysUsage,
		Example: "  shadercache remote keys add --root root.key ci.key.pub",
		Below: []cli.Command{
			o.remoteKeysListCommand(),
			o.changeKeysCommand("add KEY.pub", "Let a key sign", addKey),
			o.changeKeysCommand("revoke KEY.pub", "Refuse what a key signs and has signed; its name in the list will do", revokeKey),
			o.changeKeysCommand("leaked KEY.pub", "Revoke a key, and refuse all packs of before, which it may have pushed", leakedKey),
			o.changeKeysCommand("renew", "Let the list be valid for longer", renewKeys),
		},
	}
}

func (o *options) remoteKeysListCommand() cli.Command {
	var f remoteFlags
	return cli.Command{
		Use: "list [--verify ROOT.pub] [URL]", Short: "Show who may sign", Long: "Show the list of keys of a remote.\n\n" + remoteUsage,
		Example: "  shadercache remote keys list --json | jq -r '.keys[].id'",
		Args:    maybeURL, Flags: &f, Result: &remoteKeysResult{}, Unused: cli.GPUFlags,
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) {
			ro, err := f.options(args, fleet.Read)
			if err != nil {
				return nil, err
			}
			var l *fleet.KeyList
			err = o.onRemote(ro, func(ctx context.Context, r *fleet.Remote) (err error) { l, err = r.Keys(ctx); return err })
			if err != nil {
				return nil, err
			}
			return newRemoteKeys(ro.URL, l), nil
		},
	}
}

// changeKeysCommand returns a command that changes the list with the root key. The arguments of
// change begin with the KEY, if use has one.
func (o *options) changeKeysCommand(use, short string, change func(l *fleet.KeyList, args []string) error) cli.Command {
	var f struct {
		Root string `flag:"root" help:"the private root key, which signs the list" value:"root key"`
	}
	keys := strings.Count(use, "KEY.pub")
	return cli.Command{
		Use: use + " --root ROOT [URL]", Short: short, Long: short + ".\n\n" + remoteKeysUsage,
		Example: "  shadercache remote keys " + use + " --root root.key \\\n    https://cache.example.com/app",
		Args:    cli.CountArguments(keys, keys+1, "name "+cli.Plural(keys, "key")+", and the URL, if $SHADERCACHE_REMOTE has it not"),
		Flags:   &f, Result: &remoteKeysResult{}, Unused: cli.GPUFlags,
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) {
			root, err := pack.ReadRootKey(f.Root)
			if err != nil {
				return nil, cli.Hint(err, "--root takes the private key that keygen --root makes")
			}
			ro, err := remoteURL(fleet.Options{Mode: fleet.ReadWrite, Roots: []ed25519.PublicKey{root.Public().(ed25519.PublicKey)}}, args[keys:])
			if err != nil {
				return nil, err
			}
			return o.changeKeys(ro, root, func(l *fleet.KeyList) error { return change(l, args) })
		},
	}
}

func (o *options) changeKeys(ro fleet.Options, root ed25519.PrivateKey, change func(*fleet.KeyList) error) (cli.Result, error) {
	var l *fleet.KeyList
	err := o.onRemote(ro, func(ctx context.Context, r *fleet.Remote) (err error) {
		l, err = r.ChangeKeys(ctx, root, change)
		return err
	})
	if errors.Is(err, errors.ErrUnsupported) && l != nil {
		err = cli.Hint(err, "the list is changed; this store does not list its heads, so each has it after its next push")
	}
	if l == nil {
		return nil, err
	}
	return newRemoteKeys(ro.URL, l), err
}

// addKey adds the public key of a file. One that is there stays: an add that was cut off has not
// written all heads.
func addKey(l *fleet.KeyList, args []string) error {
	key, err := pack.ReadPublicKey(args[0])
	if err != nil {
		return err
	}
	k := l.Find(fleet.KeyID(key))
	switch {
	case k == nil:
		l.Keys = append(l.Keys, fleet.ListedKey{Key: key, Added: time.Now().UTC().Truncate(time.Second)})
	case !k.Revoked.IsZero():
		return fmt.Errorf("key %s was revoked: make another one", k.ID())
	}
	return nil
}

// renewKeys changes the time alone. An empty list would keep from readers what is signed without one.
func renewKeys(l *fleet.KeyList, _ []string) error {
	if l.Epoch == 0 {
		return cli.Hint(errors.New("the remote has no list of keys to renew"), "check the URL; shadercache remote keys add makes a list")
	}
	return nil
}

// leakedKey revokes a key, and has readers refuse the heads of all lists before this one.
func leakedKey(l *fleet.KeyList, args []string) error {
	l.Since = l.Epoch + 1
	return revokeKey(l, args)
}

// revokeKey revokes the key of a file, or with a name.
func revokeKey(l *fleet.KeyList, args []string) error {
	id := args[0]
	if key, err := pack.ReadPublicKey(id); err == nil {
		id = fleet.KeyID(key)
	}
	k := l.Find(id)
	if k == nil {
		return cli.Hint(fmt.Errorf("no key of the list is %s", cli.EscapeName(args[0])), "shadercache remote keys list shows their names")
	}
	if k.Revoked.IsZero() {
		k.Revoked = time.Now().UTC().Truncate(time.Second)
	}
	return nil
}
