package http_test

import (
	"testing"

	"github.com/shadercache/shadercache/internal/servers"
	"github.com/shadercache/shadercache/remote/remotetest"
)

func TestShortProcessesWithNginx(t *testing.T) {
	u := *servers.StartNginx(t, servers.NginxOptions{}).URL
	remotetest.Resume(t, u.Host, func(address string) string {
		u.Host = address
		return u.String()
	})
}
