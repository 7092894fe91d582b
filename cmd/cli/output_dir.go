package cli

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/internal/osfile"
)

// Stdout is the name of a file that stands for standard output.
const Stdout = "-"

// WriteOutput writes a result to a file that the user named: see osfile.WriteOutput, and
// [Stdout]. After it wrote to standard output, Result prints to standard error.
func (o *Options) WriteOutput(path string, mode fs.FileMode, write func(w io.Writer) error) error {
	if path != Stdout {
		return osfile.WriteOutput(path, mode, write)
	}
	out := o.Stdout
	o.Stdout = o.Stderr
	return write(out)
}

// MakeFolderOf makes the folder of a file for results: see [MakeFolder].
func MakeFolderOf(file string) error {
	if file == Stdout {
		return nil
	}
	return MakeFolder(filepath.Dir(file))
}

// NoStdout returns a usage error for an argument that would be standard output, of a
// command that writes several files.
func NoStdout(cmd *cobra.Command, path string) error {
	if path == Stdout {
		return Usage(cmd, fmt.Errorf("%s writes several files, not to standard output", cmd.Name()))
	}
	return nil
}

// MakeFolder makes a folder for results, and those above it. Call it before the work, so
// that a failure comes first.
func MakeFolder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return Hint(fmt.Errorf("there is no folder to write to: %w", err), "name a folder that you may write to")
	}
	return nil
}
