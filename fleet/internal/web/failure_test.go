package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// TestProxyThatRefuses: its status is the class, and its text, which may have what was sent to
// it, is in no error.
func TestProxyThatRefuses(t *testing.T) {
	for status, want := range map[string]error{
		"407 the password is hunter22": fleet.ErrDenied, "403 no": fleet.ErrDenied, "404 hunter22": fleet.ErrUnreachable, "503": fleet.ErrUnreachable,
	} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = conn.Write([]byte("HTTP/1.1 " + status + "\r\n\r\n"))
		}))
		defer proxy.Close()
		transport, err := NewTransport(func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		transport.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
		request := httptest.NewRequest(http.MethodGet, "https://cache.example.test/", nil)
		_, err = transport.RoundTrip(request)
		if err = Classify(t.Context(), err); !errors.Is(err, want) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %v", status, err)
		}
	}
}

// TestHeadersThatAreTooLong: they are no answer of a store, also by HTTP/2.
func TestHeadersThatAreTooLong(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		server := newCounted(t, scheme)
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := range 200 {
				w.Header().Set(fmt.Sprint("X", i), strings.Repeat("x", 1000))
			}
		})
		client := http.Client{Transport: server.transport(t)}
		_, err := client.Get(server.url.String())
		if err = Classify(t.Context(), err); !errors.Is(err, fleet.ErrProtocol) {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// TestRedirectsThatAreFollowed: to the same host, of requests that read, three times.
func TestRedirectsThatAreFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		method, next string
		times        int
		follows      bool
	}{
		"to another path": {http.MethodGet, "https://host/b", 1, true},
		"of a look":       {http.MethodHead, "https://host/b", 1, true},
		"three times":     {http.MethodGet, "https://host/b", 3, true},
		"four times":      {http.MethodGet, "https://host/b", 4, false},
		"to plain HTTP":   {http.MethodGet, "http://host/b", 1, false},
		"to another port": {http.MethodGet, "https://host:444/b", 1, false},
		"to another host": {http.MethodGet, "https://host.example.test/b", 1, false},
		"of an upload":    {http.MethodPut, "https://host/b", 1, false},
		"of a deletion":   {http.MethodDelete, "https://host/b", 1, false},
	} {
		via := make([]*http.Request, c.times)
		for i := range via {
			via[i] = httptest.NewRequest(c.method, "https://host/a", nil)
		}
		if err := SameHost(httptest.NewRequest(c.method, c.next, nil), via); (err == nil) != c.follows {
			t.Errorf("%s: %v", name, err)
		}
	}
}
