package oci

import (
	"net/url"
	"testing"

	"github.com/shadercache/shadercache/remote"
	"github.com/shadercache/shadercache/remote/remotetest"
)

func TestFaults(t *testing.T) {
	remotetest.Faults(t, remote.ErrUnreachable, func(t *testing.T, address string) remote.Backend {
		return openWith(t, &url.URL{
			Scheme: "oci", Host: address, Path: "/fleet/shaders", RawQuery: "insecure=1",
			User: url.UserPassword(remotetest.User, remotetest.Password),
		}, nil)
	})
}
