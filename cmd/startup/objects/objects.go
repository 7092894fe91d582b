// Package objects is a server of objects in memory, for benchmarks of a remote: GET, HEAD,
// PUT and DELETE over HTTP, with entity tags.
package objects

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"sync"
	"time"
)

// maxBytes bounds an object.
const maxBytes = 1 << 30

// Store is an http.Handler. Its zero value is empty.
type Store struct {
	mu      sync.Mutex
	objects map[string]object // by path
}

type object struct {
	data    []byte
	tag     string // with its quotes
	changed time.Time
}

// ServeHTTP answers one request.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		s.get(w, r)
	case http.MethodPut:
		s.put(w, r)
	case http.MethodDelete:
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "no such method here", http.StatusMethodNotAllowed)
	}
}

func (s *Store) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	o, found := s.objects[r.URL.Path]
	s.mu.Unlock()
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", o.tag)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", o.changed, bytes.NewReader(o.data))
}

func (s *Store) put(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	sum := sha256.Sum256(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.objects[r.URL.Path]
	match, noneMatch := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if match != "" && (!exists || match != old.tag) || noneMatch == "*" && exists {
		http.Error(w, "another object is there", http.StatusPreconditionFailed)
		return
	}
	if s.objects == nil {
		s.objects = map[string]object{}
	}
	o := object{data, `"` + hex.EncodeToString(sum[:8]) + `"`, time.Now()}
	s.objects[r.URL.Path] = o
	w.Header().Set("ETag", o.tag)
	w.WriteHeader(http.StatusCreated)
}
