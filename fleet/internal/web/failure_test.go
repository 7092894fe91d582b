package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

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
