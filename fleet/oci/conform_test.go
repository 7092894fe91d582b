package oci

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/remotetest"
	"github.com/shadercache/shadercache/internal/servers"
)

// openWith opens a backend with these variables and no others.
func openWith(t *testing.T, u *url.URL, variables map[string]string) fleet.Backend {
	t.Helper()
	b, err := openURL(u, fleet.BackendOptions{UserAgent: "test", Getenv: func(name string) string { return variables[name] }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// dockerLogin writes Docker's configuration with credentials for a registry.
func dockerLogin(t *testing.T, host, user, password string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	secret := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	text := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, secret)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"DOCKER_CONFIG": dir}
}

func TestRegistryConforms(t *testing.T) {
	t.Parallel()
	remotetest.Conform(t, fleet.Abilities{List: true, Delete: true}, func(t *testing.T) fleet.Backend {
		return openWith(t, servers.StartRegistry(t, servers.RegistryOptions{}), nil)
	})
}

func TestRegistryWithAuthConforms(t *testing.T) {
	t.Parallel()
	remotetest.Conform(t, fleet.Abilities{List: true}, func(t *testing.T) fleet.Backend {
		u := servers.StartRegistry(t, servers.RegistryOptions{Auth: true, WithoutDelete: true})
		u.Path += ":nightly"
		return openWith(t, u, dockerLogin(t, u.Host, servers.RegistryUser, servers.RegistryPassword))
	})
}
