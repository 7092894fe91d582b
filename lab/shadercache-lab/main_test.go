package main

import (
	"io"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, map[string]func(){"shadercache-lab": main}) }

// TestCommand runs the scripts that need no OpenGL.
func TestCommand(t *testing.T) { testscript.Run(t, clitest.Scripts("testdata/script")) }

// TestCommandOnGPU runs the scripts that start processes with OpenGL. Some also run shadercache.
func TestCommandOnGPU(t *testing.T) {
	clitest.BuildShadercache(t)
	testscript.Run(t, clitest.ScriptsOnGPU(t, "testdata/script/gpu"))
}

// TestCommandOnTwoDrivers runs the scripts whose processes see a second GPU, of another driver.
func TestCommandOnTwoDrivers(t *testing.T) {
	testscript.Run(t, clitest.ScriptsOnTwoDrivers(t, "testdata/script/twin"))
}

// rootFor returns the root of the command that prints to out, and its options.
func rootFor(out io.Writer) (*cobra.Command, *cli.Options) {
	o := &options{cli.Options{Stdout: out, Stderr: io.Discard}}
	return newRoot(o), &o.Options
}

func TestHelpOfAll(t *testing.T)                { clitest.HelpOfAll(t, rootFor) }
func TestHelpFitsATerminal(t *testing.T)        { clitest.HelpFitsATerminal(t, rootFor) }
func TestListsInHelpAreAligned(t *testing.T)    { clitest.ListsInHelpAreAligned(t, rootFor) }
func TestEveryCommandHasAnExample(t *testing.T) { clitest.EveryCommandHasAnExample(t, rootFor) }
func TestJSONSchema(t *testing.T)               { clitest.JSONSchema(t, rootFor) }
func TestEveryCommandHasAResult(t *testing.T)   { clitest.EveryCommandHasAResult(t, rootFor) }
