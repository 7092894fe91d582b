package http_test

import (
	"net/url"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/http"
	"github.com/shadercache/shadercache/fleet/remotetest"
	"github.com/shadercache/shadercache/internal/servers"
)

// open opens a backend with these variables and no others.
func open(t *testing.T, u *url.URL, variables map[string]string) fleet.Backend {
	t.Helper()
	getenv := func(name string) string { return variables[name] }
	b, err := http.Open(u, fleet.BackendOptions{UserAgent: "test", Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func TestNginxConforms(t *testing.T) {
	t.Parallel()
	remotetest.Conform(t, fleet.Abilities{List: true, Delete: true}, func(t *testing.T) fleet.Backend {
		return open(t, servers.StartNginx(t, servers.NginxOptions{}).URL, nil)
	})
}

func TestNginxWithTLSConforms(t *testing.T) {
	t.Parallel()
	certificates := servers.NewCertificates(t)
	remotetest.Conform(t, fleet.Abilities{Delete: true}, func(t *testing.T) fleet.Backend {
		n := servers.StartNginx(t, servers.NginxOptions{
			TLS: &certificates, ClientCert: true, User: "ci", Password: "hunter22", WithoutIndex: true,
		})
		return open(t, n.URL, map[string]string{
			"SHADERCACHE_REMOTE_CA":   certificates.CA,
			"SHADERCACHE_REMOTE_CERT": certificates.ClientCert, "SHADERCACHE_REMOTE_KEY": certificates.ClientKey,
			"SHADERCACHE_REMOTE_USER": "ci", "SHADERCACHE_REMOTE_PASSWORD": "hunter22",
		})
	})
}

func TestServerWithETagsConforms(t *testing.T) {
	t.Parallel()
	remotetest.Conform(t, fleet.Abilities{CompareAndSwap: true}, func(t *testing.T) fleet.Backend {
		const token = "a-token-of-ci"
		return open(t, servers.StartETags(t, token), map[string]string{"SHADERCACHE_REMOTE_TOKEN": token})
	})
}
