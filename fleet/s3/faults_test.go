package s3

import (
	"net/url"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/remotetest"
)

// The client waits after its last attempt. No test may depend on that.
func init() { minio.DefaultRetryUnit, minio.DefaultRetryCap = time.Hour, time.Hour }

func TestFaults(t *testing.T) {
	remotetest.Faults(t, fleet.ErrProtocol, func(t *testing.T, address string) fleet.Backend {
		return openWith(t, &url.URL{
			Scheme: "s3", Host: "packs", Path: "/cache", RawQuery: "endpoint=http://" + address,
			User: url.UserPassword(remotetest.User, remotetest.Password),
		}, nil)
	})
}
