package s3

import (
	"net/url"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/remotetest"
	"github.com/shadercache/shadercache/internal/servers"
)

// openWith opens a backend with these variables and no others.
func openWith(t *testing.T, u *url.URL, variables map[string]string) fleet.Backend {
	t.Helper()
	b, err := openURL(u, fleet.BackendOptions{UserAgent: "test/1", Getenv: func(name string) string { return variables[name] }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func keys(s *servers.S3) map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": s.AccessKey, "AWS_SECRET_ACCESS_KEY": s.SecretKey}
}

func TestVersityGatewayConforms(t *testing.T) {
	t.Parallel()
	can := fleet.Abilities{CompareAndSwap: true, List: true, Delete: true}
	remotetest.Conform(t, can, func(t *testing.T) fleet.Backend {
		s := servers.StartS3(t)
		return openWith(t, s.URL, keys(s))
	})
}
