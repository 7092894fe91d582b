package main

import (
	"io"
	"testing"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// The machine's driver is kept also where its head was not among those that were read.
func TestKeepCurrentWithoutItsHead(t *testing.T) {
	t.Parallel()
	gltest.Open(t) // skips or fails where there is no driver
	o := &options{cli.Options{Dir: t.TempDir(), Stdout: io.Discard, Stderr: io.Discard}}
	current, err := o.CurrentFingerprint()
	if err != nil {
		t.Fatal(err)
	}
	keep, err := o.keptHeads(nil, []string{"current"})
	if err != nil || len(keep) != 1 || keep[0] != current.Digest() {
		t.Errorf("kept %v (%v), want %v", keep, err, current.Digest())
	}
}
