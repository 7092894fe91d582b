package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

const versionUsage = `Print the version, the revision it was built from, and the Go version.

JSON fields: version, revision, modified, go, platform.`

// versionResult is what version prints.
type versionResult struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Modified bool   `json:"modified"` // the tree had changes that no revision holds
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    versionUsage,
		Example: "  shadercache version --json",
		Args:    usageArgs(noArguments),
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			return o.result(v, func(w io.Writer) {
				revision := v.Revision
				if v.Modified {
					revision += " with changes"
				}
				fmt.Fprintf(w, "shadercache %s (%s, %s, %s)\n", v.Version, revision, v.Go, v.Platform)
			})
		},
	}
}

func readVersion() versionResult {
	v := versionResult{
		Version:  "(devel)",
		Revision: "unknown revision",
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
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
