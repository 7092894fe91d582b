package main

import (
	"io"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// The machine's driver is kept, for contexts of whatever kind, also where its heads were not among
// those that were read.
func TestKeepCurrentWithoutItsHead(t *testing.T) {
	t.Parallel()
	gltest.Open(t) // skips or fails where there is no driver
	o := &options{cli.Options{Dir: t.TempDir(), Stdout: io.Discard, Stderr: io.Discard}}
	current, err := o.CurrentFingerprint()
	if err != nil {
		t.Fatal(err)
	}
	keeps, err := o.keeps(nil, []string{"current"})
	if err != nil {
		t.Fatal(err)
	}
	embedded, another := current, current
	embedded.Version = strings.Replace(current.Version, "4.5 (Core Profile) ", "OpenGL ES 3.2 ", 1)
	another.Renderer = "another"
	for _, driver := range []binary.Fingerprint{current, embedded, another} {
		if got := keeps(&fleet.Head{Driver: driver, Fingerprint: driver.Digest()}); got != (driver.Renderer == current.Renderer) {
			t.Errorf("keeps %v: %v", driver, got)
		}
	}
	if _, err := o.keeps(nil, []string{"0123456789"}); err == nil {
		t.Error("a driver that the remote does not have is kept")
	}
}
