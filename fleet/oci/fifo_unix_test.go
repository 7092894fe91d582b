//go:build unix

package oci

import (
	"testing"

	"github.com/shadercache/shadercache/fleet/remotetest"
)

func TestCredentialsOfAFIFO(t *testing.T) {
	remotetest.RefusesFIFO(t, openURL, "oci", "DOCKER_CONFIG", "config.json")
}
