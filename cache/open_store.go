package cache

import (
	"errors"
	"fmt"
	"os"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
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

// openStore opens the store of o. It returns ErrApart, wrapped, where the driver's own
// cache is managed in another directory.
func openStore(o Options, fingerprint binary.Fingerprint, driver drivercache.State) (opened, error) {
	var reason string
	switch {
	case o.MemoryOnly:
		reason = memoryOnlyRequested
	case len(fingerprint.Formats) == 0:
		reason = memoryOnlyNoFormats
	case o.Store != nil:
		return opened{store: o.Store}, nil
	default:
		return openDirStore(o, fingerprint, driver)
	}
	if o.Store != nil {
		o.Store.Close()
	}
	return opened{store: NopStore{}, memoryOnly: reason}, nil
}

func openDirStore(o Options, fingerprint binary.Fingerprint, driver drivercache.State) (opened, error) {
	upstream, warning := openUpstream(o.Upstream)
	store, err := openPrivateStore(o.Dir, upstream, fingerprint, driver)
	if err == nil || errors.Is(err, ErrApart) {
		return opened{store: store, warning: warning}, err
	}
	if upstream != nil {
		if store, upErr := upstream.Store(fingerprint); upErr == nil {
			return opened{store: store, warning: fmt.Errorf("only the upstream directory is used: %w", err)}, nil
		}
	}
	return opened{store: NopStore{}, memoryOnly: err.Error()}, nil
}

func openPrivateStore(path string, upstream *binary.Dir, fingerprint binary.Fingerprint, driver drivercache.State) (*binary.Store, error) {
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
	if driver.Managed && !driver.Off && !sameDir(driver.Dir, dir.DriverDir()) {
		return nil, fmt.Errorf("%w: the driver's is %s, and programs would be in %s; "+
			"set shadercache.Options.Dir alone, or glctx.Options.CacheDir to the same directory", ErrApart, driver.Dir, dir.Path())
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

// sameDir reports whether two paths lead to one directory.
func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
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
