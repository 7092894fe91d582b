package s3

import (
	"net/url"
	"testing"

	"github.com/shadercache/shadercache/internal/servers"
	"github.com/shadercache/shadercache/remote/remotetest"
)

func TestShortProcesses(t *testing.T) {
	s := servers.StartS3(t)
	for name, value := range keys(s) {
		t.Setenv(name, value)
	}
	server, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	remotetest.Resume(t, server.Host, func(address string) string { return at(s, address).String() })
}

// at returns the URL of the store at another address.
func at(s *servers.S3, address string) *url.URL {
	u := *s.URL
	u.RawQuery = "endpoint=" + url.QueryEscape("http://"+address)
	return &u
}
