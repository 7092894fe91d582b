package file

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/remotetest"
	"github.com/shadercache/shadercache/internal/osfile"
)

func TestConforms(t *testing.T) {
	t.Parallel()
	can := fleet.Abilities{CompareAndSwap: osfile.HasLocks, List: true, Delete: true}
	remotetest.Conform(t, can, func(t *testing.T) fleet.Backend {
		b, err := open(&url.URL{Scheme: "file", Path: filepath.ToSlash(t.TempDir()) + "/store"}, fleet.BackendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}

func TestPrune(t *testing.T) {
	remotetest.Prune(t, "file://"+filepath.ToSlash(t.TempDir())+"/store")
}
