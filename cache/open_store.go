package cache

import (
	"fmt"

	"github.com/shadercache/shadercache/binary"
)

// Reasons for which a cache has no store. The others are errors.
const (
	memoryOnlyRequested = "Options.MemoryOnly is set"
	memoryOnlyNoFormats = "the driver offers no program binary formats: is MESA_SHADER_CACHE_DISABLE set?"
)

// opened is the result of openStore.
type opened struct {
	store      Store
	memoryOnly string // why store is a NopStore; "" when it is not
	warning    error  // a directory cannot be used, but there is a store
}

// openStore opens the store of o.
func openStore(o Options, fingerprint binary.Fingerprint) opened {
	var reason string
	switch {
	case o.MemoryOnly:
		reason = memoryOnlyRequested
	case len(fingerprint.Formats) == 0:
		reason = memoryOnlyNoFormats
	case o.Store != nil:
		return opened{store: o.Store}
	default:
		return openDirStore(o, fingerprint)
	}
	if o.Store != nil {
		o.Store.Close()
	}
	return opened{store: NopStore{}, memoryOnly: reason}
}

func openDirStore(o Options, fingerprint binary.Fingerprint) opened {
	upstream, warning := openUpstream(o.Upstream)
	store, err := openPrivateStore(o.Dir, upstream, fingerprint)
	if err == nil {
		return opened{store: store, warning: warning}
	}
	if upstream != nil {
		if store, upErr := upstream.Store(fingerprint); upErr == nil {
			return opened{store: store, warning: fmt.Errorf("only the upstream directory is used: %w", err)}
		}
	}
	return opened{store: NopStore{}, memoryOnly: err.Error()}
}

func openPrivateStore(path string, upstream *binary.Dir, fingerprint binary.Fingerprint) (*binary.Store, error) {
	if path == "" {
		var err error
		if path, err = binary.DefaultDir(); err != nil {
			return nil, err
		}
	}
	dir, err := binary.OpenDir(path)
	if err != nil {
		return nil, fmt.Errorf("the cache directory cannot be used: %w", err)
	}
	if upstream != nil {
		dir = dir.WithUpstream(upstream)
	}
	store, err := dir.Store(fingerprint)
	if err != nil {
		return nil, fmt.Errorf("the store cannot be opened: %w", err)
	}
	return store, nil
}

// openUpstream opens the upstream directory. It returns nil when there is none.
func openUpstream(path string) (*binary.Dir, error) {
	if path == "" {
		path = binary.DefaultUpstream()
	}
	if path == "" {
		return nil, nil
	}
	return binary.OpenUpstream(path)
}
