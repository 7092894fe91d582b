//go:build unix

package http_test

import (
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	backend "github.com/shadercache/shadercache/fleet/http"
)

// A file of settings that is a FIFO, whose writer never comes, or without an end is an error.
func TestFilesThatAreNotRegular(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, variables := range map[string]map[string]string{
		"CA":       {"SHADERCACHE_REMOTE_CA": fifo},
		"CERT":     {"SHADERCACHE_REMOTE_CERT": fifo, "SHADERCACHE_REMOTE_KEY": fifo},
		"TOKEN":    {"SHADERCACHE_REMOTE_TOKEN_FILE": fifo},
		"PASSWORD": {"SHADERCACHE_REMOTE_USER": "ci", "SHADERCACHE_REMOTE_PASSWORD_FILE": fifo},
		"netrc":    {"NETRC": fifo},
		"endless":  {"NETRC": "/dev/zero"},
	} {
		_, err := backend.Open(&url.URL{Scheme: "https", Host: "host"}, fleet.BackendOptions{
			Getenv: func(name string) string { return variables[name] },
		})
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
