package http_test

import (
	"net/url"
	"testing"

	"github.com/shadercache/shadercache/remote"
	"github.com/shadercache/shadercache/remote/remotetest"
)

func TestFaults(t *testing.T) {
	remotetest.Faults(t, remote.ErrProtocol, func(t *testing.T, address string) remote.Backend {
		return open(t, &url.URL{
			Scheme: "http", Host: address, Path: "/cache",
			User: url.UserPassword(remotetest.User, remotetest.Password),
		}, nil)
	})
}
