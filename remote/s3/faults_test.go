package s3

import (
	"net/url"
	"testing"

	"github.com/shadercache/shadercache/remote"
	"github.com/shadercache/shadercache/remote/remotetest"
)

func TestFaults(t *testing.T) {
	remotetest.Faults(t, remote.ErrProtocol, func(t *testing.T, address string) remote.Backend {
		return openWith(t, &url.URL{
			Scheme: "s3", Host: "packs", Path: "/cache", RawQuery: "endpoint=http://" + address,
			User: url.UserPassword(remotetest.User, remotetest.Password),
		}, nil)
	})
}
