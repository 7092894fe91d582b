package s3

import (
	"net/url"
	"testing"

	"github.com/shadercache/shadercache/internal/servers"
	"github.com/shadercache/shadercache/remote"
	"github.com/shadercache/shadercache/remote/remotetest"
)

// openWith opens a backend with these variables and no others.
func openWith(t *testing.T, u *url.URL, variables map[string]string) remote.Backend {
	t.Helper()
	b, err := Open(u, remote.BackendOptions{UserAgent: "test/1", Getenv: func(name string) string { return variables[name] }})
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
	can := remote.Abilities{CompareAndSwap: true, List: true, Delete: true}
	remotetest.Conform(t, can, func(t *testing.T) remote.Backend {
		s := servers.StartS3(t)
		return openWith(t, s.URL, keys(s))
	})
}
