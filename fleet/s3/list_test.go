package s3

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// A store that lists keys outside of the prefix is refused: without it, they would be names of
// other objects. Keys that no object of a remote can have, such as the markers of folders, are left out.
func TestKeysOutsideThePrefix(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]error{
		"fleet/v1/ab/head": nil, "v1/ab/head": fleet.ErrProtocol, "other/v1/ab/head": fleet.ErrProtocol, "fleet/../v1/ab/head": fleet.ErrProtocol,
		"fleet/v1/": nil, "fleet/v1/ab/": nil, "fleet/v1//head": nil, "fleet/v1/ab/../head": nil,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `<ListBucketResult><Name>bucket</Name><Contents><Key>%s</Key><Size>1</Size></Contents></ListBucketResult>`, key)
		}))
		u := &url.URL{Scheme: "s3", Host: "bucket", Path: "/fleet", RawQuery: url.Values{"endpoint": {server.URL}, "path-style": {"1"}}.Encode()}
		b := openWith(t, u, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
		if found, err := b.List(t.Context(), "v1/"); !errors.Is(err, want) || (len(found) == 1) != (key == "fleet/v1/ab/head") {
			t.Errorf("%s: got %v, %v, not %v", key, found, err, want)
		}
		server.Close()
	}
}

// A bucket that lists without end, with keys that are right, is refused.
func TestAListingOfTooMany(t *testing.T) {
	t.Parallel()
	sent := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<ListBucketResult><Name>bucket</Name><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>`)
		for range maxObjects / 4 {
			sent++
			fmt.Fprintf(w, `<Contents><Key>v1/%d</Key></Contents>`, sent)
		}
		fmt.Fprint(w, `</ListBucketResult>`)
	}))
	t.Cleanup(server.Close)
	u := &url.URL{Scheme: "s3", Host: "bucket", RawQuery: url.Values{"endpoint": {server.URL}, "path-style": {"1"}}.Encode()}
	b := openWith(t, u, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
	if found, err := b.List(t.Context(), "v1/"); !errors.Is(err, fleet.ErrProtocol) || len(found) > maxObjects {
		t.Errorf("%d objects of %d, %v", len(found), sent, err)
	}
}
