package file

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/remote"
	"github.com/shadercache/shadercache/remote/remotetest"
)

func TestConforms(t *testing.T) {
	t.Parallel()
	can := remote.Abilities{CompareAndSwap: osfile.HasLocks, List: true, Delete: true}
	remotetest.Conform(t, can, func(t *testing.T) remote.Backend {
		b, err := open(&url.URL{Scheme: "file", Path: filepath.ToSlash(t.TempDir()) + "/store"}, remote.BackendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}
