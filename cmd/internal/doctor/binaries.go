package doctor

import (
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
)

// examineBinaries reports whether starts leave out the program binaries of the driver:
// then each compiles everything, and nothing is wrong. driver is nil where there is none.
func (r *Report) examineBinaries(dir *binary.Dir, driver *binary.Fingerprint) (unused bool) {
	const check = "binaries"
	o, err := cache.Options{}.FromEnvironment()
	if err != nil {
		r.wrong(check, "unset SHADERCACHE_BINARIES", "%v: it is ignored", err)
		return false
	}
	switch {
	case o.Binaries == "never":
		r.note(check, "unset SHADERCACHE_BINARIES", "$SHADERCACHE_BINARIES is never: programs are compiled from their sources")
		return true
	case o.Binaries == "always" || driver == nil:
		return false
	}
	store, err := dir.Store(*driver)
	if err != nil {
		return false // another check has it
	}
	defer store.Close()
	reason := store.SourceOnly()
	if reason == "" {
		r.good(check, "the driver's program binaries are used")
		return false
	}
	r.note(check, "update the driver; SHADERCACHE_BINARIES=always uses its binaries nevertheless", "programs are compiled from their sources: %s", reason)
	return true
}
