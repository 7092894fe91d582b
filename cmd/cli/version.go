package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version identifies a build.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Modified bool   `json:"modified"` // built from a tree with uncommitted changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// revision is what an executable was built from where the go command does not record it,
// as in test binaries. The linker sets it:
//
//	-ldflags "-X github.com/shadercache/shadercache/cmd/cli.revision=$(git describe --always --abbrev=12 --dirty=' with changes')"
var revision string

// ReadVersion returns the version of this executable.
func ReadVersion() Version {
	v := Version{
		Version:  "(devel)",
		Revision: "unknown revision",
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if revision != "" {
		v.Revision = revision
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

const versionUsage = `Print the version, the revision it was built from, and the Go version.`

func (o *Options) version(name string) Command {
	return Command{
		Use: "version [flags]", Short: "Print the version", Long: versionUsage,
		Example: "  " + name + " version --json",
		Unused:  DirFlags + GPUFlags, Result: Version{},
		Run: func(cmd *cobra.Command, _ []string) (Result, error) { return nil, o.printVersion(cmd) },
	}
}

// printVersion prints the version of the command that cmd is part of.
func (o *Options) printVersion(cmd *cobra.Command) error {
	v := ReadVersion()
	return o.Result(v, func(w io.Writer) {
		revision := v.Revision
		if v.Modified {
			revision += " with changes"
		}
		fmt.Fprintf(w, "%s %s (%s, %s, %s)\n", cmd.Root().Name(), v.Version, revision, v.Go, v.Platform)
	})
}
