package servers

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
)

// StartETags starts a cache of build results with GET, HEAD and PUT, which honours If-Match
// and If-None-Match, and asks for a bearer token. It does not delete or list. It keeps its
// objects in memory: none of Debian's servers compares and swaps.
func StartETags(t testing.TB, token string) *url.URL {
	t.Helper()
	var mu sync.Mutex
	objects := map[string][]byte{}
	tag := func(data []byte) string { return fmt.Sprintf(`"%x"`, sha256.Sum256(data)) }
	put := func(w http.ResponseWriter, r *http.Request) int {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return http.StatusBadRequest
		}
		mu.Lock()
		defer mu.Unlock()
		old, exists := objects[r.URL.Path]
		if match := r.Header.Get("If-Match"); match != "" && (!exists || match != tag(old)) ||
			r.Header.Get("If-None-Match") == "*" && exists {
			return http.StatusPreconditionFailed
		}
		objects[r.URL.Path] = data
		w.Header().Set("ETag", tag(data))
		return http.StatusCreated
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.Method {
		case http.MethodPut:
			w.WriteHeader(put(w, r))
		case http.MethodGet, http.MethodHead:
			mu.Lock()
			data, exists := objects[r.URL.Path]
			mu.Unlock()
			if !exists {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("ETag", tag(data))
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			w.Write(data)
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL + "/cache")
	if err != nil {
		t.Fatal(err)
	}
	return u
}
