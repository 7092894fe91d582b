package http_test

import (
	"testing"

	"github.com/shadercache/shadercache/fleet/remotetest"
	"github.com/shadercache/shadercache/internal/servers"
)

func TestFleetWithNginx(t *testing.T) {
	certificates := servers.NewCertificates(t)
	n := servers.StartNginx(t, servers.NginxOptions{TLS: &certificates, User: "ci", Password: "hunter22"})
	t.Setenv("SHADERCACHE_REMOTE_CA", certificates.CA)
	t.Setenv("SHADERCACHE_REMOTE_USER", "ci")
	t.Setenv("SHADERCACHE_REMOTE_PASSWORD", "hunter22")
	remotetest.Fleet(t, n.URL.String())
}

func TestFleetWithETags(t *testing.T) {
	t.Setenv("SHADERCACHE_REMOTE_TOKEN", "token-of-ci")
	remotetest.Fleet(t, servers.StartETags(t, "token-of-ci").String())
}

func TestWritersWithNginx(t *testing.T) {
	remotetest.Writers(t, servers.StartNginx(t, servers.NginxOptions{}).URL.String(), false)
}

func TestWritersWithETags(t *testing.T) {
	t.Setenv("SHADERCACHE_REMOTE_TOKEN", "token-of-ci")
	remotetest.Writers(t, servers.StartETags(t, "token-of-ci").String(), true)
}

func TestPruneWithNginx(t *testing.T) {
	remotetest.Prune(t, servers.StartNginx(t, servers.NginxOptions{}).URL.String())
}

func TestShortProcessesWithNginx(t *testing.T) {
	u := *servers.StartNginx(t, servers.NginxOptions{}).URL
	remotetest.Resume(t, u.Host, func(address string) string {
		u.Host = address
		return u.String()
	})
}
