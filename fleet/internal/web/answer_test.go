package web

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
)

// TestAnswersThatAreNoObject: the bytes from 100 on of an object of 300 are asked for.
func TestAnswersThatAreNoObject(t *testing.T) {
	for name, c := range map[string]struct {
		header string // Content-Range
		length int64
		size   int64
		err    error
	}{
		"those asked for":     {"bytes 100-299/300", 200, 300, nil},
		"of unknown length":   {"bytes 100-299/300", -1, 300, nil},
		"the whole object":    {"", 300, 0, errors.ErrUnsupported},
		"from another byte":   {"bytes 99-299/300", 201, 0, fleet.ErrProtocol},
		"not to the end":      {"bytes 100-199/300", 200, 0, fleet.ErrProtocol},
		"of another length":   {"bytes 100-299/300", 100, 0, fleet.ErrProtocol},
		"of no known size":    {"bytes 100-299/*", 200, 0, fleet.ErrProtocol},
		"of a negative size":  {"bytes 100--2/-1", -1, 0, fleet.ErrProtocol},
		"ending before it is": {"bytes 100-49/50", -1, 0, fleet.ErrProtocol},
	} {
		size, err := CheckRange(http.Header{"Content-Range": {c.header}}, c.length, 100)
		if !errors.Is(err, c.err) || err == nil && size != c.size || err != nil && c.err == nil {
			t.Errorf("%s: %d bytes, %v", name, size, err)
		}
	}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Encoding": {"gzip"}}}
	if _, err := CheckObject(response, 0); !errors.Is(err, fleet.ErrProtocol) {
		t.Errorf("an object in another encoding: %v", err)
	}
}

// TestHeadersWithLimits: a weak tag matches nothing, and no server asks for more than a day.
func TestHeadersWithLimits(t *testing.T) {
	now := time.Unix(1773500000, 0)
	for text, want := range map[string]time.Duration{
		"7": 7 * time.Second, "2147483647": maxRetryAfter, "-1": 0, "soon": 0,
		now.Add(48 * time.Hour).UTC().Format(http.TimeFormat): maxRetryAfter,
		now.Add(-time.Hour).UTC().Format(http.TimeFormat):     0,
	} {
		if got := retryAfter(&http.Response{Header: http.Header{"Retry-After": {text}}}, now); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for tag, want := range map[string]string{`"a"`: `"a"`, `W/"a"`: "", "": ""} {
		if got := StrongTag(&http.Response{Header: http.Header{"Etag": {tag}}}); got != want {
			t.Errorf("%s: %q", tag, got)
		}
	}
}

// TestListingsThatAreTooLong: each of the three bounds ends one, and none ends another request.
func TestListingsThatAreTooLong(t *testing.T) {
	for name, c := range map[string]struct {
		o       Outcome
		refused bool
	}{
		"the longest":   {Outcome{listing: true, pages: maxPages, page: maxPageBytes, bytes: MaxListingBytes}, false},
		"many pages":    {Outcome{listing: true, pages: maxPages + 1}, true},
		"a long page":   {Outcome{listing: true, page: maxPageBytes + 1}, true},
		"many bytes":    {Outcome{listing: true, bytes: MaxListingBytes + 1}, true},
		"of no listing": {Outcome{pages: maxPages + 1, page: maxPageBytes + 1, bytes: MaxListingBytes + 1}, false},
	} {
		if err := c.o.refuse(); errors.Is(err, fleet.ErrProtocol) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
