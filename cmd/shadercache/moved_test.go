package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/cli"
)

// Each command that moved is a wrong command line with its new name, whatever its arguments.
func TestMovedCommandsAreNamed(t *testing.T) {
	for parent, names := range moved {
		for _, name := range names {
			old := strings.Fields("shadercache " + parent + " " + name)
			root, o := rootFor(io.Discard)
			root.SetArgs(append(old[1:], "x", "--flag", "--help"))
			err := root.Execute()
			if want := "shadercache-lab " + strings.Join(old[1:], " "); !errors.As(err, new(cli.UsageError)) || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v: %v", old, err)
			}
			if code := o.Report(err); code != cli.ExitUsage || cli.HintFor(err) != "make lab builds bin/shadercache-lab" {
				t.Errorf("%v: exit code %d, hint %q", old, code, cli.HintFor(err))
			}
		}
	}
}
