package cache

import (
	"errors"
	"fmt"

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
	memoryOnly string // why store is nothing; "" when it is not
	warning    error  // a directory cannot be used, but there is a store

	binary.Location // without its Dir where that is not used
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
	return opened{store: nothing{}, memoryOnly: reason}, nil
}

func openDirStore(o Options, fingerprint binary.Fingerprint, driver drivercache.State) (opened, error) {
	l := binary.Place{Dir: o.Dir, Upstream: o.Upstream, Filled: o.Filled}.Open()
	r := opened{store: nothing{}, warning: l.UpstreamErr, Location: l}
	var store *binary.Store
	err := l.Err
	if l.Dir != nil {
		if store, err = openOwnStore(l.Dir, fingerprint, driver); err != nil {
			r.Dir = nil
		}
	}
	if errors.Is(err, ErrApart) {
		return opened{}, err
	}
	if err != nil && len(l.Upstream) > 0 {
		if up, upErr := l.Upstream[0].Store(fingerprint); upErr == nil {
			store, r.warning = up, fmt.Errorf("only the upstream directory is used: %w", err)
		}
	}
	if store == nil {
		r.memoryOnly = err.Error()
		return r, nil
	}
	r.store = store
	return r, nil
}

// openOwnStore opens the store of a directory that is not only read.
func openOwnStore(dir *binary.Dir, fingerprint binary.Fingerprint, driver drivercache.State) (*binary.Store, error) {
	if driver.Managed && !driver.Off && !driver.IsIn(dir.DriverDir()) {
		return nil, fmt.Errorf("%w: the driver's is %s, and programs would be in %s; "+
			"set shadercache.Options.Dir and Upstream alone, or those of glctx.Options to the same directories", ErrApart, driver.Dir, dir.Path())
	}
	store, err := dir.Store(fingerprint)
	if err != nil {
		return nil, fmt.Errorf("the store cannot be opened: %w", err)
	}
	return store, nil
}
