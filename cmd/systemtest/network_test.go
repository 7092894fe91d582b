package systemtest_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The library links network code only where a program imports a backend of package remote.
// The backend for directories has none. The front door has package net, for the Unix socket
// of a server, and neither HTTP nor TLS.
func TestNoNetworkWithoutABackend(t *testing.T) {
	never := []string{"net/http", "crypto/tls", "crypto/x509", module + "/fleet/http"}
	for pkg, banned := range map[string][]string{
		".":            never,
		"./fleet":      append(never, "net"),
		"./fleet/file": append(never, "net"),
		"./fleet/pack": append(never, "net"),
		"./cache":      append(never, "net"),
		"./glctx":      append(never, "net"),
		"./executor":   append(never, "net"),
	} {
		list, err := exec.Command("go", "list", "-tags", "egl", "-deps", pkg).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", pkg, err)
		}
		deps := strings.Fields(string(list))
		if !slices.Contains(deps, "runtime") {
			t.Fatalf("go list -deps %s: %q", pkg, deps)
		}
		for _, network := range banned {
			if slices.Contains(deps, network) {
				t.Errorf("%s links %s", pkg, network)
			}
		}
	}
}
