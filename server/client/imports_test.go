//go:build linux

package client_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAClientNeedsNeitherCgoNorOpenGL lists what a client links: its start is what a
// server is for.
func TestAClientNeedsNeitherCgoNorOpenGL(t *testing.T) {
	list := exec.Command("go", "list", "-deps", ".")
	list.Env = append(list.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range strings.Fields(string(out)) {
		for _, part := range []string{"glctx", "go-gl", "shadercache/executor", "shadercache/cache", "shadercache/binary", "runtime/cgo", "net/http", "crypto/tls", "cobra", "bbolt"} {
			if strings.Contains(dependency, part) {
				t.Errorf("the client links %s", dependency)
			}
		}
	}
}
