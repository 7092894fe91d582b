package http_test

import (
	"testing"

	"github.com/shadercache/shadercache/internal/servers"
	"github.com/shadercache/shadercache/remote"
	"github.com/shadercache/shadercache/remote/remotetest"
)

const object = "v1/0123/head"

func TestNetwork(t *testing.T) {
	t.Parallel()
	u := servers.StartNginx(t, servers.NginxOptions{}).URL
	remotetest.Network(t, u.Host, 420, func(t *testing.T, address string) remote.Backend {
		at := *u
		at.Host = address
		return open(t, &at, nil)
	})
}
