package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// TestCommandOnTwoDrivers runs the scripts whose processes see a second GPU.
func TestCommandOnTwoDrivers(t *testing.T) {
	testscript.Run(t, clitest.ScriptsOnTwoDrivers(t, "testdata/script/twin"))
}

// The process that measures a problem ends when that of tune is killed.
func TestKilledTuning(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	cmd := clitest.SelfAs(t, "shadercache", "tune", "gemm:4096x4096x4096", "--budget", "10m", "--device", strings.Join(gltest.Devices(2), ","), "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	clitest.EndsWith(t, cmd, "--all")
}
