package oci

import (
	"net/url"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/remotetest"
)

func TestFaults(t *testing.T) {
	remotetest.Faults(t, fleet.ErrUnreachable, func(t *testing.T, address string) fleet.Backend {
		return openWith(t, &url.URL{
			Scheme: "oci", Host: address, Path: "/fleet/shaders", RawQuery: "insecure=1",
			User: url.UserPassword(remotetest.User, remotetest.Password),
		}, nil)
	})
}
