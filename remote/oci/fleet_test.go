package oci

import (
	"testing"

	"github.com/shadercache/shadercache/internal/servers"
	"github.com/shadercache/shadercache/remote/remotetest"
)

func TestFleet(t *testing.T) {
	u := servers.StartRegistry(t, servers.RegistryOptions{Auth: true})
	for name, value := range dockerLogin(t, u.Host, servers.RegistryUser, servers.RegistryPassword) {
		t.Setenv(name, value)
	}
	remotetest.Fleet(t, u.String()+":nightly")
}
