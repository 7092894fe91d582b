// Command s3gateway serves a directory by S3, for tests: versitygw with its file backend.
// It has a module of its own, so that the project does not depend on what a server needs.
//
//	s3gateway ADDRESS DIRECTORY
//
// The credentials are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Folders of the
// directory are its buckets.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: s3gateway ADDRESS DIRECTORY")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "s3gateway:", err)
		os.Exit(1)
	}
}

// serve serves until it is interrupted. Tags are extended attributes, which change with
// their object. In a folder beside the directory (--sidecar of versitygw) the tag of an
// object changes before its content does: a reader in between has what was there with the
// tag of what comes, and its conditional write undoes that of another.
func serve(address, dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := (meta.XattrMeta{}).Test(dir); err != nil {
		return fmt.Errorf("TMPDIR has to be on a file system with extended attributes: %w", err)
	}
	files, err := posix.New(dir, meta.XattrMeta{}, posix.PosixOpts{NewDirPerm: 0o700, Concurrency: 100})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, files, &embedgw.Config{
		RootUserAccess:    os.Getenv("AWS_ACCESS_KEY_ID"),
		RootUserSecret:    os.Getenv("AWS_SECRET_ACCESS_KEY"),
		Region:            "us-east-1",
		Ports:             []string{address},
		MaxConnections:    1000,
		MaxRequests:       1000,
		MultipartMaxParts: 10_000,
		KeepAlive:         true,
		Quiet:             true,
	})
}
