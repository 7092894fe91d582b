//go:build unix

package remotetest

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// RefusesFIFO checks that a backend does not wait for the writer of a file of credentials that
// is a FIFO. The file is path below the directory that a variable names.
func RefusesFIFO(t *testing.T, open func(*url.URL, fleet.BackendOptions) (fleet.Backend, error), scheme, variable, path string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	u := &url.URL{Scheme: scheme, Host: "host", Path: "/fleet"}
	_, err := open(u, fleet.BackendOptions{Getenv: func(name string) string { return map[string]string{variable: dir}[name] }})
	if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Error(err)
	}
}
