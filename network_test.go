package shadercache_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The library links network code only where a program imports a backend of package remote.
// The backend for directories has none.
func TestNoNetworkWithoutABackend(t *testing.T) {
	for _, pkg := range []string{".", "./remote", "./remote/file", "./bundle"} {
		list, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", pkg, err)
		}
		deps := strings.Fields(string(list))
		if !slices.Contains(deps, "runtime") {
			t.Fatalf("go list -deps %s: %q", pkg, deps)
		}
		for _, network := range []string{"net", "net/http", "crypto/tls"} {
			if slices.Contains(deps, network) {
				t.Errorf("%s links %s", pkg, network)
			}
		}
	}
}
