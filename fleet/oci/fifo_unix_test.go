//go:build unix

package oci

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// A file of credentials that is a FIFO, whose writer never comes, is an error.
func TestCredentialsOfAFIFO(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	u := &url.URL{Scheme: "oci", Host: "host", Path: "/fleet"}
	_, err := openURL(u, fleet.BackendOptions{Getenv: func(name string) string { return map[string]string{"DOCKER_CONFIG": dir}[name] }})
	if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Error(err)
	}
}
