package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/fleet"
)

// Version identifies a build.
type Version struct {
	Version  string   `json:"version"`
	Revision string   `json:"revision"`
	Date     string   `json:"date,omitzero"` // of the revision, where it is known
	Modified bool     `json:"modified"`      // built from a tree with uncommitted changes
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Remotes  []string `json:"remotes"` // schemes of URLs
	Window   bool     `json:"window"`  // it can have a context with a window
}

// The linker sets them for a release (scripts/dist), and revision where the go command does not
// record it, as in test binaries:
//
//	-ldflags "-X github.com/shadercache/shadercache/cmd/cli.revision=$(git describe --always --abbrev=12 --dirty=' with changes')"
var version, revision, date string

// ReadVersion returns the version of this executable.
func ReadVersion() Version {
	v := Version{
		Version:  "(devel)",
		Revision: cmp.Or(revision, "unknown revision"),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Date:     date,
		Remotes:  fleet.Schemes(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = cmp.Or(version, info.Main.Version, v.Version)
	v.Window = slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return strings.HasPrefix(m.Path, "github.com/go-gl/glfw/") })
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value[:min(12, len(s.Value))]
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

const versionUsage = `Print the version, the revision it was built from, and the Go version. --json
has the date of the revision and what is linked in as well.`

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
