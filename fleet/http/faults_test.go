package http_test

import (
	"net/url"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/remotetest"
)

func TestFaults(t *testing.T) {
	remotetest.Faults(t, fleet.ErrProtocol, func(t *testing.T, address string) fleet.Backend {
		return open(t, &url.URL{
			Scheme: "http", Host: address, Path: "/cache",
			User: url.UserPassword(remotetest.User, remotetest.Password),
		}, nil)
	})
}
