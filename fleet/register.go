package fleet

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
)

// ErrNoBackend is returned for a URL whose scheme no imported package serves.
var ErrNoBackend = errors.New("remote: no backend for this URL")

var registered struct {
	sync.Mutex
	openers map[string]Opener
}

// Register makes a scheme known. Backends call it when they are imported. It panics for a
// scheme that is registered.
func Register(scheme string, open Opener) {
	registered.Lock()
	defer registered.Unlock()
	if _, twice := registered.openers[scheme]; twice {
		panic("remote: scheme " + scheme + " is registered twice")
	}
	if registered.openers == nil {
		registered.openers = map[string]Opener{}
	}
	registered.openers[scheme] = open
}

// Schemes returns the schemes that imported backends serve, sorted.
func Schemes() []string {
	registered.Lock()
	defer registered.Unlock()
	return slices.Sorted(maps.Keys(registered.openers))
}

// openBackend opens the backend for a URL.
func openBackend(u *url.URL, o BackendOptions) (Backend, error) {
	registered.Lock()
	open := registered.openers[u.Scheme]
	registered.Unlock()
	if open == nil {
		known := strings.Join(Schemes(), ", ")
		if known == "" {
			known = "none: import a package such as fleet/file"
		}
		return nil, fmt.Errorf("%w: scheme %q (known: %s)", ErrNoBackend, u.Scheme, known)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return open(u, o)
}
