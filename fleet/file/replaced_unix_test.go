//go:build unix

package file

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
)

// Others of the fleet put anything in the place of an object that a writer has read, as the
// holder of a lease does for days. The write fails, and the next one of another object works.
func TestWhatReplacesAnObject(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(path string) error{
		"a file of 1 TiB": func(path string) error { return os.Truncate(path, 1<<40) },
		"a FIFO":          func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) },
		"a folder":        func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"a link outside":  func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/dev/zero", path)) },
	} {
		b, path := newBackend(t)
		tag, err := putText(b, "v1/a/lease", "one", fleet.PutOptions{})
		must(t, err)
		must(t, replace(filepath.Join(path, "v1", "a", "lease")))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := b.Put(ctx, "v1/a/lease", bytes.NewReader([]byte("two")), fleet.PutOptions{IfTag: tag}); err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.Put(ctx, "v1/a/head", bytes.NewReader([]byte("two")), fleet.PutOptions{}); err != nil {
			t.Errorf("%s, another object: %v", name, err)
		}
	}
}
