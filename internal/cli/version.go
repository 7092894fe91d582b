package cli

import (
	"runtime"
	"runtime/debug"
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
//	-ldflags "-X github.com/shadercache/shadercache/internal/cli.revision=$(git describe --always --abbrev=12 --dirty=' with changes')"
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
