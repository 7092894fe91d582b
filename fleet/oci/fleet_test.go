package oci

import (
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/remotetest"
	"github.com/shadercache/shadercache/internal/servers"
)

func TestFleet(t *testing.T) {
	u := servers.StartRegistry(t, servers.RegistryOptions{Auth: true})
	for name, value := range dockerLogin(t, u.Host, servers.RegistryUser, servers.RegistryPassword) {
		t.Setenv(name, value)
	}
	remotetest.Fleet(t, u.String()+":nightly")
}

func TestWriters(t *testing.T) {
	remotetest.Writers(t, servers.StartRegistry(t, servers.RegistryOptions{}).String(), false)
}

func TestPrune(t *testing.T) {
	remotetest.Prune(t, servers.StartRegistry(t, servers.RegistryOptions{}).String())
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	u := servers.StartRegistry(t, servers.RegistryOptions{})
	remotetest.Network(t, u.Host, 800, func(t *testing.T, address string) fleet.Backend {
		at := *u
		at.Host = address
		return openWith(t, &at, nil)
	})
}

func TestShortProcesses(t *testing.T) {
	u := *servers.StartRegistry(t, servers.RegistryOptions{})
	remotetest.Resume(t, u.Host, func(address string) string {
		u.Host = address
		return u.String()
	})
}
