package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet/pack"
)

const keygenUsage = `Make a key pair for signing what export writes.

FILE is the private key, readable only by you: keep it where export runs.
FILE.pub is the public key, for import --verify. Both are ed25519 keys in PEM,
the format of openssl. No file is replaced.

With --root it is a root key: it signs the list of keys of a remote, see remote
keys, and nothing else. Keep it on a machine without a network.`

// keygenResult is what keygen prints.
type keygenResult struct {
	Private string `json:"private"`
	Public  string `json:"public"`
}

func (o *options) keygenCommand() cli.Command {
	var f struct {
		Root bool `flag:"root" help:"make a root key, which signs lists of keys"`
	}
	return cli.Command{
		Use:     "keygen [--root] FILE",
		Short:   "Make a key pair for signing exports",
		Long:    keygenUsage,
		Example: "  shadercache keygen release.key\n  shadercache keygen --root root.key",
		Args:    cli.OneArgument("name one file"),
		Flags:   &f, Unused: cli.DirFlags + cli.GPUFlags, Result: keygenResult{},
		Check: func(cmd *cobra.Command, args []string) error { return cli.NoStdout(cmd, args[0]) },
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) {
			generate := pack.GenerateKey
			if f.Root {
				generate = pack.GenerateRootKey
			}
			err := generate(args[0])
			if errors.Is(err, fs.ErrExist) {
				err = cli.Hint(err, "name another file: a key is never replaced")
			}
			return keygenResult{Private: args[0], Public: args[0] + ".pub"}, err
		},
	}
}

func (r keygenResult) Print(w io.Writer) {
	fmt.Fprintf(w, "private key\t%s\npublic key\t%s\n", cli.EscapeName(r.Private), cli.EscapeName(r.Public))
}
