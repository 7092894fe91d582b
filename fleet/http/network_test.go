package http_test

import (
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/remotetest"
	"github.com/shadercache/shadercache/internal/servers"
)

const object = "v1/0123/head"

func TestNetwork(t *testing.T) {
	t.Parallel()
	u := servers.StartNginx(t, servers.NginxOptions{}).URL
	remotetest.Network(t, u.Host, 420, func(t *testing.T, address string) fleet.Backend {
		at := *u
		at.Host = address
		return open(t, &at, nil)
	})
}
