package oci

import (
	"testing"

	"github.com/shadercache/shadercache/internal/servers"
	"github.com/shadercache/shadercache/remote/remotetest"
)

func TestShortProcesses(t *testing.T) {
	u := *servers.StartRegistry(t, servers.RegistryOptions{})
	remotetest.Resume(t, u.Host, func(address string) string {
		u.Host = address
		return u.String()
	})
}
