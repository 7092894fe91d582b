package s3

import (
	"testing"

	"github.com/shadercache/shadercache/internal/servers"
	"github.com/shadercache/shadercache/remote/remotetest"
)

func TestFleet(t *testing.T) {
	s := servers.StartS3(t)
	for name, value := range keys(s) {
		t.Setenv(name, value)
	}
	remotetest.Fleet(t, s.URL.String())
}
