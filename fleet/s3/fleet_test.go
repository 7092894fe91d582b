package s3

import (
	"net/url"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/remotetest"
	"github.com/shadercache/shadercache/internal/servers"
)

func TestFleet(t *testing.T) {
	remotetest.Fleet(t, startS3(t).URL.String())
}

func TestWriters(t *testing.T) {
	remotetest.Writers(t, startS3(t).URL.String(), true)
}

func TestPrune(t *testing.T) {
	remotetest.Prune(t, startS3(t).URL.String())
}

func TestShortProcesses(t *testing.T) {
	s := startS3(t)
	remotetest.Resume(t, host(t, s), func(address string) string { return at(s, address).String() })
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	s := servers.StartS3(t)
	remotetest.Network(t, host(t, s), 1000, func(t *testing.T, address string) fleet.Backend {
		return openWith(t, at(s, address), keys(s))
	})
}

// startS3 starts a gateway, and puts its credentials into the environment.
func startS3(t *testing.T) *servers.S3 {
	t.Helper()
	s := servers.StartS3(t)
	for name, value := range keys(s) {
		t.Setenv(name, value)
	}
	return s
}

// host returns the address of the store.
func host(t *testing.T, s *servers.S3) string {
	t.Helper()
	u, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// at returns the URL of the store at another address.
func at(s *servers.S3, address string) *url.URL {
	u := *s.URL
	u.RawQuery = "endpoint=" + url.QueryEscape("http://"+address)
	return &u
}
